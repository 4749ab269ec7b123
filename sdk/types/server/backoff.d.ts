/** How long to wait before the next attempt. */
/** Milliseconds to wait after attempt number `attempt`, counted from 0, or null if Retry-After is too long to wait for. */
export declare function waitBefore(attempt: number, retryAfterMs: number | undefined, random: number): number | null;
/** Parses a `Retry-After` header, seconds or a date, into milliseconds from now. */
export declare function parseRetryAfter(header: string | null, now: number): number | undefined;
