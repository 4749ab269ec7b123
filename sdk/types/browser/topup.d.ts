export type TopUpRequest = {
    /** What is missing, for example the `shortfall` of a refused debit. The user may add more. */
    amount?: number;
    /** What it is for, in a few words: "Order 1042". Shown to the user as text. */
    reason?: string;
};
export type TopUpOutcome = 
/** The money is in the wallet. Whether it is enough, your backend's next debit decides. */
{
    status: 'paid';
    amount: number;
}
/** Left before anything was known to be paid. What a bank still works on arrives by itself: `onUpdated` tells. */
 | {
    status: 'closed';
}
/** Nobody is signed in: the widget shows its form. */
 | {
    status: 'signed-out';
};
export type TopUpWatch = {
    readonly outcome: Promise<TopUpOutcome>;
    /** Settles it, unless it is settled already. */
    readonly settle: (outcome: TopUpOutcome) => void;
};
export declare function newTopUpWatch(): TopUpWatch;
/** The window says when the money is there; that it was closed is only seen by looking. */
export declare function watchWindow(opened: Window, serviceOrigin: string): TopUpWatch;
