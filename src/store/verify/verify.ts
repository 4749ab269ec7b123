/** Verifies the books: every invariant, over the whole database in one snapshot, while the service continues to write. */
import { findAgreement, isSpread, type Checking } from '../cluster/agreement.ts'
import { beginSnapshot } from '../cluster/snapshot.ts'
import { verifyLinks, verifyStretchWallets, verifyWallets } from './against-entries.ts'
import {
  verifyAgreedEntries,
  verifyEntries,
  verifyEntriesOnNodes,
  verifyEntryLinks,
  verifyStretchEntries,
  verifyStretchEntryLinks,
} from './entries.ts'
import { commandConnectMs, type Connection, type OpenClient, type Queryable } from '../connection/open-client.ts'
import { openClient } from '../connection/servers.ts'
import { formatMinor, type Fault, type FormatMoney } from './fault.ts'
import { verifyHolds } from './hold-checks.ts'
import { nextSlice, type Slice, type WalletRange } from './slice.ts'
import type { Stretch } from './stretch.ts'
import { inParallel, type Connections } from './in-parallel.ts'
import { areEntriesRight, areStretchesRight } from './right-stretches.ts'
import { verifyTotals } from './totals.ts'
import { maybe, one } from '../connection/rows.ts'
import { transactionIdOf } from '../outcomes.ts'

export type VerifyProgress = { readonly part: 'wallets' | 'totals'; readonly done: number; readonly total: number }

export type VerifyOptions = {
  readonly onProgress?: (progress: VerifyProgress) => void
  readonly onFault?: (fault: Fault) => void
  /** Checked between two slices. */
  readonly signal?: AbortSignal
  /** How many connections work at once; the server needs a core for each. */
  readonly jobs?: number
}

export type VerifyResult = {
  readonly wallets: number
  readonly transfers: number
  /** How many of the transfers are in files: they count by their sums. */
  readonly archived: number
  readonly refusals: number
  readonly faults: number
  /** The sum of all balances. */
  readonly balanceMinor: bigint
  /** The oldest and the newest entry in the database by time; undefined without entries. */
  readonly first: CoveredEntry | undefined
  readonly last: CoveredEntry | undefined
}

export type CoveredEntry = { readonly transactionId: string; readonly createdAt: Date }

/**
 * Memory does not grow with the books: PostgreSQL checks one slice of wallets at a time and returns only faults. The snapshot
 * shared by all slices keeps old row versions alive until the end, as any long report does.
 */
export async function verifyBooks(connection: Connection, options: VerifyOptions = {}): Promise<VerifyResult> {
  const opened: OpenClient[] = []
  const open = async (): Promise<OpenClient> => {
    // A connection that has finished its slices waits for the others, idle in its transaction. It locks no row.
    const settings = { idle_in_transaction_session_timeout: '0' }
    const client = await openClient(connection, {
      name: 'billfold verify',
      settings,
      connectWithinMs: commandConnectMs,
    })
    opened.push(client)
    return client
  }
  try {
    const { jobs = 1 } = options
    const first = await open()
    const others = await Promise.all(Array.from({ length: jobs - 1 }, open))
    const all: Connections & [OpenClient, ...OpenClient[]] = [first, ...others]
    await beginSnapshot(connection, all)
    return await verifyTogether(all, options)
  } finally {
    await Promise.all(opened.map((client) => client.end()))
  }
}

/** The same in a transaction that is already open. */
export async function verifySnapshot(db: Connections[0], options: VerifyOptions = {}): Promise<VerifyResult> {
  return await verifyTogether([db], options)
}

async function verifyTogether(all: Connections, options: VerifyOptions): Promise<VerifyResult> {
  const { onProgress, onFault, signal } = options
  for (const db of all)
    await db.query(`set local statement_timeout = 0; set local work_mem = '64MB'; set local jit = off`)
  const { rows } = await all[0].query<{ wallets: number; entries: number; balanceMinor: bigint }>(
    `select count(*)::float8 as wallets, coalesce(sum(sequence), 0)::float8 as entries, coalesce(sum(balance), 0) as "balanceMinor"
     from wallets`,
  )
  const { wallets, entries, balanceMinor } = one(rows)
  const total = wallets + entries
  let faults = 0
  const tell = (found: readonly Fault[]) => {
    faults += found.length
    for (const fault of found) onFault?.(fault)
  }
  let done = 0
  onProgress?.({ part: 'wallets', done, total })
  const next = openSlices(entriesPerSlice(entries, all.length))
  const take = isSpread(all[0]) ? await takeCompared(all, next, signal) : next
  await inParallel(all, async (db) => {
    signal?.throwIfAborted()
    const slice = await take(db)
    if (!slice) return false
    tell(await verifySlice(db, slice))
    done += slice.wallets + slice.entries
    onProgress?.({ part: 'wallets', done, total })
    return true
  })
  signal?.throwIfAborted()
  onProgress?.({ part: 'totals', done, total })
  const totals = await verifyTotals(all, { isEntriesClean: faults === 0 })
  tell(totals.faults)
  const { transfers, archived, refusals } = totals
  const [first, last] = [await findOutermost(all[0], 'asc'), await findOutermost(all[0], 'desc')]
  return { wallets, transfers, archived, refusals, faults, balanceMinor, first, last }
}

/** Reads every entry once more: entries have no ordered index by time, which every debit would have to write. */
async function findOutermost(db: Queryable, order: 'asc' | 'desc'): Promise<CoveredEntry | undefined> {
  const { rows } = await db.query<{ referenceKey: string; createdAt: Date }>(
    `select replace(reference_key::text, '-', '') as "referenceKey", created_at as "createdAt" from all_transfers where not is_archived
     order by created_at ${order}, reference_key ${order} limit 1`,
  )
  const row = maybe(rows)
  return row && { transactionId: transactionIdOf(row.referenceKey), createdAt: row.createdAt }
}

const maxEntriesPerSlice = 200_000

/** Several connections get several slices each, so that none is left with a large one at the end. */
function entriesPerSlice(entries: number, jobs: number): number {
  return jobs === 1 ? maxEntriesPerSlice : Math.min(maxEntriesPerSlice, Math.ceil(entries / (jobs * 8)) || 1)
}

type TakeSlice = (db: Queryable) => Promise<(Slice & Agreed) | undefined>
/** The entries are known to agree with their outcomes. */
type Agreed = { readonly isAgreed?: boolean }

/** Returns one slice after another to concurrent callers; undefined after the last. */
function openSlices(entriesAtMost: number): TakeSlice {
  let from: string | null | undefined = null
  const next = async (db: Queryable) => {
    if (from === undefined) return undefined
    const slice: Slice = await nextSlice(db, from, entriesAtMost)
    from = slice.until ?? undefined
    return slice
  }
  let turn: Promise<unknown> = Promise.resolve()
  return (db) => {
    const mine = turn.then(() => next(db))
    turn = mine.catch(() => {})
    return mine
  }
}

/** On a cluster: all slices, after their entries were compared with the outcomes, which may be on other servers. */
async function takeCompared(all: Connections, next: TakeSlice, signal: AbortSignal | undefined): Promise<TakeSlice> {
  const slices: Slice[] = []
  for (let slice = await next(all[0]); slice; slice = await next(all[0])) {
    signal?.throwIfAborted()
    slices.push(slice)
  }
  const agreement = await findAgreement(all, slices)
  const compared = slices.map((slice, i) => ({ ...slice, isAgreed: agreement[i]! })).values()
  return () => Promise.resolve(compared.next().value)
}

/**
 * All faults of a range of wallets. The statements need one snapshot: call it in a repeatable read transaction. One short
 * transaction per slice is enough, because no check looks beyond the range.
 */
export async function verifySlice(db: Checking, range: WalletRange & Agreed, words = formatMinor): Promise<Fault[]> {
  if (!isSpread(db) && (await areEntriesRight(db, range))) return await verifyBesideEntries(db, range, words)
  const ofEntries = await chooseCheck(db, range)(db, range, words)
  return [...ofEntries, ...(await verifyExceptEntries(db, range, words))]
}

function chooseCheck(db: Checking, { isAgreed }: Agreed) {
  if (isAgreed) return verifyAgreedEntries
  return isAgreed === undefined && isSpread(db) ? verifyEntriesOnNodes : verifyEntries
}

/** All checks except those of single entries, which are nearly all of the work. */
export async function verifyExceptEntries(db: Checking, range: WalletRange, words = formatMinor): Promise<Fault[]> {
  return [...(await verifyBesideEntries(db, range, words)), ...(await verifyEntryLinks(db, range))]
}

async function verifyBesideEntries(db: Checking, range: WalletRange, words: FormatMoney): Promise<Fault[]> {
  return [
    ...(await verifyWallets(db, range, words)),
    ...(await verifyHolds(db, range, words)),
    ...(await verifyLinks(db, range)),
  ]
}

/** All faults of the entries in these stretches, and of the balances of wallets whose last entry they include. */
export async function verifyStretches(
  db: Checking,
  stretches: readonly Stretch[],
  words: FormatMoney,
): Promise<Fault[]> {
  if (stretches.length === 0) return []
  if (!isSpread(db) && (await areStretchesRight(db, stretches))) return []
  return await nameStretchFaults(db, stretches, words)
}

/** Reads the entries three times. */
export async function nameStretchFaults(
  db: Checking,
  stretches: readonly Stretch[],
  words: FormatMoney,
): Promise<Fault[]> {
  return [
    ...(await verifyStretchEntries(db, stretches, words)),
    ...(await verifyStretchWallets(db, stretches, words)),
    ...(await verifyStretchEntryLinks(db, stretches)),
  ]
}
