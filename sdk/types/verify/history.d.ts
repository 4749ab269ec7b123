/** Compares two proofs of one wallet: whether the later state of its tree begins with all entries of the earlier one. */
import { type EntryProof } from './proof-file.ts';
export type ComparedHistory = 
/** All entries of the earlier state are in the later one, unchanged. */
'kept'
/** The two signed states contradict each other. */
 | 'rewritten'
/** They do not contradict each other in what both show, which is not the whole history. */
 | 'no-link';
/** Both proofs are of one wallet and have been verified, so their hashes are those of signed trees. `later` is not the smaller one. */
export declare function compareHistories(earlier: EntryProof, later: EntryProof): Promise<ComparedHistory>;
