export declare function parseHashes(lines: unknown): readonly Uint8Array[] | null;
export declare function parseHash(text: unknown): Uint8Array | null;
/** An empty object where it is none. */
export declare function parseFields(encoded: string): Record<string, unknown>;
export declare const isObject: (value: unknown) => value is Record<string, unknown>;
export declare const isText: (value: unknown) => value is string;
export declare const isCount: (value: unknown) => value is number;
export declare const isCurrency: (value: unknown) => value is string;
/** Of at most 18 digits. */
export declare const isWhole: (value: unknown) => value is string;
/** Of at most 40 digits, and not negative. */
export declare const isSum: (value: unknown) => value is string;
