/** Checks the options. A wrong one throws a TypeError that contains no value. */
export type BillfoldOptions = {
    /** Where the service runs, for example `https://wallet.example.com`. */
    baseUrl: string;
    clientId: string;
    /** Never leaves the backend, and never appears in an error. */
    clientSecret: string;
    /** The limit of each attempt. Default: 10 000. The service itself answers within 8 000. */
    timeoutMs?: number;
    /** How often a call is retried after a network error, a timeout, 408, 429 or a 5xx. Default: 2. */
    maxRetries?: number;
    /** Replaces the global `fetch`, for a proxy, a keep-alive agent or a test. It receives requests that contain the secret. */
    fetch?: typeof fetch;
};
export type Settings = Required<BillfoldOptions>;
export declare function parseSettings(options: BillfoldOptions): Settings;
