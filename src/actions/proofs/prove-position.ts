/** The proof of an account's position at the end of a day. */
import { computeRoot, writeProof, type PositionProof } from '../../../sdk/verify/proof-file.ts'
import { isEqual } from '../../../sdk/verify/tree.ts'
import { lineSalt, positionOf } from '../../proof/day-tree.ts'
import { hashPart, inclusionParts } from '../../proof/merkle.ts'
import { transact, type Transaction } from '../../store/connection/database.ts'
import { findAccountLine, findDayFrom, type SealedDay } from '../../store/proofs/day-leaves.ts'
import { findLog, findNewestCheckpoint, readLogParts, type StoredCheckpoint } from '../../store/proofs/proof-log.ts'
import { foldComplete, splitHashes } from '../../store/proofs/subtrees.ts'
import { logOrigin, parseSigned, readPublicKey, type Sealing } from './checkpoint.ts'

export type PositionRefusal =
  /** The day has not ended, or its books wait for the check. */
  | { readonly kind: 'not-sealed' }
  /** Nothing sealed the books at the end of this day. `next` is the first later day that is sealed. */
  | { readonly kind: 'skipped'; readonly next: string }
  /** The account had no entry up to the end of this day. */
  | { readonly kind: 'no-entries' }
  /** No signed state of the log has the day yet. */
  | { readonly kind: 'not-yet' }
  /** The position, or what is stored of the day, is not what was sealed. */
  | { readonly kind: 'contradiction' }

export type PositionProofResult =
  | { readonly kind: 'proof'; readonly file: string; readonly key: string }
  | PositionRefusal

export async function provePosition(sealing: Sealing, account: string, day: string): Promise<PositionProofResult> {
  const found = await transact(sealing.db, async (tx) => {
    // One snapshot: a seal meanwhile changes the log.
    await tx.query('set transaction isolation level repeatable read')
    return await readPosition(tx, sealing, account, day)
  })
  if ('kind' in found) return found
  const signed = parseSigned(found.checkpoint)
  const computed = await computeRoot(found, signed.size)
  if (!computed || !isEqual(computed.root, signed.root)) {
    sealing.log.error('a position is not what was sealed', { account, day })
    return { kind: 'contradiction' }
  }
  const key = await readPublicKey(sealing, (await findLog(sealing.db.pool))!)
  return { kind: 'proof', file: writeProof(found), key }
}

async function readPosition(
  tx: Transaction,
  sealing: Sealing,
  account: string,
  day: string,
): Promise<PositionProof | PositionRefusal> {
  const log = await findLog(tx)
  const sealed = await findDayFrom(tx, day)
  if (!log || !sealed) return { kind: 'not-sealed' }
  if (sealed.day !== day) return { kind: 'skipped', next: sealed.day }
  const checkpoint = await findNewestCheckpoint(tx, logOrigin(sealing, log))
  if (!checkpoint || checkpoint.size <= sealed.leaf) return { kind: 'not-yet' }
  const line = await findAccountLine(tx, account, day)
  const isSealed = sealed.accounts.includes(account)
  if (line && isSealed) return await proofOf(tx, sealed, positionOf(line, sealing.config.currency.code), checkpoint)
  return { kind: line || isSealed ? 'contradiction' : 'no-entries' }
}

async function proofOf(
  tx: Transaction,
  { day, leaf, salt, accounts, marks }: SealedDay,
  position: ReturnType<typeof positionOf>,
  checkpoint: StoredCheckpoint,
): Promise<PositionProof> {
  const hashes = splitHashes(marks)
  // The first line has the sum of all wallets.
  const line = accounts.indexOf(position.account) + 1
  const hashOf = ({ level, index }: { level: number; index: number }) =>
    foldComplete(hashes.slice(index * 2 ** level, (index + 1) * 2 ** level))
  return {
    position: { day, ...position },
    salt: lineSalt(position.account, salt),
    line,
    lines: hashes.length,
    linePath: inclusionParts(line, hashes.length).map((part) => hashPart(part, hashOf)),
    index: leaf,
    path: await readLogParts(tx, inclusionParts(leaf, checkpoint.size)),
    checkpoint: checkpoint.note,
  }
}
