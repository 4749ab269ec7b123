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
    /** Asks your backend for a session; null when the user has not linked a wallet. */
    fetchSession: (page: {
        parentOrigin: string;
    }) => Promise<WalletSession | null>;
    /** Has your backend verify `linkCode` and store the id on the current user. Awaited before the session is fetched. */
    onLinked: (link: WalletLink) => unknown;
    /** Has your backend remove the stored id: the user wants to sign out or to switch accounts. Awaited. */
    onUnlinked?: () => unknown;
    /** The wallet changed: refresh what your page shows of it. */
    onUpdated?: () => unknown;
    /** Every message of the widget, as it came. */
    onEvent?: (message: WidgetMessage) => unknown;
    /** Without it, errors go to the page's own `error` event. */
    onError?: (error: WalletError) => unknown;
    /** Handed to `fetchSession`; the origin of this page when absent. */
    parentOrigin?: string;
    /** Language of the widget, for example `de`; the browser's when absent. */
    lang?: string;
    theme?: 'light' | 'dark';
    /** Accessible name of the frame. */
    title?: string;
    /** 15 000 when absent. */
    loadTimeoutMs?: number;
};
export type WalletHandle = {
    /** Starts over with a fresh session. */
    reload(): Promise<void>;
    /**
     * Has the user add money, in a window of its own or, where the browser blocks that, in the frame. Call it soon after a click.
     * A second call takes the place of the first.
     */
    topUp(request?: TopUpRequest): Promise<TopUpOutcome>;
    /** Removes the frame and everything that listens or waits. */
    unmount(): void;
};
export declare function mountWallet(element: Element, options: MountOptions): WalletHandle;
