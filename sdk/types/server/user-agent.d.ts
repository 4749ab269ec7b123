/** Names this version and the runtime, so that the log of a proxy or a service shows which clients are old. */
export declare const userAgent: string;
