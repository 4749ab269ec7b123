/** Where the continuous check of the books stands: one row that all processes read. */
import type { Queryable, Transaction } from '../database.ts'
import { locks, tryLock } from '../locks.ts'

export type Problem = { readonly check: string; readonly walletId: string | null; readonly message: string }

export type BooksState = {
  /** The wallet the round goes on with; null between rounds. */
  readonly cursor: { readonly from: string | null } | null
  readonly roundStartedAt: Date | null
  readonly nextSliceAt: Date
  readonly walletsChecked: number
  readonly transfersChecked: number
  readonly problems: readonly Problem[]
  readonly lastProblems: readonly Problem[]
  readonly lastRoundAt: Date | null
  readonly lastRoundMs: number | null
  readonly lastWallets: number | null
  readonly lastTransfers: number | null
  readonly walletsMinor: bigint | null
  readonly positionsMinor: bigint | null
  readonly sumsAt: Date | null
}

type Row = {
  cursor: { from: string | null } | null
  round_started_at: Date | null
  next_slice_at: Date
  wallets_checked: bigint
  transfers_checked: bigint
  problems: Problem[]
  last_problems: Problem[]
  last_round_at: Date | null
  last_round_ms: bigint | null
  last_wallets: bigint | null
  last_transfers: bigint | null
  wallets_sum: bigint | null
  positions_sum: bigint | null
  sums_at: Date | null
}

export async function getBooksState(db: Queryable): Promise<BooksState> {
  const { rows } = await db.query<Row>('select * from books_check')
  return toState(rows[0]!)
}

/** The state, for the one process that may carry on now; undefined when another one does. Held until the end of the transaction. */
export async function lockBooksState(tx: Transaction): Promise<BooksState | undefined> {
  return (await tryLock(tx, locks.booksCheck)) ? await getBooksState(tx) : undefined
}

/** A slice must see one moment, and leave the service alone if it takes too long. */
export async function beginSlice(tx: Transaction): Promise<void> {
  await tx.query(
    `set transaction isolation level repeatable read; set local statement_timeout = '120s'; set local jit = off`,
  )
}

export async function updateBooksState(tx: Transaction, state: BooksState): Promise<void> {
  await tx.query(
    `update books_check set cursor = $1, round_started_at = $2, next_slice_at = $3, wallets_checked = $4,
       transfers_checked = $5, problems = $6, last_problems = $7, last_round_at = $8, last_round_ms = $9,
       last_wallets = $10, last_transfers = $11, wallets_sum = $12, positions_sum = $13, sums_at = $14`,
    [
      state.cursor && JSON.stringify(state.cursor),
      state.roundStartedAt,
      state.nextSliceAt,
      state.walletsChecked,
      state.transfersChecked,
      JSON.stringify(state.problems),
      JSON.stringify(state.lastProblems),
      state.lastRoundAt,
      state.lastRoundMs,
      state.lastWallets,
      state.lastTransfers,
      state.walletsMinor,
      state.positionsMinor,
      state.sumsAt,
    ],
  )
}

function toState(row: Row): BooksState {
  return {
    cursor: row.cursor,
    roundStartedAt: row.round_started_at,
    nextSliceAt: row.next_slice_at,
    walletsChecked: Number(row.wallets_checked),
    transfersChecked: Number(row.transfers_checked),
    problems: row.problems,
    lastProblems: row.last_problems,
    lastRoundAt: row.last_round_at,
    lastRoundMs: toNumber(row.last_round_ms),
    lastWallets: toNumber(row.last_wallets),
    lastTransfers: toNumber(row.last_transfers),
    walletsMinor: row.wallets_sum,
    positionsMinor: row.positions_sum,
    sumsAt: row.sums_at,
  }
}

function toNumber(value: bigint | null): number | null {
  return value === null ? null : Number(value)
}
