/** The figures of the overview about money: by day and account, and what needs an operator. Every count is bounded. */
import type { Queryable } from '../connection/database.ts'
import type { DayFlow } from './books.ts'
import { one } from '../connection/rows.ts'

/**
 * One index step per account, then the days of that account only: positions are kept forever, and reading all of them for one
 * day would become slower every day.
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
  select day, sum(debited) as "debitedMinor", sum(credited) as "creditedMinor", sum(transfers)::float8 as transfers
  from positions p
  where p.counter_account = a.counter_account and p.day >= $1::date and p.day < $2::date group by day) f
where a.counter_account is not null order by f.day, account`

/** Days, as `2025-03-01`, from `from` up to but excluding `until`; days without movements have no row. */
export async function listFlows(db: Queryable, from: string, until: string): Promise<DayFlow[]> {
  const { rows } = await db.query<DayFlow>(flowsSql, [from, until])
  return rows
}

/** No count goes further: the page then shows “more than”. */
export const maxCounted = 20_000

export type TopupCounts = {
  readonly begun: number
  readonly succeeded: number
  readonly declined: number
  readonly creditedMinor: bigint
}

/** Of the newest top-ups since that time. */
export async function countTopups(db: Queryable, since: Date): Promise<TopupCounts> {
  const { rows } = await db.query<TopupCounts>(
    `select count(*)::int as begun, count(*) filter (where state = 'succeeded')::int as succeeded,
       count(*) filter (where decline_code is not null)::int as declined, coalesce(sum(credited), 0)::bigint as "creditedMinor"
     from (select state, decline_code, credited from topups where created_at >= $1
       order by created_at desc limit ${maxCounted + 1}) newest`,
    [since],
  )
  return one(rows)
}

export type OpenIssues = {
  /** Paid, but the amount differs from the order, or the balance limit leaves no room for it. */
  readonly problemTopups: number
  readonly openDisputes: number
  readonly disputedMinor: bigint
  readonly frozenByOperator: number
  readonly inDebt: number
  /** Negative. */
  readonly debtMinor: bigint
  /** Not claimed for ten minutes. */
  readonly lateMails: number
}

const waitingSql = `
select (select count(*)::int from (select 1 from topups where problem is not null limit ${maxCounted + 1}) p) as "problemTopups",
  d.*, w.*,
  (select count(*)::int from (select 1 from work where kind = 'send-mail' and given_up_at is null
    and created_at < now() - interval '10 minutes' limit ${maxCounted + 1}) m) as "lateMails"
from (
  select count(*)::int as "openDisputes", coalesce(sum(disputed), 0)::bigint as "disputedMinor"
  from (select disputed from topups where dispute = 'open' limit ${maxCounted + 1}) o) d,
(
  select count(*) filter (where frozen_for = 'operator')::int as "frozenByOperator",
    count(*) filter (where available < 0)::int as "inDebt",
    coalesce(sum(available) filter (where available < 0), 0)::bigint as "debtMinor"
  from (select frozen_for, balance - held as available from wallets where frozen_for is not null limit ${maxCounted + 1}) f) w`

export async function countOpenIssues(db: Queryable): Promise<OpenIssues> {
  const { rows } = await db.query<OpenIssues>(waitingSql)
  return one(rows)
}
