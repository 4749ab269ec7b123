/** Mounts a wallet in an element of your page: the frame, its sessions and the whole link flow. */
import type { WidgetMessage } from '../contract/messages.ts';
import type { TopUpOutcome, TopUpRequest } from './topup.ts';
import { WalletError } from './wallet-error.ts';
export type WalletSession = {
    sessionToken: string;
    expiresAt: string;
};
export type WalletLink = {
    serviceUserId: string;
    linkCode: string;
};
export type MountOptions = {
    /** Where the service runs, for example `https://wallet.example.com`. */
    baseUrl: string;
    clientId: string;
    /**
     * Requests a session from your backend. Return the session, null if the user has not linked a wallet, or the backend's
     * `Response` with one of these as JSON: then errors say what it answered.
     */
    fetchSession: (page: {
        parentOrigin: string;
    }) => Promise<WalletSession | Response | null>;
    /**
     * The user signed in. Have your backend verify `linkCode` and store the id on the current user. The SDK awaits the result
     * before it fetches a session. Return the backend's `Response`: its error status then is a `LINK_FAILED`.
     */
    onLinked: (link: WalletLink) => unknown;
    /** The user wants to sign out or to switch accounts. Have your backend remove the stored id. The SDK awaits the result. */
    onUnlinked?: () => unknown;
    /** The wallet changed: refresh what your page shows of it, from your backend. */
    onUpdated?: () => unknown;
    /** Receives every message of the widget. */
    onEvent?: (message: WidgetMessage) => unknown;
    /** Without it, errors go to the page's `error` event, through `reportError`. */
    onError?: (error: WalletError) => unknown;
    /** Passed to `fetchSession`. Default: the origin of this page. */
    parentOrigin?: string;
    /** Language of the widget, for example `de`. Default: the user's choice, or else the browser's language. */
    lang?: string;
    /** Default: the browser's colour scheme. */
    theme?: 'light' | 'dark';
    /** Accessible name of the frame. Default: `Wallet`. */
    title?: string;
    /** Default: 15 000. */
    loadTimeoutMs?: number;
};
export type WalletHandle = {
    /** Reloads the widget with a new session. */
    reload(): Promise<void>;
    /**
     * Asks the user to add money: in a separate window, or in the frame if the browser blocks the window. Call it soon after a
     * click. A second call replaces the first, which then resolves as `closed`.
     */
    topUp(request?: TopUpRequest): Promise<TopUpOutcome>;
    /** Removes the frame and all listeners and timers. */
    unmount(): void;
};
export declare function mountWallet(element: Element, options: MountOptions): WalletHandle;
