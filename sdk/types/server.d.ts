/** `@billfold/sdk/server`: the wallet of your users, from your backend. */
import type { CheckBalanceRequest, CheckBalanceResponse, PostingRequest, PostingResponse, VerifyLinkRequest, VerifyLinkResponse, WalletRequest, WalletResponse, WidgetSessionRequest, WidgetSessionResponse } from './contract/wire.ts';
import { BillfoldError } from './server/error.ts';
import type { BillfoldOptions } from './server/settings.ts';
export { BillfoldError } from './server/error.ts';
export type { FaultCode } from './server/error.ts';
export type { BillfoldOptions } from './server/settings.ts';
/** A user of yours may not be linked yet: hand over what you stored, even when that is nothing. */
export type OfUser<T> = Omit<T, 'serviceUserId'> & {
    serviceUserId: string | null | undefined;
};
/** `replayed` is true when the reference was used before: this is its first outcome, and nothing moved. */
export type PostingResult = Omit<PostingResponse, 'replayed'> & {
    replayed: boolean;
};
export type BulkOperation = OfUser<PostingRequest> & {
    direction: 'debit' | 'credit';
};
/** What an operation came to, or why it did not: the error that it would have thrown alone. */
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
/** A class, because it is the thing people keep, pass around and log: private fields keep the secret out of that. */
export declare class Billfold {
    #private;
    constructor(options: BillfoldOptions);
    /** The balance and the newest transactions. */
    wallet(request: OfUser<WalletRequest>, options?: CallOptions): Promise<WalletResponse>;
    checkBalance(request: OfUser<CheckBalanceRequest>, options?: CallOptions): Promise<CheckBalanceResponse>;
    /** Takes money. Repeating the same reference never takes it twice; a new attempt needs a new referenceId. */
    debit(request: OfUser<PostingRequest>, options?: CallOptions): Promise<PostingResult>;
    /** Gives money. A refund uses a reference of its own, not the one of the debit. */
    credit(request: OfUser<PostingRequest>, options?: CallOptions): Promise<PostingResult>;
    /**
     * Many debits and credits, each as if it were sent alone and those of one user in their order. Long lists are cut into requests of
     * a thousand. Calling it again with the same list is safe, and goes on where it ended.
     */
    bulk(operations: readonly BulkOperation[], options?: CallOptions): Promise<BulkOutcome[]>;
    /** A session of five minutes for the widget in this user's browser. */
    createSession(request: OfUser<WidgetSessionRequest>, options?: CallOptions): Promise<WidgetSessionResponse>;
    /** Whose wallet it is, proved by the one-time code the widget gave to the browser. Store this id, not the browser's. */
    verifyLink(request: VerifyLinkRequest, options?: CallOptions): Promise<VerifyLinkResponse>;
}
