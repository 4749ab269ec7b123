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
    /** For the element that shall hold the wallet: `<div ref={ref} />`. It must have no children of its own. */
    readonly ref: (element: Element | null) => void;
    readonly status: WalletStatus;
    /** What failed last; null again once the widget shows something. */
    readonly error: WalletError | null;
    /** Starts over with a fresh session. */
    readonly reload: () => Promise<void>;
    /** Has the user add money: call it soon after a click. */
    readonly topUp: (request?: TopUpRequest) => Promise<TopUpOutcome>;
};
export type WalletProps = MountOptions & {
    id?: string;
    className?: string;
    style?: CSSProperties;
};
export declare function Wallet({ id, className, style, ...options }: WalletProps): ReactElement;
/** The callbacks may be new functions on every render; the widget starts over only when one of the plain options changes. */
export declare function useWallet(options: MountOptions): UsedWallet;
