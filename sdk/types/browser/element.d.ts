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
/**
 * Registers the element. It is safe to call twice, and to call on a server: there it does nothing, because a server has no
 * HTMLElement, which is also why the class is defined inside the function.
 */
export declare function defineWalletElement(): void;
