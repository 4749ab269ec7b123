export type SignatureLine = {
    readonly name: string;
    readonly keyId: string;
    readonly signature: Uint8Array;
};
export type SignedNote = {
    readonly text: string;
    readonly signatures: readonly SignatureLine[];
};
export type SignerKey = {
    readonly name: string;
    readonly keyId: string;
    readonly publicKey: Uint8Array;
};
export type Checkpoint = {
    readonly origin: string;
    readonly size: number;
    readonly root: Uint8Array;
    /** When it was signed, by the clock of the log. Null if it does not say so. */
    readonly signedAt: Date | null;
};
export declare function parseNote(note: string): SignedNote | null;
/** A key as it is published: name, id and public key, joined by `+`. Null if it is none, or its id is not its own. */
export declare function parseSignerKey(text: string): Promise<SignerKey | null>;
export declare function signerKeyId(name: string, publicKey: Uint8Array): Promise<string>;
/** The keys that signed the note. A signature of another key is passed over; a wrong one of a given key makes the note worthless. */
export declare function findSigners(note: SignedNote, keys: readonly SignerKey[]): Promise<readonly SignerKey[]>;
export declare function parseCheckpoint(text: string): Checkpoint | null;
/** The extension line of a checkpoint that has its time. */
export declare const signedAtLine: (at: Date) => string;
/** Strict: the one encoding of these bytes, or null. */
export declare function fromBase64(text: string): Uint8Array | null;
export declare function toBase64(bytes: Uint8Array): string;
/** Without half of a surrogate pair. */
export declare const isWellFormed: (text: string) => boolean;
export declare function toHex(bytes: Uint8Array): string;
