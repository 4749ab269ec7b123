/** Compares the card processor's bookings with the ledger's entries of the same payments, day by day. */
import { archivedOutcomesSql } from '../closing/archived-entries.ts'
import { serviceNamespace } from '../../ledger/reference.ts'
import { plainArray, textArray } from '../connection/arrays.ts'
import type { Queryable, Transaction } from '../connection/database.ts'
import { locks } from '../locks.ts'
import { referenceKeySql } from '../outcomes.ts'
import { addWork } from '../work/work.ts'
import { maybe, one } from '../connection/rows.ts'
import { choicesOf, type Listing } from '../connection/listing.ts'
import { isOpenContradictionSql, type ProcessorName, type Resolution } from './processor-lines.ts'

export type ReconciliationDay = {
  /** In UTC, for example `2026-03-01`. */
  readonly day: string
  readonly source: 'processor' | 'file'
  readonly cursor: string | null
  readonly problem: string | null
  readonly finishedAt: Date | null
}

export const dayColumns = `day, source, cursor, problem, finished_at as "finishedAt"`

/** A day is read two hours after its end: by then the processor has booked all of it, and its webhooks have arrived. */
const lastDaySql = `(clock_timestamp() at time zone 'UTC' - interval '26 hours')::date`

export type ReadableDays = {
  /** The first top-up or the start of the deployment, if that is earlier; never before the retention of lines. */
  readonly first: string
  readonly today: string
  /** The last day that is over, including the two hours above. */
  readonly lastOver: string
}

/** In UTC, by the database's clock. No other day can hold a booking of this service. */
export async function getReadableDays(db: Queryable, linesDays: number): Promise<ReadableDays> {
  const { rows } = await db.query<ReadableDays>(
    `select greatest((clock_timestamp() at time zone 'UTC')::date - $1::integer, (least((select min(created_at) from topups),
         (select min(applied_at) from billfold_migrations)) at time zone 'UTC')::date) as first,
       (clock_timestamp() at time zone 'UTC')::date as today, ${lastDaySql} as "lastOver"`,
    [linesDays],
  )
  return one(rows)
}

/** A foreign date must not make a run insert a million days. */
const daysPerRun = 100

/**
 * Inserts missing days since the first one within the retention, at first the last seven; the newest first, a bounded number in
 * a run. Adds each new day to the queue.
 */
export async function insertDueDays(db: Queryable, linesDays: number): Promise<void> {
  await db.query(
    `with inserted as (
       insert into reconciliation_days (day, next_try_at) select d::date, 'infinity'
       from generate_series(coalesce((select min(day) from reconciliation_days where day >= ${lastDaySql} - $1::integer), ${lastDaySql} - 6),
         ${lastDaySql}, interval '1 day') d
       where not exists (select from reconciliation_days r where r.day = d::date)
       order by d desc limit ${daysPerRun}
       on conflict do nothing returning day
     )
     insert into work (kind, key, due_at) select 'reconcile-day', to_char(day, 'YYYY-MM-DD'), now() from inserted on conflict do nothing`,
    [linesDays],
  )
}

export async function findDay(db: Queryable, day: string): Promise<ReconciliationDay | undefined> {
  const text = `select ${dayColumns} from reconciliation_days where day = $1`
  const { rows } = await db.query<ReconciliationDay>(text, [day])
  return maybe(rows)
}

/** Makes the queue read the day again from its start. */
export async function resetDay(tx: Transaction, day: string): Promise<void> {
  await tx.query(
    `insert into reconciliation_days (day, next_try_at) values ($1, 'infinity')
     on conflict (day) do update set source = 'processor', cursor = null, problem = null, finished_at = null`,
    [day],
  )
  await addWork(tx, { kind: 'reconcile-day', key: day })
}

/** The next attempt continues at the cursor. */
export async function updateDayCursor(db: Queryable, day: string, cursor: string | null): Promise<void> {
  await db.query(`update reconciliation_days set cursor = $2 where day = $1`, [day, cursor])
}

/** The problem says why the day cannot be read; null clears it. */
export async function updateDayProblem(db: Queryable, day: string, problem: string | null): Promise<void> {
  await db.query(`update reconciliation_days set problem = $2 where day = $1`, [day, problem])
}

export async function finishDay(tx: Transaction, day: string): Promise<void> {
  await tx.query(
    `insert into reconciliation_days (day, source, finished_at, next_try_at) values ($1, 'processor', clock_timestamp(), 'infinity')
     on conflict (day) do update set source = 'processor', cursor = null, problem = null, finished_at = clock_timestamp()`,
    [day],
  )
}

/** A day that the processor's API has finished stays so. Any other day is still read from the API, when there is one. */
export async function finishDayByFile(tx: Transaction, day: string): Promise<void> {
  const { rowCount } = await tx.query(
    `insert into reconciliation_days as d (day, source, finished_at, next_try_at) values ($1, 'file', clock_timestamp(), 'infinity')
     on conflict (day) do update set source = 'file', problem = null, finished_at = clock_timestamp()
       where d.finished_at is null or d.source = 'file'`,
    [day],
  )
  if (rowCount === 1) await addWork(tx, { kind: 'reconcile-day', key: day })
}

export async function listUnfinishedDays(db: Queryable): Promise<ReconciliationDay[]> {
  const text = `select ${dayColumns} from reconciliation_days where finished_at is null order by day limit 1000`
  return (await db.query<ReconciliationDay>(text)).rows
}

export const movementKeySql = `encode(${referenceKeySql('m', `'${serviceNamespace}'`)}, 'hex')::uuid`

export const movementKindSql = `case when m.reference_type = 'TOPUP' then 'charge'
  when m.reference_type like 'TOPUP\\_REFUND%' then 'refund' else 'dispute' end`

/** `any(array(…))` makes the planner look outcomes up by key for any number of movements, also on a cluster. */
const outcomesOfMovements = `outcome as materialized (
  select o.reference_key, o.amount from all_outcomes o
  where o.reference_key = any(array(select reference_key from movement)) and o.refusal is null
  union all select o.reference_key, o.amount from ${archivedOutcomesSql('array(select reference_key from movement)')} o where o.refusal is null
)`

/** A statement with the outcomes of its movements. */
export function withOutcomes(sqlOf: (outcomes: string) => string) {
  return { text: sqlOf(outcomesOfMovements) }
}

/**
 * Compares the payments that either side booked on the day, and those that differed before. It sums all bookings of such a
 * payment, so that neither side's midnight matters. The ledger's side is the outcomes of the references, not what we planned to
 * post. Entries newer than the lines read so far may count or not: a refund of this morning has its line tomorrow. Top-ups created
 * before the first day read, or before the retention of lines, are left out unless they differed before, because their charges have
 * no line here. Of payments without a top-up, only charges marked `is_ours` count.
 */
const differencesSql = withOutcomes(
  (outcomes) => `
with touched as (
  select payment_intent_id as id from processor_lines
  where created_at >= $1 and created_at < $2 and payment_intent_id is not null
  union
  select t.payment_intent_id from topup_movements m join topups t on t.id = m.topup_id
  where m.posted_at >= $1 and m.posted_at < $2
  union
  select payment_intent_id from reconciliation_differences where resolved_at is null
), compared as (
  select k.id, t.id as topup_id from touched k left join topups t on t.payment_intent_id = k.id
  where t.id is null or (t.processor = $3
    and t.created_at >= (select min(day) from reconciliation_days where finished_at is not null)::timestamp at time zone 'UTC'
    and t.created_at > now() - $4 * interval '1 day')
    or exists (select from reconciliation_differences d where d.payment_intent_id = k.id and d.resolved_at is null)
), read_until as (
  select (max(day) + 1)::timestamp at time zone 'UTC' + interval '1 hour' as at from reconciliation_days where finished_at is not null
), said as (
  select c.id, l.kind, sum(l.amount)::bigint as amount, min(l.created_at) as at
  from compared c cross join lateral (select * from processor_lines l where l.payment_intent_id = c.id offset 0) l
  where l.kind in ('charge', 'refund', 'dispute') and (c.topup_id is not null or (l.is_ours and l.kind = 'charge'))
  group by 1, 2
), movement as materialized (
  select c.id, ${movementKindSql} as kind, m.posted_at, ${movementKeySql} as reference_key
  from compared c cross join lateral (select * from topup_movements m where m.topup_id = c.topup_id offset 0) m
), ${outcomes}, entered as (
  select m.id, m.kind, sum(o.amount)::bigint as amount,
    coalesce(sum(o.amount) filter (where m.posted_at < r.at), 0)::bigint as read_amount, min(m.posted_at) as at
  from movement m join outcome o on o.reference_key = m.reference_key cross join read_until r
  group by 1, 2
)
select id as "paymentIntentId", kind, coalesce(s.amount, 0) as "processorMinor", coalesce(e.amount, 0) as "ledgerMinor",
  (coalesce(s.at, e.at) at time zone 'UTC')::date as day
from said s full join entered e using (id, kind)
where coalesce(s.amount, 0) <> coalesce(e.amount, 0) and coalesce(s.amount, 0) <> coalesce(e.read_amount, 0)
order by day, id, kind`,
)

export const differenceKinds = ['charge', 'refund', 'dispute'] as const

export type Difference = {
  readonly paymentIntentId: string
  readonly kind: (typeof differenceKinds)[number]
  readonly processorMinor: bigint
  readonly ledgerMinor: bigint
  readonly day: string
}

export type Reading = { readonly processor: ProcessorName; readonly linesDays: number }

/**
 * Lines and differences change only under this lock. Two concurrent comparisons would each resolve the differences that the other
 * has just found, and a file could add a line while the processor's last page is stored.
 */
export async function lockReconciliation(tx: Transaction): Promise<void> {
  await tx.query('select pg_advisory_xact_lock($1)', [locks.reconciliation])
}

/** Compares the day, records what differs and what no longer does. The caller holds the lock. Returns the differences that no operator has resolved. */
export async function compareDay(
  tx: Transaction,
  day: string,
  { processor, linesDays }: Reading,
): Promise<Difference[]> {
  const until = new Date(Date.parse(`${day}T00:00:00Z`) + 86_400_000)
  const { rows } = await tx.query<Difference>({
    ...differencesSql,
    values: [`${day}T00:00:00Z`, until, processor, linesDays],
  })
  const values = [textArray(rows, ({ paymentIntentId }) => paymentIntentId), plainArray(rows, ({ kind }) => kind)]
  await tx.query(
    `update reconciliation_differences d set resolved_at = clock_timestamp() where resolved_at is null
     and not exists (select from unnest($1::text[], $2::text[]) f(id, kind) where f.id = d.payment_intent_id and f.kind = d.kind)`,
    values,
  )
  await tx.query(
    `insert into reconciliation_differences as d (payment_intent_id, kind, day, processor_amount, ledger_amount, found_at)
     select id, kind, day, said, entered, clock_timestamp()
     from unnest($1::text[], $2::text[], $3::date[], $4::bigint[], $5::bigint[]) f(id, kind, day, said, entered)
     on conflict (payment_intent_id, kind) do update set day = excluded.day, processor_amount = excluded.processor_amount,
       ledger_amount = excluded.ledger_amount, resolved_at = null,
       found_at = case when d.resolved_at is null then d.found_at else excluded.found_at end,
       (settled_at, settled_by, settled_reason) = (select d.settled_at, d.settled_by, d.settled_reason where d.resolved_at is null
         and (d.processor_amount, d.ledger_amount) = (excluded.processor_amount, excluded.ledger_amount))`,
    [
      ...values,
      plainArray(rows, (row) => row.day),
      plainArray(rows, ({ processorMinor }) => processorMinor),
      plainArray(rows, ({ ledgerMinor }) => ledgerMinor),
    ],
  )
  const settled = await tx.query<{ id: string; kind: string }>(
    `select payment_intent_id as id, kind from reconciliation_differences where resolved_at is null and settled_at is not null`,
  )
  const isSettled = (row: Difference) =>
    settled.rows.some(({ id, kind }) => id === row.paymentIntentId && kind === row.kind)
  return rows.filter((row) => !isSettled(row))
}

export type OpenDifference = Difference & { readonly topupId: string | null; readonly foundAt: Date }

export const isOpenDifferenceSql = 'd.resolved_at is null and d.settled_at is null'

const differenceFields = `d.payment_intent_id as "paymentIntentId", d.kind, d.day, d.processor_amount as "processorMinor",
  d.ledger_amount as "ledgerMinor", d.found_at as "foundAt",
  d.settled_at as "resolvedAt", d.settled_by as "resolvedBy", d.settled_reason as "resolvedReason"`

const differenceSql = `select ${differenceFields}, t.id as "topupId"
  from reconciliation_differences d left join topups t on t.payment_intent_id = d.payment_intent_id`

export const differenceListing: Listing = {
  table: 'reconciliation_differences',
  alias: 'd',
  columns: `${differenceFields}, d.resolved_at as "agreedAt",
    (select t.id from topups t where t.payment_intent_id = d.payment_intent_id) as "topupId"`,
  key: [
    { sql: 'd.payment_intent_id', type: 'text' },
    { sql: 'd.kind', type: 'text' },
  ],
  time: { sql: 'd.day', type: 'date' },
  amount: { sql: 'abs(d.processor_amount - d.ledger_amount)', type: 'bigint' },
  people: ['d.settled_by'],
  choices: {
    kind: choicesOf('d.kind', differenceKinds),
    state: {
      open: isOpenDifferenceSql,
      'resolved by hand': 'd.resolved_at is null and d.settled_at is not null',
      'agrees again': 'd.resolved_at is not null',
    },
  },
  equals: {},
  ids: [{ sql: 'd.payment_intent_id', type: 'text' }],
}

/** `agreedAt`: the two sides agree again since then. */
export type ListedDifference = OpenDifference & Resolution & { readonly agreedAt: Date | null }

/** The oldest first. */
export async function listOpenDifferences(db: Queryable, limit: number): Promise<OpenDifference[]> {
  const { rows } = await db.query<OpenDifference>(
    `${differenceSql} where ${isOpenDifferenceSql} order by d.day, d.payment_intent_id, d.kind limit $1`,
    [limit],
  )
  return rows
}

export async function findOpenDifference(
  db: Queryable,
  paymentIntentId: string,
  kind: string,
): Promise<OpenDifference | undefined> {
  const { rows } = await db.query<OpenDifference>(
    `${differenceSql} where d.payment_intent_id = $1 and d.kind = $2 and ${isOpenDifferenceSql}`,
    [paymentIntentId, kind],
  )
  return maybe(rows)
}

export type ResolvedDifference = OpenDifference & {
  readonly resolvedAt: Date
  readonly resolvedBy: string
  readonly resolvedReason: string
}

export async function findResolvedDifference(
  db: Queryable,
  paymentIntentId: string,
  kind: string,
): Promise<ResolvedDifference | undefined> {
  const { rows } = await db.query<ResolvedDifference>(
    `${differenceSql} where d.payment_intent_id = $1 and d.kind = $2 and d.resolved_at is null and d.settled_at is not null`,
    [paymentIntentId, kind],
  )
  return maybe(rows)
}

/** Payments that still differ and that an operator resolved (columns settled_*; resolved_at: the sides agree again). Newest first. */
export async function listResolvedDifferences(db: Queryable, limit: number): Promise<ResolvedDifference[]> {
  const { rows } = await db.query<ResolvedDifference>(
    `${differenceSql} where d.resolved_at is null and d.settled_at is not null order by d.settled_at desc limit $1`,
    [limit],
  )
  return rows
}

/** False when the difference is no longer open, or has changed. */
export async function updateDifferenceResolved(
  tx: Transaction,
  { paymentIntentId, kind, processorMinor, ledgerMinor }: Difference,
  { by, reason }: { by: string; reason: string },
): Promise<boolean> {
  const { rowCount } = await tx.query(
    `update reconciliation_differences d set settled_at = now(), settled_by = $5, settled_reason = $6
     where d.payment_intent_id = $1 and d.kind = $2 and d.processor_amount = $3 and d.ledger_amount = $4 and ${isOpenDifferenceSql}`,
    [paymentIntentId, kind, processorMinor, ledgerMinor, by, reason],
  )
  return rowCount === 1
}

export type ReconciliationState = {
  readonly openDifferences: number
  readonly unfinishedDays: number
  readonly lastFinishedAt: Date | null
  readonly lastDay: string | null
  /** The problem of the oldest day that could not be read. */
  readonly problem: string | null
  readonly now: Date
}

export async function getReconciliationState(db: Queryable): Promise<ReconciliationState> {
  const { rows } = await db.query<ReconciliationState>(
    `select ((select count(*) from reconciliation_differences d where ${isOpenDifferenceSql})
         + (select count(*) from report_contradictions where ${isOpenContradictionSql}))::int as "openDifferences",
       count(*) filter (where finished_at is null)::int as "unfinishedDays", max(finished_at) as "lastFinishedAt",
       max(day) filter (where finished_at is not null) as "lastDay",
       (array_agg(problem order by day) filter (where problem is not null and finished_at is null))[1] as problem, clock_timestamp() as now
     from reconciliation_days`,
  )
  return one(rows)
}
