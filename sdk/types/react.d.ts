import type { CSSProperties, ReactElement } from 'react';
import type { MountOptions } from './browser/mount.ts';
import type { TopUpOutcome, TopUpRequest } from './browser/topup.ts';
import type { WalletError } from './browser/wallet-error.ts';
export type { MountOptions, WalletLink, WalletSession } from './browser/mount.ts';
export type { TopUpOutcome, TopUpRequest } from './browser/topup.ts';
export { WalletError } from './browser/wallet-error.ts';
export type { WalletErrorCode } from './browser/wallet-error.ts';
/** `sign-in`: the widget asks the user to sign in. `ready`: it shows the wallet. */
export type WalletStatus = 'loading' | 'sign-in' | 'ready';
export type UsedWallet = {
    /** The ref of the element that holds the wallet: `<div ref={ref} />`. The element must have no children. */
    readonly ref: (element: Element | null) => void;
    readonly status: WalletStatus;
    /** The last error; null again when the widget shows the wallet or its sign-in form. */
    readonly error: WalletError | null;
    /** Reloads the widget with a new session. */
    readonly reload: () => Promise<void>;
    /** Asks the user to add money. Call it soon after a click. */
    readonly topUp: (request?: TopUpRequest) => Promise<TopUpOutcome>;
};
export type WalletProps = MountOptions & {
    id?: string;
    className?: string;
    style?: CSSProperties;
};
export declare function Wallet({ id, className, style, ...options }: WalletProps): ReactElement;
/** Callbacks may be new functions on every render. The widget remounts only when another option changes. */
export declare function useWallet(options: MountOptions): UsedWallet;
