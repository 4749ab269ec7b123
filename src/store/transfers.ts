/** A wallet's ledger for reading at any length: pages, filters, and the entries of a span of time. */
import type { Queryable } from './database.ts'
import { toTransfer, transferColumns, type RawTransfer, type Transfer } from './wallets.ts'

export type LedgerFilter = {
  readonly direction?: 'debit' | 'credit' | undefined
  readonly counterAccount?: string | undefined
  readonly referenceType?: string | undefined
  readonly referenceId?: string | undefined
}

/**
 * Entries between two sequences, newest first. The span bounds the work: a filter that fits one entry in a million must
 * not read the million for one page.
 */
export async function listTransfers(
  db: Queryable,
  walletId: string,
  { from, below, limit }: { from: number; below: number; limit: number },
  filter: LedgerFilter = {},
): Promise<Transfer[]> {
  const { rows } = await db.query<RawTransfer>(
    `select ${transferColumns} from transfers t
     where t.wallet_id = $1 and t.sequence >= $2 and t.sequence < $3
       and ($5::text is null or (t.amount < 0) = ($5 = 'debit'))
       and ($6::text is null or t.counter_account = $6)
       and ($7::text is null or t.reference_type = $7)
       and ($8::text is null or t.reference_id = $8)
     order by t.sequence desc limit $4`,
    [
      walletId,
      from,
      below,
      limit,
      filter.direction ?? null,
      filter.counterAccount ?? null,
      filter.referenceType ?? null,
      filter.referenceId ?? null,
    ],
  )
  return rows.map(toTransfer)
}

/** Oldest first, both ends included. */
export async function listTransfersUpwards(
  db: Queryable,
  walletId: string,
  { from, to, limit }: { from: number; to: number; limit: number },
): Promise<Transfer[]> {
  const { rows } = await db.query<RawTransfer>(
    `select ${transferColumns} from transfers t where t.wallet_id = $1 and t.sequence >= $2 and t.sequence <= $3
     order by t.sequence limit $4`,
    [walletId, from, to, limit],
  )
  return rows.map(toTransfer)
}

/** A wallet's entries never go back in time, so halving its sequences finds a moment in twenty looks, without an index. */
const firstAtSql = `
with recursive half as (
  select 1::bigint as low, (select sequence from wallets where id = $1) + 1 as high
  union all
  select case when t.created_at < $2 then m.middle + 1 else h.low end, case when t.created_at < $2 then h.high else m.middle end
  from half h cross join lateral (select (h.low + h.high) / 2 as middle) m
    join transfers t on t.wallet_id = $1 and t.sequence = m.middle
  where h.low < h.high
)
select low from half where low = high`

/** The first sequence at or after the moment: one more than the last one when there is none. */
export async function findFirstSequenceAt(db: Queryable, walletId: string, at: Date): Promise<number> {
  const { rows } = await db.query<{ low: bigint }>(firstAtSql, [walletId, at])
  return Number(rows[0]?.low ?? 1n)
}

/** The balance just after the entry; zero before the first one. */
export async function getBalanceAfter(db: Queryable, walletId: string, sequence: number): Promise<bigint> {
  if (sequence === 0) return 0n
  const { rows } = await db.query<{ balance_after: bigint }>(
    'select balance_after from transfers where wallet_id = $1 and sequence = $2',
    [walletId, sequence],
  )
  if (!rows[0]) throw new Error('the wallet has no such entry')
  return rows[0].balance_after
}
