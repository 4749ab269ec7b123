import type { EntryTexts } from './verify/leaves.ts';
import type { ProvenPosition } from './verify/position.ts';
/** Who signed the books that contain it. */
type Signed = {
    /** The log that signed it, and its size then. */
    readonly origin: string;
    readonly logSize: number;
    /** When, by the clock of the log. Null in a proof of a log that does not say so. */
    readonly signedAt: Date | null;
    readonly signedBy: readonly string[];
};
export type VerifiedEntry = Signed & {
    /** The wallet's name in the log. Two proofs of one wallet have the same. */
    readonly wallet: string;
    readonly sequence: number;
    /** How many entries the wallet had when this was sealed. */
    readonly walletSize: number;
    /** In minor units, negative for a debit. */
    readonly amountMinor: bigint;
    readonly currency: string;
    readonly at: Date;
    /** Null where the words were erased. */
    readonly texts: EntryTexts | null;
};
/** An account at the end of a day, in UTC. */
export type VerifiedPosition = Signed & ProvenPosition & {
    /** What the account had received less what it had paid, in minor units. */
    readonly balanceMinor: bigint;
};
/** What is wrong with a proof: each has one cause. */
export type ProofFault = 
/** The file is no proof, or it is damaged. */
'NOT_A_PROOF'
/** No key that was given is one, or none signed this. */
 | 'UNKNOWN_SIGNER'
/** The signature is right and the entry is not what was signed. */
 | 'NOT_IN_THE_BOOKS'
/** The checkpoint beside the proof is of the same log and size, and differs: there are two versions of the books. */
 | 'OTHER_BOOKS';
type RefusedProof = {
    readonly ok: false;
    readonly fault: ProofFault;
    readonly message: string;
};
/** Whether the given checkpoint is the one of the proof. One of another log or size, or of an unknown signer, is not, and proves nothing. */
type Compared = {
    readonly isCheckpoint?: boolean;
};
export type ProofVerdict = (Compared & {
    readonly ok: true;
    readonly kind: 'entry';
    readonly entry: VerifiedEntry;
}) | (Compared & {
    readonly ok: true;
    readonly kind: 'position';
    readonly position: VerifiedPosition;
}) | RefusedProof;
export type VerifyOptions = {
    /** Keys that you trust, as the service publishes them; at least one. Get them from somewhere else than the proof. */
    readonly keys: readonly string[];
    /** A checkpoint that you got another way. If it has the proof's size, it must be the same. */
    readonly checkpoint?: string;
};
export declare function verifyProof(file: string, options: VerifyOptions): Promise<ProofVerdict>;
export type HistoryVerdict = 
/** The later proof shows that the wallet still begins with the history of the earlier one. */
{
    readonly kind: 'kept';
    readonly earlier: VerifiedEntry;
    readonly later: VerifiedEntry;
    readonly message: string;
}
/** The two proofs contradict each other. */
 | {
    readonly kind: 'rewritten';
    readonly earlier: VerifiedEntry;
    readonly later: VerifiedEntry;
    readonly message: string;
}
/** The later proof does not say how it continues the earlier one: ask for a proof `since` that size. */
 | {
    readonly kind: 'no-link';
    readonly since: number;
    readonly message: string;
} | {
    readonly kind: 'other-wallet';
    readonly message: string;
}
/** One of them is of an account, which has no history to compare. */
 | {
    readonly kind: 'no-wallet';
    readonly message: string;
}
/** One of them is not a proof by itself. */
 | {
    readonly kind: 'refused';
    readonly fault: ProofFault;
    readonly message: string;
};
/** Compares two proofs of one wallet, in either order. Their keys may differ: a restored service has another. */
export declare function compareProofs(files: readonly [string, string], { keys }: Pick<VerifyOptions, 'keys'>): Promise<HistoryVerdict>;
export {};
