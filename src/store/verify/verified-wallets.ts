/** Each wallet's checkpoint, up to which its ledger was verified, and the wallets that have changed since. */
import { listReachable } from '../cluster/reachable.ts'
import { plainArray } from '../connection/arrays.ts'
import type { Queryable, Transaction } from '../connection/database.ts'
import { isRightWalletSql } from './against-entries.ts'
import { areRightSql } from './right-stretches.ts'
import { inRange, type WalletRange } from './slice.ts'
import { endOfLedger } from './stretch.ts'
import { maybe, one } from '../connection/rows.ts'

export type Checkpoint = { readonly walletId: string; readonly sequence: bigint; readonly balanceMinor: bigint }

/** A wallet that differs from its checkpoint, with that checkpoint; zeros without one. */
export type ChangedWallet = Checkpoint & { readonly fromSequence: bigint; readonly fromBalanceMinor: bigint }

export type Changes = WalletRange & { readonly changed: readonly ChangedWallet[] }

/**
 * The changed wallets among the next `walletsAtMost`. Both tables are read side by side by key, which costs some microseconds
 * per wallet; an index or a change log would cost every debit.
 */
export async function nextChanges(db: Queryable, from: string | null, walletsAtMost: number): Promise<Changes> {
  const until = await findBoundary(db, from, walletsAtMost)
  const { rows } = await db.query<ChangedWallet>(changedSql, [from, until])
  return { from, until, changed: rows }
}

async function findBoundary(db: Queryable, from: string | null, walletsAtMost: number): Promise<string | null> {
  const { rows } = await db.query<{ id: string }>(
    `select id from wallets where $1::uuid is null or id >= $1 order by id offset $2 limit 1`,
    [from, walletsAtMost],
  )
  return maybe(rows)?.id ?? null
}

export type CheckedPage = {
  readonly areRight: boolean
  /** Changed ones, of which all new entries were checked. */
  readonly wallets: number
  /** A wallet without a new entry counts as one. */
  readonly entries: number
  /** Where the wallets after them begin; null after the last one. */
  readonly until: string | null
  /** The next wallet has more new entries than fit into a page. */
  readonly isCut: boolean
  readonly checkpoints: CheckpointArrays
}

/** Each column of the new checkpoints, as the literal of an array. */
type CheckpointArrays = Record<'ids' | 'sequences' | 'balances', string>

/** The changed wallets of a range up to `$3` entries, with what `areRightSql` compares. */
const checkedPageSql = `
with changed as materialized (
  select *, sum(greatest(1, last_sequence - sequence)::float8) over (order by wallet_id rows unbounded preceding) as entries,
    last_sequence - sequence > $3::float8 as is_long
  from (
    select w.id as wallet_id, case when v.sequence <= w.sequence then v.sequence else 0 end as sequence,
      v.balance, ${endOfLedger} as until,
      w.sequence as last_sequence, w.balance as last_balance, w.is_right
    from (select id, sequence, balance, ${isRightWalletSql} as is_right from wallets where ${inRange('id')}) w
    left join (select * from verified_wallets where ${inRange('wallet_id')}) v on v.wallet_id = w.id
    where v.sequence is distinct from w.sequence or v.balance is distinct from w.balance
  ) w
), stretch as materialized (
  select * from changed where entries <= $3::float8
)
select ${areRightSql} as "areRight", n.next, n.is_long is true as "isCut", p.*
from (
  select count(*)::int as wallets, coalesce(max(entries), 0) as entries, coalesce(array_agg(wallet_id)::text, '{}') as ids,
    coalesce(array_agg(last_sequence)::text, '{}') as sequences, coalesce(array_agg(last_balance)::text, '{}') as balances
  from stretch
) p left join (select wallet_id as next, is_long from changed where entries > $3::float8 order by entries limit 1) n on true`

type CheckedPageRow = Pick<CheckedPage, 'areRight' | 'wallets' | 'entries' | 'isCut'> & {
  next: string | null
} & CheckpointArrays

/**
 * Finds the next changed wallets and checks their new entries, up to a number of them, in one statement. With one new entry in each wallet, a
 * statement that lists the wallets and another that checks them take twice the time of the process. On one server.
 */
export async function checkNextChanges(
  db: Queryable,
  from: string | null,
  limits: { readonly wallets: number; readonly entries: number },
): Promise<CheckedPage> {
  const boundary = await findBoundary(db, from, limits.wallets)
  const { rows } = await db.query<CheckedPageRow>(checkedPageSql, [from, boundary, limits.entries])
  const { next, areRight, wallets, entries, isCut, ...checkpoints } = one(rows)
  return { areRight, wallets, entries, until: next ?? boundary, isCut, checkpoints }
}

/** Like `nextChanges`, while servers of a cluster are away: their wallets are left out, which makes the page partial. */
export async function nextReachableChanges(
  db: Queryable,
  from: string | null,
  walletsAtMost: number,
  away: readonly number[],
): Promise<Changes & { readonly isPartial: boolean }> {
  const { ids, until, leftOut } = await listReachable(db, from, walletsAtMost, away)
  const { rows } = await db.query<ChangedWallet>(changedOfSql, [plainArray(ids, String)])
  return { from, until, changed: rows, isPartial: leftOut > 0 }
}

const changedSqlOf = (isWanted: (column: string) => string) => `
select w.id as "walletId", w.sequence, w.balance as "balanceMinor", coalesce(v.sequence, 0) as "fromSequence",
  coalesce(v.balance, 0) as "fromBalanceMinor"
from (select id, sequence, balance from wallets where ${isWanted('id')}) w
left join (select * from verified_wallets where ${isWanted('wallet_id')}) v on v.wallet_id = w.id
where v.sequence is distinct from w.sequence or v.balance is distinct from w.balance
order by w.id`
const changedSql = changedSqlOf(inRange)
const changedOfSql = changedSqlOf((column) => `${column} = any($1::uuid[])`)
const changedWalletSql = changedSqlOf((column) => `${column} = $1`)

/** This wallet if it differs from its checkpoint. */
export async function findChanged(db: Queryable, walletId: string): Promise<ChangedWallet | undefined> {
  const { rows } = await db.query<ChangedWallet>(changedWalletSql, [walletId])
  return maybe(rows)
}

/** The sequence of the wallet's checkpoint; 0 without one. */
export async function getCheckedUpTo(db: Queryable, walletId: string): Promise<number> {
  const { rows } = await db.query<{ sequence: number }>(
    'select sequence::float8 as sequence from verified_wallets where wallet_id = $1',
    [walletId],
  )
  return maybe(rows)?.sequence ?? 0
}

/** The last entry up to this one, as a checkpoint; undefined when there is none. */
export async function findCheckpointAt(
  db: Queryable,
  walletId: string,
  sequence: bigint,
): Promise<Checkpoint | undefined> {
  const { rows } = await db.query<Checkpoint>(
    `select wallet_id as "walletId", sequence, balance_after as "balanceMinor" from all_transfers where wallet_id = $1 and sequence <= $2 order by sequence desc limit 1`,
    [walletId, sequence],
  )
  return maybe(rows)
}

export async function upsertCheckpoints(tx: Transaction, points: readonly Checkpoint[]): Promise<void> {
  if (points.length === 0) return
  await tx.query(
    `insert into verified_wallets (wallet_id, sequence, balance)
     select * from unnest($1::uuid[], $2::bigint[], $3::bigint[])
     on conflict (wallet_id) do update set sequence = excluded.sequence, balance = excluded.balance`,
    [
      plainArray(points, ({ walletId }) => walletId),
      plainArray(points, ({ sequence }) => sequence),
      plainArray(points, ({ balanceMinor }) => balanceMinor),
    ],
  )
}

/** An update of known rows takes three quarters of the time of an upsert. */
export async function keepCheckpoints(tx: Transaction, { wallets, checkpoints }: CheckedPage): Promise<void> {
  if (wallets === 0) return
  const { ids, sequences, balances } = checkpoints
  const { rowCount } = await tx.query(
    `update verified_wallets v set sequence = n.sequence, balance = n.balance
     from unnest($1::uuid[], $2::bigint[], $3::bigint[]) as n(wallet_id, sequence, balance) where v.wallet_id = n.wallet_id`,
    [ids, sequences, balances],
  )
  if (rowCount === wallets) return
  await tx.query(
    `insert into verified_wallets (wallet_id, sequence, balance)
     select * from unnest($1::uuid[], $2::bigint[], $3::bigint[]) on conflict (wallet_id) do nothing`,
    [ids, sequences, balances],
  )
}

/** A wallet with a fault is checked from its first entry until it is right. */
export async function deleteCheckpoints(tx: Transaction, walletIds: readonly string[]): Promise<void> {
  if (walletIds.length === 0) return
  await tx.query('delete from verified_wallets where wallet_id = any($1::uuid[])', [plainArray(walletIds, String)])
}
