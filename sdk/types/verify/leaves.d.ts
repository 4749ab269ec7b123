/** What an entry says in words. Its leaf has a salted hash of it, so that the words can be erased while the proof stays. */
export type EntryTexts = {
    readonly counterAccount: string;
    readonly referenceType: string;
    readonly referenceId: string;
    readonly description: string | null;
};
export type ProvenEntry = {
    /** The wallet's name in the log: 64 hexadecimal digits that say nothing about its owner. */
    readonly wallet: string;
    readonly sequence: number;
    /** In minor units, negative for a debit. */
    readonly amountMinor: bigint;
    readonly currency: string;
    /** Microseconds since 1970. */
    readonly atMicros: bigint;
};
/** The state of a wallet's tree, as one leaf of the log. */
export type WalletHead = {
    readonly wallet: string;
    readonly size: number;
    readonly root: Uint8Array;
};
/** Each text with its length in bytes before it; an absent one has a minus sign. */
export declare function textsBytes({ counterAccount, referenceType, referenceId, description }: EntryTexts): Uint8Array;
export declare function hashTexts(texts: EntryTexts, salt: Uint8Array): Promise<Uint8Array>;
export declare function entryLeaf(entry: ProvenEntry, textsHash: Uint8Array): Uint8Array;
export declare function headLeaf({ wallet, size, root }: WalletHead): Uint8Array;
