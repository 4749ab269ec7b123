/** Where the continuous check of the books stands: one row that all processes read. */
import type { Queryable, Transaction } from '../connection/database.ts'
import { takeSnapshotSql, unlockWritersSql, oneSnapshotPerNodeSql } from '../cluster.ts'
import { locks, tryLock } from '../locks.ts'
import { one } from '../connection/rows.ts'

export type Problem = {
  readonly check: string
  readonly walletId: string | null
  readonly sequence: number | null
  readonly message: string
  /** As ISO 8601: it lives in JSON. */
  readonly foundAt: string
}

/** What an account's entries add up to, as text: it lives in JSON, where a number would not be exact. */
export type AccountSumText = { readonly debited: string; readonly credited: string; readonly transfers: string }

export type BooksState = {
  /** By the database's clock, when this was read. */
  readonly now: Date
  readonly problems: readonly Problem[]

  /** Both sides against each other. */
  readonly nextSumsAt: Date
  readonly walletsMinor: bigint | null
  readonly positionsMinor: bigint | null
  readonly sumsAt: Date | null

  /** The pass over what changed: the wallet it goes on with, and the entry up to which that one is still to be done. */
  readonly pass: { readonly from: string | null; readonly target: number | null } | null
  readonly passStartedAt: Date | null
  readonly nextPassAt: Date
  /** Those that had changed. */
  readonly passWallets: number
  readonly passEntries: number
  /** Every entry from before was looked at. */
  readonly checkedUpTo: Date | null
  readonly lastPassMs: number | null
  readonly lastPassWallets: number | null
  readonly lastPassEntries: number | null

  /** The round over everything: the wallet it goes on with, and the entry after which, if that one is cut. Null between rounds. */
  readonly cursor: { readonly from: string | null; readonly sequence?: number } | null
  readonly roundStartedAt: Date | null
  readonly nextSliceAt: Date
  readonly walletsChecked: number
  readonly transfersChecked: number
  readonly roundDay: string | null
  readonly roundSums: Readonly<Record<string, AccountSumText>>
  readonly lastRoundAt: Date | null
  readonly lastRoundMs: number | null
  readonly lastWallets: number | null
  readonly lastTransfers: number | null
  /** How often rows that never change had been changed when this was last taken note of; null before the first time. */
  readonly rewrites: number | null
  /** Since then a round hurries. */
  readonly isHurried: boolean
}

/** The column of each part of the state that is written down. */
const columns: Record<Exclude<keyof BooksState, 'now'>, string> = {
  problems: 'problems',
  nextSumsAt: 'next_sums_at',
  walletsMinor: 'wallets_sum',
  positionsMinor: 'positions_sum',
  sumsAt: 'sums_at',
  pass: 'pass',
  passStartedAt: 'pass_started_at',
  nextPassAt: 'next_pass_at',
  passWallets: 'pass_wallets',
  passEntries: 'pass_entries',
  checkedUpTo: 'checked_up_to',
  lastPassMs: 'last_pass_ms',
  lastPassWallets: 'last_pass_wallets',
  lastPassEntries: 'last_pass_entries',
  cursor: 'cursor',
  roundStartedAt: 'round_started_at',
  nextSliceAt: 'next_slice_at',
  walletsChecked: 'wallets_checked',
  transfersChecked: 'transfers_checked',
  roundDay: 'round_day',
  roundSums: 'round_sums',
  lastRoundAt: 'last_round_at',
  lastRoundMs: 'last_round_ms',
  lastWallets: 'last_wallets',
  lastTransfers: 'last_transfers',
  rewrites: 'rewrites',
  isHurried: 'is_hurried',
}

const parts = Object.entries(columns) as [keyof typeof columns, string][]
const documents = ['problems', 'pass', 'cursor', 'round_sums']
const amounts = ['wallets_sum', 'positions_sum']

export async function getBooksState(db: Queryable): Promise<BooksState> {
  const { rows } = await db.query<Record<string, unknown>>('select *, clock_timestamp() as now from books_check')
  const row = one(rows)
  const state = parts.map(([part, column]) => {
    const value = row[column]
    // Counts and milliseconds are far from where a number is not exact; money is not.
    return [part, typeof value === 'bigint' && !amounts.includes(column) ? Number(value) : value]
  })
  return { now: row['now'], ...Object.fromEntries(state) } as BooksState
}

/** The state, for the one process that may carry on now; undefined when another one does. Held until the end of the transaction. */
export async function lockBooksState(tx: Transaction): Promise<BooksState | undefined> {
  return (await tryLock(tx, locks.booksCheck)) ? await getBooksState(tx) : undefined
}

const stepSql = `set transaction isolation level repeatable read; set local statement_timeout = '30s'; set local jit = off`

/**
 * A step must see one moment, and leave the service alone if it takes too long. On a cluster a first look sees a moment of
 * each node, which may not be the same; for the second one all writers are held up for some milliseconds.
 */
export async function beginCheckStep(tx: Transaction, isSecond: boolean): Promise<void> {
  const onCluster = `${stepSql}; ${isSecond ? `${takeSnapshotSql}; ${unlockWritersSql}` : oneSnapshotPerNodeSql}`
  await tx.query({ text: stepSql, onCluster })
}

/** On a cluster the rows are in the shards. Whatever a node answers instead of a number makes the statement fail. */
const rewritesOnNodesSql = `
select coalesce(sum(result::bigint), 0)::bigint as count
from unnest(array['transfers', 'outcomes']::regclass[]) as t(name), run_command_on_placements(t.name,
  $$select coalesce(sum(n_tup_upd + n_tup_del), 0) from pg_stat_user_tables where relid = '%s'::regclass$$)`

/** As the server counts them, some seconds later; after a crash it begins at zero. */
export async function countRewrites(db: Queryable): Promise<number> {
  const { rows } = await db.query<{ count: bigint }>({
    text: `select coalesce(sum(n_tup_upd + n_tup_del), 0)::bigint as count from pg_stat_user_tables
     where relid in ('transfers'::regclass, 'outcomes'::regclass)`,
    onCluster: rewritesOnNodesSql,
  })
  return Number(one(rows).count)
}

const updateSql = `update books_check set ${parts.map(([, column], i) => `${column} = $${i + 1}`).join(', ')}`

export async function updateBooksState(tx: Transaction, state: BooksState): Promise<void> {
  const values = parts.map(([part, column]) =>
    documents.includes(column) && state[part] !== null ? JSON.stringify(state[part]) : state[part],
  )
  await tx.query(updateSql, values)
}
