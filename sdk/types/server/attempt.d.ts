/** One HTTP exchange, bounded in time and size. It returns an answer or throws a BillfoldError. */
import { BillfoldError } from './error.ts';
export type Exchange = {
    /** Method and path without the query, as errors name the call. */
    name: string;
    url: string;
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
export declare function abortedError(name: string): BillfoldError;
