/**
 * The proof of one entry: a text file in the format tlog-proof of C2SP. Its outer half proves a leaf of the log, which generic tools
 * can check. Its line `extra` has the entry and the way from it to that leaf.
 */
import { type EntryTexts, type ProvenEntry, type WalletHead } from './leaves.ts';
import { type SignedNote } from './note.ts';
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
export type EntryProof = {
    readonly entry: ProvenEntry;
    readonly words: ProvenTexts;
    /** The wallet's tree when it was sealed, and the path from the entry to its root. */
    readonly walletSize: number;
    readonly walletPath: readonly Uint8Array[];
    /** An earlier size of the wallet's tree, and the path that proves that this tree begins with it. */
    readonly since: WalletSince | null;
    /** The place of that state in the log, and the path from it to the root of the checkpoint. */
    readonly index: number;
    readonly path: readonly Uint8Array[];
    /** The signed note, as it was published. */
    readonly checkpoint: string;
};
export declare function writeProof(proof: EntryProof): string;
export declare function parseProof(file: string): EntryProof | null;
export type ComputedProof = {
    readonly note: SignedNote;
    readonly head: WalletHead;
    /** What the log's root must be if all of it is true. */
    readonly root: Uint8Array;
};
/** The leaf of the entry in the wallet's tree. */
export declare function hashEntryOf({ entry, words }: Pick<EntryProof, 'entry' | 'words'>): Promise<Uint8Array>;
/** Follows the paths from the entry to the log's root. Null if one of them fits no tree. */
export declare function computeRoot(proof: EntryProof, logSize: number): Promise<ComputedProof | null>;
export {};
