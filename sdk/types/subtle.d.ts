/** WebCrypto. Node 18 has it only in a module. */
export declare function getSubtle(): Promise<SubtleCrypto>;
