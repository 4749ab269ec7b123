/** Options as given → settings that hold; every mistake is a TypeError that repeats none of the values. */
export type BillfoldOptions = {
    /** Where the service runs, for example `https://wallet.example.com`. */
    baseUrl: string;
    clientId: string;
    /** Never leaves the backend, and never appears in an error. */
    clientSecret: string;
    /** For each attempt; 10 000 when absent. The service itself gives up after 8 000. */
    timeoutMs?: number;
    /** How often a call is repeated after a network fault, a time-out, 429 or 503; 2 when absent. */
    maxRetries?: number;
    /** Replaces the global fetch: for a proxy, a keep-alive agent, a test. It is handed the secret. */
    fetch?: typeof fetch;
};
export type Settings = Required<BillfoldOptions>;
export declare function parseSettings(options: BillfoldOptions): Settings;
