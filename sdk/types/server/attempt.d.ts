/** One HTTP exchange, bounded in time and size. It returns an answer or throws a BillfoldError. */
import { BillfoldError } from './error.ts';
export type Exchange = {
    /** Method and address without the query, as errors name the call. */
    name: string;
    address: string;
    url: string;
    /** A repeat of the call moves no money twice. */
    hasReference: boolean;
    init: {
        method: 'GET' | 'POST';
        body?: string;
        headers: Record<string, string>;
    };
};
export type Answer = {
    status: number;
    headers: Headers;
    text: string;
};
export declare function attempt(exchange: Exchange, settings: {
    fetch: typeof fetch;
    timeoutMs: number;
}, signal: AbortSignal | undefined): Promise<Answer>;
/** An unreadable success may be the success of a debit, so a call with a reference is sent again. */
export declare function unreadableAnswer({ name, address, hasReference }: Exchange, status: number, what: string, facts?: {
    requestId?: string | undefined;
    retryAfterMs?: number | undefined;
}): BillfoldError;
type Named = Pick<Exchange, 'name' | 'address'>;
export declare function sleep(ms: number, exchange: Named, signal: AbortSignal | undefined): Promise<void>;
export {};
