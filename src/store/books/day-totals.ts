/** What the card processor and the ledger booked on each day. */
import type { Queryable } from '../connection/database.ts'
import { choicesOf, type Listing } from '../connection/listing.ts'
import { dayColumns, movementKeySql, movementKindSql, withOutcomes, type ReconciliationDay } from './reconciliation.ts'

/** One look-up for each day: for `exists` the planner may read the whole table into a hash. */
const differsSql = `((select 1 from reconciliation_differences r
  where r.day = d.day and r.resolved_at is null and r.settled_at is null limit 1) is not null)`

export const dayListing: Listing = {
  table: 'reconciliation_days',
  alias: 'd',
  columns: dayColumns,
  key: [],
  time: { sql: 'd.day', type: 'date' },
  people: [],
  choices: {
    state: {
      agrees: `d.finished_at is not null and not ${differsSql}`,
      differs: differsSql,
      'not read': `d.finished_at is null and d.problem is not null and not ${differsSql}`,
      waiting: `d.finished_at is null and d.problem is null and not ${differsSql}`,
    },
    source: choicesOf('d.source', ['processor', 'file']),
  },
  equals: {},
  ids: [{ sql: 'd.day', type: 'date' }],
}

export type DayTotals = ReconciliationDay & {
  readonly charges: bigint
  readonly refunds: bigint
  readonly disputes: bigint
  readonly fees: bigint
  readonly payouts: bigint
  readonly ledgerCharges: bigint
  readonly ledgerRefunds: bigint
  readonly ledgerDisputes: bigint
  readonly openDifferences: number
}

const sumOf = (kind: string) => `coalesce(sum(amount) filter (where kind = '${kind}'), 0)::bigint`

/** What each side booked on the day by its own clock. */
const totalsSql = (days: string) =>
  withOutcomes(
    (outcomes) => `with d as materialized (
       select ${dayColumns}, day::timestamp at time zone 'UTC' as starts_at from reconciliation_days ${days}
     ), movement as materialized (
       select d.day as of_day, ${movementKindSql} as kind, ${movementKeySql} as reference_key from d cross join lateral (
         select * from topup_movements where posted_at >= d.starts_at and posted_at < d.starts_at + interval '1 day' offset 0
       ) m
     ), ${outcomes}, entered as materialized (
       select m.of_day, m.kind, o.amount from movement m join outcome o on o.reference_key = m.reference_key
     )
     select d.*, l.*, e.*,
       (select count(*)::int from reconciliation_differences r where r.day = d.day and r.resolved_at is null and r.settled_at is null)
         as "openDifferences"
     from d cross join lateral (
       select ${sumOf('charge')} as charges, ${sumOf('refund')} as refunds, ${sumOf('dispute')} as disputes,
         (coalesce(sum(fee), 0) - coalesce(sum(amount) filter (where kind = 'fee'), 0))::bigint as fees,
         ${sumOf('payout')} as payouts
       from processor_lines where created_at >= d.starts_at and created_at < d.starts_at + interval '1 day'
         and (is_ours or kind in ('fee', 'payout'))
     ) l
     cross join lateral (
       select ${sumOf('charge')} as "ledgerCharges", ${sumOf('refund')} as "ledgerRefunds", ${sumOf('dispute')} as "ledgerDisputes"
       from entered m where m.of_day = d.day
     ) e
     order by d.day desc`,
  )

/** The newest day first. */
export async function listDayTotals(db: Queryable, limit: number): Promise<DayTotals[]> {
  return (await db.query<DayTotals>({ ...totalsSql('order by day desc limit $1'), values: [limit] })).rows
}

export async function listTotalsOf(db: Queryable, days: readonly string[]): Promise<DayTotals[]> {
  return (await db.query<DayTotals>({ ...totalsSql('where day = any($1::date[])'), values: [days] })).rows
}
