import type { TopUpOutcome, TopUpRequest } from './topup.ts';
export interface BillfoldWalletElement extends HTMLElement {
    reload(): Promise<void>;
    topUp(request?: TopUpRequest): Promise<TopUpOutcome>;
}
declare global {
    interface HTMLElementTagNameMap {
        'billfold-wallet': BillfoldWalletElement;
    }
}
/** Harmless to call twice, and on a server that renders pages: there is no HTMLElement there, so the class is made inside. */
export declare function defineWalletElement(): void;
