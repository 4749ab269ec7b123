/**
 * Compares the books with a signed state of the log: the log must have its root, and every wallet and audit record in it must still be
 * what was sealed. Every later change of them is named.
 */
import { headLeaf } from '../../../sdk/verify/leaves.ts'
import type { Checkpoint } from '../../../sdk/verify/note.ts'
import { addLeaves, hashLeaf, noPeaks, rootOf, type Peaks } from '../../proof/merkle.ts'
import type { Queryable } from '../../store/connection/database.ts'
import { findChangedRecords } from '../../store/proofs/audit-leaves.ts'
import { listLeafHashes, listSealedStates, type SealedState } from '../../store/proofs/proof-log.ts'
import { findChangedMark, hashFoundEntries, nextTrees, type WalletTree } from '../../store/proofs/wallet-trees.ts'
import { namedTree } from './seal-books.ts'

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
  | { readonly kind: 'audit'; readonly id: string; readonly isMissing: boolean }

const leavesPerPage = 10_000
const walletsPerPage = 1_000
const entriesPerPage = 10_000
const statesPerPage = 1_000

const isSame = (a: Uint8Array, b: Uint8Array) => Buffer.compare(a, b) === 0

export async function* verifyLog(db: Queryable, signed: Checkpoint, currency: string): AsyncGenerator<LogFault> {
  if (!(await hasRoot(db, signed))) yield { kind: 'log' }
  for (let from = 0; from < signed.size; from += leavesPerPage)
    for (const { id, isMissing } of await findChangedRecords(db, from, Math.min(from + leavesPerPage, signed.size)))
      yield { kind: 'audit', id, isMissing }
  for (let after: string | null = null; ;) {
    const trees: readonly WalletTree[] = await nextTrees(db, after, walletsPerPage)
    for (const tree of trees) {
      const fault = await verifyTree(db, tree, signed.size, currency)
      if (fault) yield fault
    }
    if (trees.length < walletsPerPage) return
    after = trees.at(-1)!.walletId
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

/** Grows the wallet's tree again from its entries, and compares it with each state that the log has. */
async function verifyTree(
  db: Queryable,
  tree: WalletTree,
  logSize: number,
  currency: string,
): Promise<LogFault | undefined> {
  const named = namedTree(tree)
  let peaks: Peaks = noPeaks
  let rightUpTo = 0
  for (let from = 0; ;) {
    const states: readonly SealedState[] = await listSealedStates(db, tree.walletId, from, logSize, statesPerPage)
    for (const { number, size, hash } of states) {
      const grown: Peaks | undefined = await growTo(db, named, peaks, size, currency)
      if (!grown || !isSame(hashLeaf(headLeaf({ wallet: named.name, size, root: rootOf(grown) })), hash))
        return {
          kind: 'wallet',
          walletId: tree.walletId,
          from: rightUpTo + 1,
          until: size,
          entry: await firstChanged(db, named, rightUpTo, size, currency),
        }
      peaks = grown
      rightUpTo = size
      from = number + 1
    }
    if (states.length < statesPerPage) return undefined
  }
}

type Named = ReturnType<typeof namedTree>

async function growTo(db: Queryable, named: Named, from: Peaks, size: number, currency: string) {
  let peaks = from
  while (peaks.size < size) {
    const until = Math.min(size, peaks.size + entriesPerPage)
    const [hashes = []] = await hashFoundEntries(db, [{ ...named, after: peaks.size, until }], currency)
    if (hashes.length !== until - peaks.size) return undefined
    peaks = addLeaves(peaks, hashes)
  }
  return peaks
}

/** By the marks, which are in the same database: if those were changed too, only the range is known. */
async function firstChanged(db: Queryable, named: Named, after: number, until: number, currency: string) {
  for (let first = after; first < until; first += entriesPerPage) {
    const end = Math.min(until, first + entriesPerPage)
    const [hashes = []] = await hashFoundEntries(db, [{ ...named, after: first, until: end }], currency)
    const changed = await findChangedMark(db, { walletId: named.walletId, first, hashes })
    if (changed !== undefined) return changed + 1
    if (hashes.length < end - first) return first + hashes.length + 1
  }
  return undefined
}
