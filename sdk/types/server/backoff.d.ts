/** How long to wait before the next attempt. */
/** Milliseconds until attempt number `attempt` + 1, or null when the service asked for more than is worth waiting. */
export declare function waitBefore(attempt: number, retryAfterMs: number | undefined, random: number): number | null;
/** The header `Retry-After`, seconds or a date, in milliseconds from now. */
export declare function parseRetryAfter(header: string | null, now: number): number | undefined;
