/**
 * The books of a day: a tree over the accounts that moved since the sealed day before, and its root with the sum of all wallets as one
 * leaf of the log. An app's account is proven without showing those of other apps: each line has its own salt.
 */
import { createHash, randomBytes } from 'node:crypto'
import { addLeaves, hashLeaf, noPeaks, rootOf } from '../../proof/merkle.ts'
import type { Transaction } from '../../store/connection/database.ts'
import {
  findLastDay,
  getEndedDay,
  insertDay,
  listAccountLines,
  type AccountLine,
} from '../../store/proofs/day-leaves.ts'
import { appendLeaves, type LogState } from '../../store/proofs/proof-log.ts'
import { getBooksState } from '../../store/verify/books-check.ts'

const markBytes = 6

export type Books = {
  readonly day: string
  /** The sealed day before; null for the first, which has everything up to its end. */
  readonly after: string | null
  readonly walletsMinor: bigint
  readonly lines: readonly AccountLine[]
}

const positionMinor = ({ debited, credited }: AccountLine) => BigInt(debited) - BigInt(credited)

/** What wallets gain, the accounts lose. */
export function walletsAfter(walletsBefore: bigint, lines: readonly AccountLine[]): bigint {
  return lines.reduce((sum, line) => sum - positionMinor(line), walletsBefore)
}

export function hashLines(lines: readonly AccountLine[], salt: Uint8Array): readonly Uint8Array[] {
  return lines.map(({ account, debited, credited, transfers }) => {
    const accountSalt = createHash('sha256').update(account).update(salt).digest('hex')
    const length = Buffer.byteLength(account)
    return hashLeaf(
      Buffer.from(
        ['billfold-account/v1', accountSalt, `${length}:${account}`, debited, credited, transfers].join('\n'),
      ),
    )
  })
}

export function hashBooks(
  { day, after, walletsMinor }: Omit<Books, 'lines'>,
  hashes: readonly Uint8Array[],
): Uint8Array {
  const root = Buffer.from(rootOf(addLeaves(noPeaks, hashes))).toString('base64')
  return hashLeaf(Buffer.from(['billfold-books/v1', day, after ?? '-', walletsMinor, hashes.length, root].join('\n')))
}

const marksOf = (hashes: readonly Uint8Array[]): Buffer =>
  Buffer.concat(hashes.map((hash) => hash.subarray(0, markBytes)))

/** Whether the mark of the line at this index is another. */
export const isOtherMark = (marks: Uint8Array, index: number, hash: Uint8Array | undefined) =>
  hash === undefined ||
  Buffer.compare(marks.subarray(index * markBytes, (index + 1) * markBytes), hash.subarray(0, markBytes)) !== 0

/** Adds the last day that has ended, if both sides of the books have agreed since. */
export async function sealDay(tx: Transaction, log: LogState): Promise<LogState> {
  const day = await getEndedDay(tx)
  const last = await findLastDay(tx)
  if (last && last.day >= day) return log
  const { sumsAt, problems } = await getBooksState(tx)
  const isAgreed = sumsAt !== null && sumsAt.toISOString().slice(0, 10) > day
  if (!isAgreed || problems.some(({ walletId }) => walletId === null)) return log
  const after = last?.day ?? null
  const lines = await listAccountLines(tx, after, day)
  const walletsMinor = walletsAfter(last?.walletsMinor ?? 0n, lines)
  const salt = new Uint8Array(randomBytes(32))
  const hashes = hashLines(lines, salt)
  const hash = hashBooks({ day, after, walletsMinor }, hashes)
  const { first, peaks } = await appendLeaves(tx, log.peaks, [{ kind: 'books', subject: null, size: null, hash }])
  const accounts = lines.map(({ account }) => account)
  await insertDay(tx, { day, leaf: first, salt, walletsMinor, accounts, marks: marksOf(hashes) })
  return { ...log, peaks }
}
