/** What the overview shows of the money: by day and account, and what waits for a person. Every count ends somewhere. */
import type { Queryable } from '../connection/database.ts'
import type { DayFlow } from './books.ts'

type FlowRow = { account: string; day: string; debited: bigint; credited: bigint; transfers: bigint }

/**
 * One step of the index for each account, and then the days of that account alone: positions are kept for ever, and reading all of
 * them for one day would cost more every day.
 */
const flowsSql = `
with recursive accounts as (
  (select counter_account from positions order by counter_account limit 1)
  union all
  select (select p.counter_account from positions p where p.counter_account > a.counter_account
    order by p.counter_account limit 1)
  from accounts a where a.counter_account is not null
)
select a.counter_account as account, f.* from accounts a cross join lateral (
  select day, sum(debited) as debited, sum(credited) as credited, sum(transfers) as transfers from positions p
  where p.counter_account = a.counter_account and p.day >= $1::date and p.day < $2::date group by day) f
where a.counter_account is not null order by f.day, account`

/** Days, as `2025-03-01`, from the first on and before the second; an account has those on which it moved something. */
export async function listFlows(db: Queryable, from: string, until: string): Promise<DayFlow[]> {
  const { rows } = await db.query<FlowRow>(flowsSql, [from, until])
  return rows.map(({ account, day, debited, credited, transfers }) => ({
    account,
    day,
    debitedMinor: debited,
    creditedMinor: credited,
    transfers: Number(transfers),
  }))
}

/** No count goes further: a page that says “more than” is as good. */
export const maxCounted = 20_000

export type TopupCounts = {
  readonly begun: number
  readonly succeeded: number
  readonly declined: number
  readonly creditedMinor: bigint
}

/** Of the newest top-ups since the moment. */
export async function countTopups(db: Queryable, since: Date): Promise<TopupCounts> {
  const { rows } = await db.query<{ begun: bigint; succeeded: bigint; declined: bigint; credited: bigint }>(
    `select count(*) as begun, count(*) filter (where state = 'succeeded') as succeeded,
       count(*) filter (where decline_code is not null) as declined, coalesce(sum(credited), 0)::bigint as credited
     from (select state, decline_code, credited from topups where created_at >= $1
       order by created_at desc limit ${maxCounted + 1}) newest`,
    [since],
  )
  const { begun, succeeded, declined, credited } = rows[0]!
  return {
    begun: Number(begun),
    succeeded: Number(succeeded),
    declined: Number(declined),
    creditedMinor: credited,
  }
}

export type OpenIssues = {
  /** Paid, and not what was ordered, or no room for it. */
  readonly problemTopups: number
  readonly openDisputes: number
  readonly disputedMinor: bigint
  readonly frozenByOperator: number
  readonly inDebt: number
  /** Below zero. */
  readonly debtMinor: bigint
  /** Nobody has taken them for ten minutes. */
  readonly lateMails: number
}

const waitingSql = `
select (select count(*) from (select 1 from topups where problem is not null limit ${maxCounted + 1}) p) as problems,
  d.*, w.*,
  (select count(*) from (select 1 from mails where due_at is not null and created_at < now() - interval '10 minutes'
    limit ${maxCounted + 1}) m) as mails
from (
  select count(*) as disputes, coalesce(sum(disputed), 0)::bigint as disputed
  from (select disputed from topups where dispute = 'open' limit ${maxCounted + 1}) o) d,
(
  select count(*) filter (where frozen_for = 'operator') as frozen, count(*) filter (where balance < 0) as debts,
    coalesce(sum(balance) filter (where balance < 0), 0)::bigint as debt
  from (select frozen_for, balance from wallets where frozen_for is not null limit ${maxCounted + 1}) f) w`

export async function countOpenIssues(db: Queryable): Promise<OpenIssues> {
  const { rows } = await db.query<Record<string, bigint>>(waitingSql)
  const row = rows[0]!
  return {
    problemTopups: Number(row['problems']),
    openDisputes: Number(row['disputes']),
    disputedMinor: row['disputed']!,
    frozenByOperator: Number(row['frozen']),
    inDebt: Number(row['debts']),
    debtMinor: row['debt']!,
    lateMails: Number(row['mails']),
  }
}
