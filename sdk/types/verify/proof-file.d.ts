import { type EntryTexts, type ProvenEntry, type WalletHead } from './leaves.ts';
import { type PositionPart } from './position.ts';
/** The salt opens the texts. After an erasure there is only their hash. */
type ProvenTexts = {
    readonly texts: EntryTexts;
    readonly salt: Uint8Array;
} | {
    readonly texts: null;
    readonly textsHash: Uint8Array;
};
/** The path is that of a consistency proof, and begins with a hash in every case; see `rootsFromPath`. It is empty where the sizes are equal. */
export type WalletSince = {
    readonly size: number;
    readonly path: readonly Uint8Array[];
};
/** The outer half, which is the same for every leaf of the log. */
type LogPart = {
    /** The place of the leaf in the log, and the path from it to the root of the checkpoint. */
    readonly index: number;
    readonly path: readonly Uint8Array[];
    /** The signed note, as it was published. */
    readonly checkpoint: string;
};
export type PositionProof = PositionPart & LogPart;
export type EntryProof = LogPart & {
    readonly entry: ProvenEntry;
    readonly words: ProvenTexts;
    /** The wallet's tree when it was sealed, and the path from the entry to its root. */
    readonly walletSize: number;
    readonly walletPath: readonly Uint8Array[];
    /** An earlier size of the wallet's tree, and the path that proves that this tree begins with it. */
    readonly since: WalletSince | null;
};
export type Proof = EntryProof | PositionProof;
export declare const isPosition: (proof: Proof) => proof is PositionProof;
export declare function writeProof(proof: Proof): string;
export declare function parseProof(file: string): Proof | null;
export type ComputedRoot = {
    /** The state of the wallet's tree that has the entry. Undefined for a position. */
    readonly head: WalletHead | undefined;
    /** What the log's root must be if all of it is true. */
    readonly root: Uint8Array;
};
/** The leaf of the entry in the wallet's tree. */
export declare function hashEntryOf({ entry, words }: Pick<EntryProof, 'entry' | 'words'>): Promise<Uint8Array>;
/** Follows the paths to the log's root. Null if one of them fits no tree. */
export declare function computeRoot(proof: Proof, logSize: number): Promise<ComputedRoot | null>;
export {};
