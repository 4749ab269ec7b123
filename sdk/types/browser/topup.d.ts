export type TopUpRequest = {
    /** The missing amount, for example the `shortfall` of a refused debit. The user may add more. */
    amount?: number;
    /** A few words that the user sees, for example "Order 1042". */
    reason?: string;
};
export type TopUpOutcome = 
/** The money is in the wallet. Only your backend's next debit decides whether it is enough. */
{
    status: 'paid';
    amount: number;
}
/** The user left before a payment was confirmed. If the bank confirms it later, `onUpdated` is called. */
 | {
    status: 'closed';
}
/** No user is signed in: the widget shows its sign-in form. */
 | {
    status: 'signed-out';
};
export type TopUpWatch = {
    readonly outcome: Promise<TopUpOutcome>;
    /** Has no effect after the first call. */
    readonly settle: (outcome: TopUpOutcome) => void;
};
export declare function newTopUpWatch(): TopUpWatch;
/** The window posts a message when the money has arrived. That it was closed has to be polled. */
export declare function watchWindow(opened: Window, serviceOrigin: string): TopUpWatch;
