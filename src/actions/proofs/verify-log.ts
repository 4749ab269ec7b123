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
import { hashFoundEntries, type LeafRange } from '../../store/proofs/entry-leaves.ts'
import { listIncarnationLeaves, type IncarnationLeaf } from '../../store/proofs/incarnations.ts'
import { findMarks, listLeafHashes, listSealedStates, type SealedState } from '../../store/proofs/proof-log.ts'
import { splitHashes } from '../../store/proofs/subtrees.ts'
import { findArchivedTree, findArchivedTrees, nextSealed, type SealedWallet } from '../../store/proofs/wallet-trees.ts'
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
    for await (const { faults } of verifyWallets(db, wallets, signed.size, currency)) yield* faults
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
 * Reads the states and the entries of many wallets at once: three queries for each wallet would cost many times as much. A wallet that is large, or
 * is not what was sealed, is compared alone, which names its fault. Yields after each group of wallets.
 */
export async function* verifyWallets(
  db: Queryable,
  wallets: readonly SealedWallet[],
  logSize: number,
  currency: string,
): AsyncGenerator<{ readonly compared: number; readonly faults: readonly LogFault[] }> {
  for (const group of groupByEntries(await readTrees(db, wallets, logSize))) {
    const small = group.filter(isSmall)
    const hashes = await hashFoundEntries(db, small, currency)
    const right = new Set(small.filter((tree, i) => isAsSealed(tree, hashes[i]!)).map(({ walletId }) => walletId))
    const faults: LogFault[] = []
    for (const { wallet } of group) {
      const fault = right.has(wallet.walletId) ? undefined : await verifyWallet(db, wallet, logSize, currency)
      if (fault) faults.push(fault)
    }
    yield { compared: group.length, faults }
  }
}

/** Without a salt no leaf can be computed again. */
const namedOf = ({ walletId, salt }: SealedWallet) => namedTree({ walletId, salt: salt ?? new Uint8Array() })

/** The states of a wallet, and the range of its entries from the archived ones up to its last state. */
type SealedTree = LeafRange & {
  readonly wallet: SealedWallet
  readonly archived: Peaks
  readonly states: readonly SealedState[]
}

/** Of one wallet. With more states it is compared alone. */
const statesAtOnce = 50

async function readTrees(db: Queryable, wallets: readonly SealedWallet[], logSize: number): Promise<SealedTree[]> {
  const ids = wallets.map(({ walletId }) => walletId)
  const archivedOf = await findArchivedTrees(db, ids)
  const found = await listSealedStates(db, ids, 0, logSize, statesAtOnce + 1)
  const statesOf = Map.groupBy(found, ({ walletId }) => walletId)
  return wallets.map((wallet) => {
    const archived = archivedOf.get(wallet.walletId) ?? noPeaks
    const states = statesOf.get(wallet.walletId) ?? []
    const until = Math.max(archived.size, states.at(-1)?.size ?? 0)
    return { ...namedOf(wallet), wallet, archived, states, after: archived.size, until }
  })
}

function isSmall({ states, after, until }: SealedTree): boolean {
  return states.length <= statesAtOnce && until - after <= entriesPerPage
}

/** The entries of all but the last wallet of a group fit into one page. */
function groupByEntries(trees: readonly SealedTree[]): readonly SealedTree[][] {
  const groups: SealedTree[][] = []
  let left = 0
  for (const tree of trees) {
    if (left <= 0) {
      groups.push([])
      left = entriesPerPage
    }
    groups.at(-1)!.push(tree)
    left -= tree.until - tree.after
  }
  return groups
}

/** Whether the tree that grows from these leaves has every state that the log has. */
function isAsSealed({ name, archived, states, after, until }: SealedTree, hashes: Uint8Array): boolean {
  if (hashes.length !== (until - after) * hashBytes) return false
  let peaks = archived
  for (const { size, hash } of states) {
    if (size < peaks.size) continue
    peaks = addJoined(peaks, hashes.subarray((peaks.size - after) * hashBytes, (size - after) * hashBytes))
    if (!isState(name, peaks, hash)) return false
  }
  return true
}

const isState = (wallet: string, tree: Peaks, hash: Uint8Array) =>
  isSame(hashLeaf(headLeaf({ wallet, size: tree.size, root: rootOf(tree) })), hash)

/**
 * Grows the wallet's tree again from its entries, and compares it with each state that the log has. Where the first entries are archived, it
 * grows from the tree that was kept of them: the first state after them proves it. Earlier states are proven by the log's root alone.
 */
async function verifyWallet(
  db: Queryable,
  wallet: SealedWallet,
  logSize: number,
  currency: string,
): Promise<LogFault | undefined> {
  const { walletId, salt } = wallet
  const named = namedOf(wallet)
  const readEntries = openEntries(db, named, currency)
  let peaks: Peaks = (await findArchivedTree(db, walletId)) ?? noPeaks
  for (let from = 0; ;) {
    const states: readonly SealedState[] = await listSealedStates(db, [walletId], from, logSize, statesPerPage)
    const last = Math.max(...states.map(({ size }) => size))
    for (const state of states) {
      const { number, size, hash } = state
      from = number + 1
      if (size < peaks.size) continue
      const rightUpTo = peaks.size
      const grown: Peaks | undefined = await growTo(peaks, size, (after, until) => readEntries(after, until, last))
      if (!grown || !isState(named.name, grown, hash)) {
        const entry = salt ? await firstChanged(db, named, rightUpTo, state, currency) : undefined
        return { kind: 'wallet', walletId, from: rightUpTo + 1, until: size, entry }
      }
      peaks = grown
    }
    if (states.length < statesPerPage) return undefined
  }
}

type Named = ReturnType<typeof namedTree>

/**
 * Returns a function that reads the hashes of entries, or undefined if some are missing. It reads ahead up to the entry `last`: a wallet may have
 * thousands of states with a few entries each.
 */
function openEntries(db: Queryable, named: Named, currency: string) {
  let first = 0
  let hashes: Uint8Array = new Uint8Array()
  return async (after: number, until: number, last: number): Promise<Uint8Array | undefined> => {
    const hasThem = () => after >= first && until <= first + hashes.length / hashBytes
    // If one of the entries ahead is missing, only those that are asked for.
    for (const end of [Math.max(until, Math.min(last, after + entriesPerPage)), until]) {
      if (hasThem()) break
      const [found = new Uint8Array()] = await hashFoundEntries(db, [{ ...named, after, until: end }], currency)
      if (found.length === (end - after) * hashBytes) [first, hashes] = [after, found]
    }
    return hasThem() ? hashes.subarray((after - first) * hashBytes, (until - first) * hashBytes) : undefined
  }
}

type ReadEntries = (after: number, until: number) => Promise<Uint8Array | undefined>

/** Undefined if entries are missing. */
async function growTo(from: Peaks, size: number, readEntries: ReadEntries): Promise<Peaks | undefined> {
  let peaks = from
  while (peaks.size < size) {
    const hashes = await readEntries(peaks.size, Math.min(size, peaks.size + entriesPerPage))
    if (!hashes) return undefined
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
