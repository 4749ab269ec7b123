/**
 * Compares the books with a signed state of the log: the log must have its root, and every wallet, audit record and day in it must still
 * be what was sealed. Every later change of them is named.
 */
import { headLeaf } from '../../../sdk/verify/leaves.ts'
import { parseCheckpoint, parseNote, type Checkpoint } from '../../../sdk/verify/note.ts'
import { incarnationLeaf } from '../../proof/incarnation-leaf.ts'
import { isOtherMark, markBytes } from '../../proof/marks.ts'
import { addJoined, addLeaves, hashLeaf, noPeaks, rootOf, type Peaks } from '../../proof/merkle.ts'
import { hashBytes } from '../../proof/sha256.ts'
import type { Queryable } from '../../store/connection/database.ts'
import { findAddedRecords, findChangedRecords } from '../../store/proofs/audit-leaves.ts'
import { hashFoundEntries } from '../../store/proofs/entry-leaves.ts'
import { listIncarnationLeaves, type IncarnationLeaf } from '../../store/proofs/incarnations.ts'
import { findMarks, listLeafHashes, listSealedStates, type SealedState } from '../../store/proofs/proof-log.ts'
import { splitHashes } from '../../store/proofs/subtrees.ts'
import { findArchivedTree, nextSealed, type SealedWallet } from '../../store/proofs/wallet-trees.ts'
import { namedTree } from './seal-books.ts'
import { verifyDays, type DayFault } from './verify-days.ts'

export type LogFault =
  /** The leaves of the log are not those that were signed. */
  | { readonly kind: 'log' }
  /** The entries of this wallet from `from` on are not those that were sealed. `entry` is the first of them that differs, if it is known. */
  | {
      readonly kind: 'wallet'
      readonly walletId: string
      readonly from: number
      readonly until: number
      readonly entry: number | undefined
    }
  | { readonly kind: 'audit'; readonly id: string; readonly was: 'changed' | 'removed' | 'added' }
  | DayFault

const leavesPerPage = 10_000
const walletsPerPage = 1_000
const entriesPerPage = 10_000
const statesPerPage = 1_000

const isSame = (a: Uint8Array, b: Uint8Array) => Buffer.compare(a, b) === 0

export async function* verifyLog(db: Queryable, signed: Checkpoint, currency: string): AsyncGenerator<LogFault> {
  if (!(await hasRoot(db, signed))) yield { kind: 'log' }
  yield* verifyIncarnations(db, signed.size)
  yield* verifyRecords(db, signed.size)
  yield* verifyAddedRecords(db, signed.size)
  yield* verifyDays(db, signed.size, currency)
  for (let after: string | null = null; ;) {
    const wallets: readonly SealedWallet[] = await nextSealed(db, after, walletsPerPage)
    for (const wallet of wallets) {
      const fault = await verifyWallet(db, wallet, signed.size, currency)
      if (fault) yield fault
    }
    if (wallets.length < walletsPerPage) return
    after = wallets.at(-1)!.walletId
  }
}

async function hasRoot(db: Queryable, { size, root }: Checkpoint): Promise<boolean> {
  let peaks: Peaks = noPeaks
  while (peaks.size < size) {
    const hashes = await listLeafHashes(db, peaks.size, Math.min(leavesPerPage, size - peaks.size))
    if (hashes.length === 0) return false
    peaks = addLeaves(peaks, hashes)
  }
  return isSame(rootOf(peaks), root)
}

const incarnationsPerPage = 100

/** A leaf that only looks like one would hide a state of a wallet. */
export async function* verifyIncarnations(db: Queryable, logSize: number): AsyncGenerator<LogFault> {
  for (let from = 0; ;) {
    const leaves: readonly IncarnationLeaf[] = await listIncarnationLeaves(db, from, logSize, incarnationsPerPage)
    if (!leaves.every(isIncarnation)) yield { kind: 'log' }
    if (leaves.length < incarnationsPerPage) return
    from = leaves.at(-1)!.number + 1
  }
}

function isIncarnation({ hash, start }: IncarnationLeaf): boolean {
  if (!start) return false
  const last = start.note === null ? null : parseCheckpoint(parseNote(start.note)?.text ?? '')
  return isSame(hashLeaf(incarnationLeaf({ ...start, last })), hash)
}

async function* verifyRecords(db: Queryable, logSize: number): AsyncGenerator<LogFault> {
  for (let from = 0; from < logSize; from += leavesPerPage)
    for (const { id, isMissing } of await findChangedRecords(db, from, Math.min(from + leavesPerPage, logSize)))
      yield { kind: 'audit', id, was: isMissing ? 'removed' : 'changed' }
}

/** Records that were put before sealed ones. */
export async function* verifyAddedRecords(db: Queryable, logSize: number): AsyncGenerator<LogFault> {
  for (const id of await findAddedRecords(db, logSize, leavesPerPage)) yield { kind: 'audit', id, was: 'added' }
}

/**
 * Grows the wallet's tree again from its entries, and compares it with each state that the log has. Where the first entries are archived, it
 * grows from the tree that was kept of them: the first state after them proves it. Earlier states are proven by the log's root alone.
 */
export async function verifyWallet(
  db: Queryable,
  { walletId, salt }: SealedWallet,
  logSize: number,
  currency: string,
): Promise<LogFault | undefined> {
  // Without the salt no leaf can be computed again.
  const named = namedTree({ walletId, salt: salt ?? new Uint8Array() })
  let peaks: Peaks = (await findArchivedTree(db, walletId)) ?? noPeaks
  for (let from = 0; ;) {
    const states: readonly SealedState[] = await listSealedStates(db, walletId, from, logSize, statesPerPage)
    for (const state of states) {
      const { number, size, hash } = state
      from = number + 1
      if (size < peaks.size) continue
      const rightUpTo = peaks.size
      const grown: Peaks | undefined = await growTo(db, named, peaks, size, currency)
      if (!grown || !isSame(hashLeaf(headLeaf({ wallet: named.name, size, root: rootOf(grown) })), hash)) {
        const entry = salt ? await firstChanged(db, named, rightUpTo, state, currency) : undefined
        return { kind: 'wallet', walletId, from: rightUpTo + 1, until: size, entry }
      }
      peaks = grown
    }
    if (states.length < statesPerPage) return undefined
  }
}

type Named = ReturnType<typeof namedTree>

/** Undefined if entries are missing. */
async function growTo(db: Queryable, named: Named, from: Peaks, size: number, currency: string) {
  let peaks = from
  while (peaks.size < size) {
    const until = Math.min(size, peaks.size + entriesPerPage)
    const [hashes = new Uint8Array()] = await hashFoundEntries(db, [{ ...named, after: peaks.size, until }], currency)
    if (hashes.length !== (until - peaks.size) * hashBytes) return undefined
    peaks = addJoined(peaks, hashes)
  }
  return peaks
}

/** By the marks, which are in the same database: if those were changed too, only the range is known. */
async function firstChanged(
  db: Queryable,
  named: Named,
  after: number,
  { number, size }: SealedState,
  currency: string,
) {
  const marks = await findMarks(db, number)
  const unmarked = size - marks.length / markBytes
  for (let first = after; first < size; first += entriesPerPage) {
    const until = Math.min(size, first + entriesPerPage)
    const [joined = new Uint8Array()] = await hashFoundEntries(db, [{ ...named, after: first, until }], currency)
    const hashes = splitHashes(joined)
    const changed = hashes.findIndex(
      (hash, i) => first + i >= unmarked && isOtherMark(marks, first + i - unmarked, hash),
    )
    if (changed !== -1) return first + changed + 1
    if (hashes.length < until - first) return first + hashes.length + 1
  }
  return undefined
}
