/** What became of a reference, and what later uses of it asked for. */
import type { Queryable } from './database.ts'
import { referenceKeyOfUuid, type RecordedRefusal } from './outcomes.ts'

export type FirstUse = {
  readonly referenceKey: string
  readonly walletId: string
  readonly amountMinor: bigint
  readonly balanceMinor: bigint
  readonly at: Date
  readonly refusal: RecordedRefusal | null
  /** The entry it made; null when it was refused. */
  readonly sequence: number | null
  readonly description: string | null
}

export type LaterUse = {
  readonly walletId: string
  readonly amountMinor: bigint
  readonly times: number
  readonly firstAt: Date
  readonly lastAt: Date
}

type Row = {
  reference_key: string
  wallet_id: string
  amount: bigint
  balance: bigint
  created_at: Date
  refusal: RecordedRefusal | null
  sequence: bigint | null
  description: string | null
}

export async function listFirstUses(db: Queryable, referenceKeys: readonly string[]): Promise<FirstUse[]> {
  const { rows } = await db.query<Row>(
    `select o.reference_key, o.wallet_id, o.amount, o.balance, o.created_at, o.refusal, o.sequence, t.description
     from outcomes o left join transfers t on t.wallet_id = o.wallet_id and t.sequence = o.sequence
     where o.reference_key = any($1::uuid[]) order by o.created_at`,
    [referenceKeys],
  )
  return rows.map((row) => ({
    referenceKey: referenceKeyOfUuid(row.reference_key),
    walletId: row.wallet_id,
    amountMinor: row.amount,
    balanceMinor: row.balance,
    at: row.created_at,
    refusal: row.refusal,
    sequence: row.sequence === null ? null : Number(row.sequence),
    description: row.description,
  }))
}

type RepeatRow = { wallet_id: string; amount: bigint; times: bigint; first_at: Date; last_at: Date }

/** One for each different thing that was asked, newest first. */
export async function listLaterUses(db: Queryable, referenceKey: string): Promise<LaterUse[]> {
  const { rows } = await db.query<RepeatRow>(
    `select wallet_id, amount, times, first_at, last_at from repeats where reference_key = $1
     order by last_at desc, wallet_id, amount limit 100`,
    [referenceKey],
  )
  return rows.map((row) => ({
    walletId: row.wallet_id,
    amountMinor: row.amount,
    times: Number(row.times),
    firstAt: row.first_at,
    lastAt: row.last_at,
  }))
}
