/** Each wallet's checkpoint, up to which its ledger was verified, and the wallets that have changed since. */
import { listReachable } from '../cluster/reachable.ts'
import { plainArray } from '../connection/arrays.ts'
import type { Queryable, Transaction } from '../connection/database.ts'
import { inRange, type WalletRange } from './slice.ts'
import { maybe } from '../connection/rows.ts'

export type Checkpoint = { readonly walletId: string; readonly sequence: bigint; readonly balanceMinor: bigint }

/** A wallet that differs from its checkpoint, with that checkpoint; zeros without one. */
export type ChangedWallet = Checkpoint & { readonly fromSequence: bigint; readonly fromBalanceMinor: bigint }

export type Changes = WalletRange & { readonly changed: readonly ChangedWallet[] }

/**
 * The changed wallets among the next `walletsAtMost`. Both tables are read side by side by key, which costs some microseconds
 * per wallet; an index or a change log would cost every debit.
 */
export async function nextChanges(db: Queryable, from: string | null, walletsAtMost: number): Promise<Changes> {
  const boundary = await db.query<{ id: string }>(
    `select id from wallets where $1::uuid is null or id >= $1 order by id offset $2 limit 1`,
    [from, walletsAtMost],
  )
  const until = maybe(boundary.rows)?.id ?? null
  const { rows } = await db.query<ChangedWallet>(changedSql, [from, until])
  return { from, until, changed: rows }
}

/** The same while servers of a cluster are away: their wallets are left out, which makes the page partial. */
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

/** A wallet with a fault is checked from its first entry until it is right. */
export async function deleteCheckpoints(tx: Transaction, walletIds: readonly string[]): Promise<void> {
  if (walletIds.length === 0) return
  await tx.query('delete from verified_wallets where wallet_id = any($1::uuid[])', [plainArray(walletIds, String)])
}
