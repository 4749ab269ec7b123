/** The state of the continuous check of the books: one row that all processes share. */
import { isClosedTableSql } from '../closing/closings.ts'
import type { Connection, Queryable, Transaction } from '../connection/database.ts'
import { rewritesOnNodesSql } from '../cluster/rewrites.ts'
import { keepPeriodsSql, oneSnapshotPerNodeSql, takeSnapshot } from '../cluster/snapshot.ts'
import { locks, tryLock } from '../locks.ts'
import { one } from '../connection/rows.ts'

export type Problem = {
  readonly check: string
  readonly walletId: string | null
  readonly sequence: number | null
  readonly message: string
  /** ISO 8601, because it is stored in JSON. */
  readonly foundAt: string
}

/** The sums of an account's entries, as text: in JSON a number would not be exact. */
export type AccountSumText = { readonly debited: string; readonly credited: string; readonly transfers: string }

export type LogCursor = {
  /** Of the checkpoint; the root is empty if it was not signed by the log. */
  readonly size: number
  readonly root: string
  /** The leaves that were compared, as a tree; hashes in hexadecimal digits. */
  readonly peaks: { readonly size: number; readonly hashes: readonly string[] }
  /** The last wallet that was compared. */
  readonly wallet: string | null
  /** The problems that this comparison has found. */
  readonly found: readonly string[]
}

export type BooksState = {
  /** The database's clock at the read. */
  readonly now: Date
  readonly problems: readonly Problem[]

  /** The check that both sides add up to zero. */
  readonly nextSumsAt: Date
  readonly walletsMinor: bigint | null
  readonly positionsMinor: bigint | null
  readonly sumsAt: Date | null

  /**
   * The pass over changed wallets: the wallet it continues with, and the entry up to which that wallet is still to be checked.
   */
  readonly pass: {
    readonly from: string | null
    readonly target: number | null
    /** Wallets were left out, because a server of the cluster was away. */
    readonly isPartial?: boolean
  } | null
  readonly passStartedAt: Date | null
  readonly nextPassAt: Date
  /** Changed ones. */
  readonly passWallets: number
  readonly passEntries: number
  /** Every entry before this time was checked. */
  readonly checkedUpTo: Date | null
  readonly lastPassMs: number | null
  readonly lastPassWallets: number | null
  readonly lastPassEntries: number | null

  /**
   * The round over all wallets: the wallet it continues with, and after which entry, if the wallet is split. Null between
   * rounds.
   */
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
  /** The comparison with the newest checkpoint. Null between two. */
  readonly logCursor: LogCursor | null
  readonly nextLogAt: Date
  readonly logCheckedAt: Date | null
  /** The size of the checkpoint that the last one compared with. */
  readonly logCheckedSize: number | null
  /** The server's count of changes to append-only rows when it was last recorded; null before the first time. */
  readonly rewrites: number | null
  /** The count has grown: the current round runs without pauses. */
  readonly isHurried: boolean
}

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
  logCursor: 'log_cursor',
  nextLogAt: 'next_log_at',
  logCheckedAt: 'log_checked_at',
  logCheckedSize: 'log_checked_size',
  rewrites: 'rewrites',
  isHurried: 'is_hurried',
}

const parts = Object.entries(columns) as [keyof typeof columns, string][]
const documents = ['problems', 'pass', 'cursor', 'round_sums', 'log_cursor']
const amounts = ['wallets_sum', 'positions_sum']

export async function getBooksState(db: Queryable): Promise<BooksState> {
  const { rows } = await db.query<Record<string, unknown>>('select *, clock_timestamp() as now from books_check')
  const row = one(rows)
  const state = parts.map(([part, column]) => {
    const value = row[column]
    // Counts and milliseconds fit a number exactly; money may not.
    return [part, typeof value === 'bigint' && !amounts.includes(column) ? Number(value) : value]
  })
  return { now: row['now'], ...Object.fromEntries(state) } as BooksState
}

/** The state, locked until the transaction ends; undefined while another process holds it. */
export async function lockBooksState(tx: Transaction): Promise<BooksState | undefined> {
  return (await tryLock(tx, locks.booksCheck)) ? await getBooksState(tx) : undefined
}

const stepSql = `set transaction isolation level repeatable read; set local statement_timeout = '30s'; set local jit = off`

/**
 * A step needs one snapshot, and a time limit that protects the service. On a cluster the first attempt sees several
 * snapshots; for the second, all writers are blocked for some milliseconds.
 */
export async function beginCheckStep(tx: Transaction, connection: Connection, isSecond: boolean): Promise<void> {
  const sql = `${stepSql}; ${keepPeriodsSql}`
  await tx.query({ text: sql, onCluster: `${sql}; ${oneSnapshotPerNodeSql}` })
  if (isSecond) await takeSnapshot(connection, tx)
}

/** From the server's statistics, which lag by some seconds and restart at zero after a crash. */
export async function countRewrites(db: Queryable): Promise<number> {
  const { rows } = await db.query<{ count: bigint }>({
    text: `select coalesce(sum(n_tup_upd + n_tup_del), 0)::bigint as count from pg_stat_user_tables
     where schemaname = 'public' and (relname in ('transfers', 'outcomes') or ${isClosedTableSql('relname')})`,
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
