/** Checks proofs of RFC 6962 trees, with WebCrypto alone. The algorithms are those of RFC 9162, sections 2.1.3.2 and 2.1.4.2. */
export declare function sha256(...parts: readonly Uint8Array[]): Promise<Uint8Array>;
export declare function joined(parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer>;
export declare const hashLeaf: (data: Uint8Array) => Promise<Uint8Array<ArrayBufferLike>>;
export declare const hashNode: (left: Uint8Array, right: Uint8Array) => Promise<Uint8Array<ArrayBufferLike>>;
export declare function isEqual(a: Uint8Array, b: Uint8Array): boolean;
export type Inclusion = {
    readonly index: number;
    readonly size: number;
    readonly path: readonly Uint8Array[];
};
/** The root that follows from a leaf and its path, or null if the path does not fit the tree. */
export declare function rootFromLeaf(leaf: Uint8Array, { index, size, path }: Inclusion): Promise<Uint8Array | null>;
export type Consistency = {
    readonly earlier: {
        readonly size: number;
        readonly root: Uint8Array;
    };
    readonly later: {
        readonly size: number;
        readonly root: Uint8Array;
    };
    readonly path: readonly Uint8Array[];
};
/** Whether the later tree begins with all leaves of the earlier one. */
export declare function isConsistent({ earlier, later, path }: Consistency): Promise<boolean>;
/**
 * The roots of a tree and of its beginning, from a consistency path that begins with a hash in every case. If the later root is the
 * signed one, the earlier one is what the signed tree says about its beginning. Null if the path does not fit.
 */
export declare function rootsFromPath(earlierSize: number, laterSize: number, path: readonly Uint8Array[]): Promise<{
    earlier: Uint8Array<ArrayBufferLike>;
    later: Uint8Array<ArrayBufferLike>;
} | null>;
