/** Seals the books of the last day that has ended, as one leaf of the log. */
import { randomBytes } from 'node:crypto'
import { hashDay, hashDayLines, type AccountLine } from '../../proof/day-tree.ts'
import type { Transaction } from '../../store/connection/database.ts'
import { findLastDay, getEndedDay, insertDay, listAccountLines } from '../../store/proofs/day-leaves.ts'
import { appendLeaves, type LogState } from '../../store/proofs/proof-log.ts'
import { joinHashes } from '../../store/proofs/subtrees.ts'
import { getBooksState } from '../../store/verify/books-check.ts'

/** What wallets gain, the accounts lose. */
export function walletsAfter(walletsBefore: bigint, lines: readonly AccountLine[]): bigint {
  return lines.reduce((sum, { debited, credited }) => sum - BigInt(debited) + BigInt(credited), walletsBefore)
}

/** Adds the last day that has ended, if both sides of the books have agreed since. */
export async function sealDay(tx: Transaction, log: LogState, currency: string): Promise<LogState> {
  const day = await getEndedDay(tx)
  const last = await findLastDay(tx)
  if (last && last.day >= day) return log
  const { sumsAt, problems } = await getBooksState(tx)
  const isAgreed = sumsAt !== null && sumsAt.toISOString().slice(0, 10) > day
  if (!isAgreed || problems.some(({ walletId }) => walletId === null)) return log
  const lines = await listAccountLines(tx, null, day)
  const walletsMinor = walletsAfter(0n, lines)
  const salt = new Uint8Array(randomBytes(32))
  const hashes = hashDayLines({ salt, walletsMinor, lines }, currency)
  const hash = hashDay(day, hashes)
  const { first, peaks } = await appendLeaves(tx, log.peaks, [{ kind: 'books', subject: null, size: null, hash }])
  const accounts = lines.map(({ account }) => account)
  await insertDay(tx, { day, version: 2, leaf: first, salt, walletsMinor, accounts, marks: joinHashes(hashes) })
  return { ...log, peaks }
}
