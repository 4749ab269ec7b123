/** What each counter account moved before a day, by the entries and by the positions. Past days do not change. */
import type { Queryable } from '../connection/database.ts'
import { inRange, type WalletRange } from './slice.ts'

export type AccountSum = { readonly debited: bigint; readonly credited: bigint; readonly transfers: bigint }
export type AccountSums = ReadonlyMap<string, AccountSum>

type Row = AccountSum & { account: string }

/** By the entries of a range of wallets. The day is in UTC, as `2025-03-01`. */
export async function sumEntries(db: Queryable, { from, until }: WalletRange, day: string): Promise<AccountSums> {
  const { rows } = await db.query<Row>(
    `select counter_account as account, sum(greatest(-amount, 0)) as debited, sum(greatest(amount, 0)) as credited,
       count(*) as transfers
     from all_transfers where not is_archived and ${inRange('wallet_id')} and created_at < $3::date::timestamp at time zone 'UTC' group by 1`,
    [from, until, day],
  )
  return toSums(rows)
}

/** By the entries that are in files, and by the last archived ones. */
export async function sumArchived(db: Queryable, day: string): Promise<AccountSums> {
  const { rows } = await db.query<Row>(
    `select account, sum(debited) as debited, sum(credited) as credited, sum(transfers) as transfers from (${archivedSumsSql}) s
     where day < $1::date group by 1`,
    [day],
  )
  return toSums(rows)
}

/** What archived entries moved, by account and day. */
export const archivedSumsSql = `
  select counter_account as account, day, debited, credited, transfers from archived_sums
  union all select counter_account, (created_at at time zone 'UTC')::date, sum(greatest(-amount, 0)), sum(greatest(amount, 0)), count(*)
  from all_transfers where is_archived group by 1, 2`

export async function sumPositions(db: Queryable, day: string): Promise<AccountSums> {
  const { rows } = await db.query<Row>(
    `select counter_account as account, sum(debited) as debited, sum(credited) as credited, sum(transfers) as transfers
     from positions where day < $1::date group by 1`,
    [day],
  )
  return toSums(rows)
}

export const noSum: AccountSum = { debited: 0n, credited: 0n, transfers: 0n }

export function addSums(one: AccountSums, other: AccountSums): AccountSums {
  const sums = new Map(one)
  for (const [account, { debited, credited, transfers }] of other) {
    const so = sums.get(account) ?? noSum
    sums.set(account, {
      debited: so.debited + debited,
      credited: so.credited + credited,
      transfers: so.transfers + transfers,
    })
  }
  return sums
}

function toSums(rows: readonly Row[]): AccountSums {
  return new Map(rows.map(({ account, ...sum }) => [account, sum]))
}
