/** The build for a `<script>` tag: `window.Billfold`, and `<billfold-wallet>` ready to use. */
import { defineWalletElement } from './element.ts';
import { mountWallet } from './mount.ts';
import { WalletError } from './wallet-error.ts';
declare const Billfold: {
    mountWallet: typeof mountWallet;
    defineWalletElement: typeof defineWalletElement;
    WalletError: typeof WalletError;
};
declare global {
    interface Window {
        Billfold: typeof Billfold;
    }
}
export {};
