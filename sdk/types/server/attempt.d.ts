/** One HTTP exchange, bounded in time and in size, that ends in an answer or in a BillfoldError. */
import { BillfoldError } from './error.ts';
export type Exchange = {
    /** Method and path, without query: how the call is named in errors. */
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
