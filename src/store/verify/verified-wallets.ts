/** How far each wallet's ledger was found right, and which wallets have changed since. */
import { plainArray } from '../connection/arrays.ts'
import type { Queryable, Transaction } from '../connection/database.ts'
import { inRange, type WalletRange } from './slice.ts'

export type Checkpoint = { readonly walletId: string; readonly sequence: bigint; readonly balanceMinor: bigint }

/** A wallet that is not as it was when it was last found right, with the point from that time; zeros without one. */
export type ChangedWallet = Checkpoint & { readonly fromSequence: bigint; readonly fromBalanceMinor: bigint }

export type Changes = WalletRange & { readonly changed: readonly ChangedWallet[] }

/**
 * Of so many wallets from here on, those that changed: both tables are walked side by side by their keys, which costs some
 * microseconds a wallet, and spares every debit an index or a note of its own.
 */
export async function nextChanges(db: Queryable, from: string | null, walletsAtMost: number): Promise<Changes> {
  const boundary = await db.query<{ id: string }>(
    `select id from wallets where $1::uuid is null or id >= $1 order by id offset $2 limit 1`,
    [from, walletsAtMost],
  )
  const until = boundary.rows[0]?.id ?? null
  const { rows } = await db.query<Row>(changedSql, [from, until])
  return { from, until, changed: rows.map(toChanged) }
}

type Row = { id: string; sequence: bigint; balance: bigint; from_sequence: bigint; from_balance: bigint }

const changedSql = `
select w.id, w.sequence, w.balance, coalesce(v.sequence, 0) as from_sequence, coalesce(v.balance, 0) as from_balance
from (select id, sequence, balance from wallets where ${inRange('id')}) w
left join (select * from verified_wallets where ${inRange('wallet_id')}) v on v.wallet_id = w.id
where v.sequence is distinct from w.sequence or v.balance is distinct from w.balance
order by w.id`

function toChanged(row: Row): ChangedWallet {
  return {
    walletId: row.id,
    sequence: row.sequence,
    balanceMinor: row.balance,
    fromSequence: row.from_sequence,
    fromBalanceMinor: row.from_balance,
  }
}

/** The last entry up to this one, as a point; undefined when there is none. */
export async function findCheckpointAt(
  db: Queryable,
  walletId: string,
  sequence: bigint,
): Promise<Checkpoint | undefined> {
  const { rows } = await db.query<{ sequence: bigint; balance_after: bigint }>(
    `select sequence, balance_after from transfers where wallet_id = $1 and sequence <= $2 order by sequence desc limit 1`,
    [walletId, sequence],
  )
  return rows[0] && { walletId, sequence: rows[0].sequence, balanceMinor: rows[0].balance_after }
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

/** What is known to be wrong is looked at from the beginning, until it is right. */
export async function deleteCheckpoints(tx: Transaction, walletIds: readonly string[]): Promise<void> {
  if (walletIds.length === 0) return
  await tx.query('delete from verified_wallets where wallet_id = any($1::uuid[])', [plainArray(walletIds, String)])
}
