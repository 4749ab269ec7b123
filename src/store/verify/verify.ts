/** Are the books exact? Every invariant, over the whole database as it is at one moment, while the service goes on writing. */
import { verifyLinks, verifyStretchWallets, verifyWallets } from './against-entries.ts'
import { verifyEntries, verifyStrangers, verifyStretchEntries, verifyStretchStrangers } from './entries.ts'
import { openClient, type Connection, type Queryable } from '../open-client.ts'
import { inMinor, type Fault, type MoneyWords } from './fault.ts'
import { nextSlice, type WalletRange } from './slice.ts'
import type { Stretch } from './stretch.ts'
import { verifyTotals } from './totals.ts'

export type VerifyProgress = { readonly part: 'wallets' | 'totals'; readonly done: number; readonly total: number }

export type VerifyOptions = {
  readonly onProgress?: (progress: VerifyProgress) => void
  /** Called for every fault as it is found. */
  readonly onFault?: (fault: Fault) => void
  /** Looked at between two slices. */
  readonly signal?: AbortSignal
}

export type VerifyResult = {
  readonly wallets: number
  readonly transfers: number
  readonly refusals: number
  readonly faults: number
}

/**
 * In memory that does not grow with the books: PostgreSQL goes through a slice of wallets at a time and returns only what
 * is wrong. The one snapshot for all slices keeps old row versions alive until the end, as any long report does.
 */
export async function verifyBooks(connection: Connection, options: VerifyOptions = {}): Promise<VerifyResult> {
  const client = await openClient(connection, { name: 'billfold verify' })
  try {
    await client.query('begin transaction isolation level repeatable read, read only')
    return await verifySnapshot(client, options)
  } finally {
    await client.end()
  }
}

/** The same in a transaction that is already open. */
export async function verifySnapshot(db: Queryable, options: VerifyOptions = {}): Promise<VerifyResult> {
  const { onProgress, onFault, signal } = options
  await db.query(`set local statement_timeout = 0; set local work_mem = '64MB'; set local jit = off`)
  const { rows } = await db.query<{ wallets: bigint; entries: bigint }>(
    'select count(*) as wallets, coalesce(sum(sequence), 0) as entries from wallets',
  )
  const wallets = Number(rows[0]!.wallets)
  const total = wallets + Number(rows[0]!.entries)
  let faults = 0
  const tell = (found: readonly Fault[]) => {
    faults += found.length
    for (const fault of found) onFault?.(fault)
  }
  let done = 0
  let from: string | null = null
  onProgress?.({ part: 'wallets', done, total })
  do {
    signal?.throwIfAborted()
    const slice = await nextSlice(db, from)
    tell(await verifySlice(db, slice))
    done += slice.wallets + slice.entries
    onProgress?.({ part: 'wallets', done, total })
    from = slice.until
  } while (from !== null)
  signal?.throwIfAborted()
  onProgress?.({ part: 'totals', done, total })
  const totals = await verifyTotals(db, { isEntriesClean: faults === 0 })
  tell(totals.faults)
  return { wallets, transfers: totals.transfers, refusals: totals.refusals, faults }
}

/**
 * All faults of a range of wallets. The statements must see one moment, so call it in a transaction of repeatable read; a
 * short one for each slice will do, for nothing in here looks beyond the range.
 */
export async function verifySlice(db: Queryable, range: WalletRange, words = inMinor): Promise<Fault[]> {
  return [...(await verifyEntries(db, range, words)), ...(await verifyAround(db, range, words))]
}

/** All but the entries one by one, which are nearly all of the work. */
export async function verifyAround(db: Queryable, range: WalletRange, words = inMinor): Promise<Fault[]> {
  return [
    ...(await verifyWallets(db, range, words)),
    ...(await verifyStrangers(db, range)),
    ...(await verifyLinks(db, range)),
  ]
}

/** All faults of the entries in these stretches, and of the balances of the wallets whose last entry they reach. */
export async function verifyStretches(
  db: Queryable,
  stretches: readonly Stretch[],
  words: MoneyWords,
): Promise<Fault[]> {
  if (stretches.length === 0) return []
  return [
    ...(await verifyStretchEntries(db, stretches, words)),
    ...(await verifyStretchWallets(db, stretches, words)),
    ...(await verifyStretchStrangers(db, stretches)),
  ]
}
