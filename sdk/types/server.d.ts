/** `@billfold/sdk/server`: the client for your backend. */
import type { CaptureRequest, CaptureResponse, ChangedHoldResponse, CheckBalanceRequest, CheckBalanceResponse, Hold, HoldRequest, HoldResponse, HoldsRequest, HoldsResponse, PostingRequest, PostingResponse, VerifyLinkRequest, VerifyLinkResponse, WalletRequest, WalletResponse, WidgetSessionRequest, WidgetSessionResponse } from './contract/wire.ts';
import type { BillfoldEvent, EventsRequest, ReplayEventsRequest, ReplayEventsResponse } from './contract/events.ts';
import { BillfoldError } from './server/error.ts';
import type { BillfoldOptions } from './server/settings.ts';
export { BillfoldError } from './server/error.ts';
export type { FaultCode } from './server/error.ts';
export type { BillfoldOptions } from './server/settings.ts';
export { verifyWebhook, WebhookError } from './server/verify-webhook.ts';
export type { WebhookFault, WebhookHeaders, WebhookOptions } from './server/verify-webhook.ts';
/** Pass the id as you stored it. If the user is not linked, the call fails with ACCOUNT_NOT_LINKED. */
export type OfUser<T> = Omit<T, 'serviceUserId'> & {
    serviceUserId: string | null | undefined;
};
/** `replayed` is true if the reference was used before: this is its first outcome, and no money moved. */
export type PostingResult = Omit<PostingResponse, 'replayed'> & {
    replayed: boolean;
};
export type HoldResult = Omit<HoldResponse, 'replayed'> & {
    replayed: boolean;
};
export type CaptureResult = Omit<CaptureResponse, 'replayed'> & {
    replayed: boolean;
};
export type BulkOperation = OfUser<PostingRequest> & {
    direction: 'debit' | 'credit';
};
/** The result of an operation, or the error that it would have thrown alone. */
export type BulkOutcome = {
    result: PostingResult;
    error?: never;
} | {
    error: BillfoldError;
    result?: never;
};
export type CallOptions = {
    signal?: AbortSignal;
};
/** The client. Create one and share it. The secret is in a private field, so logging the client does not reveal it. */
export declare class Billfold {
    #private;
    constructor(options: BillfoldOptions);
    /** Reads the balance and one page of transactions, newest first. */
    wallet(request: OfUser<WalletRequest>, options?: CallOptions): Promise<WalletResponse>;
    /** Checks whether the balance covers an amount. Nothing is reserved: only `debit` decides. */
    checkBalance(request: OfUser<CheckBalanceRequest>, options?: CallOptions): Promise<CheckBalanceResponse>;
    /** Takes money from the wallet. Repeating a reference never takes it twice; a new attempt needs a new `referenceId`. */
    debit(request: OfUser<PostingRequest>, options?: CallOptions): Promise<PostingResult>;
    /** Adds money to the wallet. A refund needs its own reference, not that of the debit. */
    credit(request: OfUser<PostingRequest>, options?: CallOptions): Promise<PostingResult>;
    /** Reserves money of the wallet until it is captured, voided or expires. Repeating a reference never reserves twice. */
    hold(request: OfUser<HoldRequest>, options?: CallOptions): Promise<HoldResult>;
    /** Takes money that a hold reserved: all that remains, or `amount`. What remains after it is released, unless `final` is false. */
    capture(request: CaptureRequest, options?: CallOptions): Promise<CaptureResult>;
    /** Releases what remains of a hold. */
    voidHold(request: {
        holdId: string;
    }, options?: CallOptions): Promise<ChangedHoldResponse>;
    /** Lets a hold expire that many seconds from now: never earlier than before, and at most 30 days after it was made. */
    extendHold(request: {
        holdId: string;
        expiresIn: number;
    }, options?: CallOptions): Promise<ChangedHoldResponse>;
    getHold(request: {
        holdId: string;
    }, options?: CallOptions): Promise<Hold>;
    /** Lists the holds of your app on a wallet, newest first. */
    holds(request: OfUser<HoldsRequest>, options?: CallOptions): Promise<HoldsResponse>;
    /**
     * Posts many debits and credits, each as if it were sent alone, and those of one user in the order of the list. Long lists are
     * split into requests of at most a thousand. Repeating the call with the same list is safe: it continues where it stopped.
     */
    bulk(operations: readonly BulkOperation[], options?: CallOptions): Promise<BulkOutcome[]>;
    /**
     * Iterates over the events of your users, oldest first, and waits for the next one; through outages of the service too. It ends with
     * `break` or the signal; with `wait: 0` at the last event. Record `event.id` and `event.number` together with its effect, and
     * continue with that number as `after`.
     */
    events(request?: EventsRequest, options?: CallOptions): AsyncGenerator<BillfoldEvent, void, undefined>;
    /**
     * Sends events of these numbers to one of your app's endpoints again, in no particular order; at most a thousand at once. Each keeps its
     * id, so a receiver that records ids ignores what it had. Repeating the call is safe.
     */
    replayEvents(request: ReplayEventsRequest, options?: CallOptions): Promise<ReplayEventsResponse>;
    /** Creates a session for the widget in this user's browser. It is valid for five minutes. */
    createSession(request: OfUser<WidgetSessionRequest>, options?: CallOptions): Promise<WidgetSessionResponse>;
    /** Exchanges the one-time code of the widget for the user's id. Store this id, not the one that the browser sent. */
    verifyLink(request: VerifyLinkRequest, options?: CallOptions): Promise<VerifyLinkResponse>;
}
