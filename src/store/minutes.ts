/**
 * Activity by minute: one row per minute and process, summed when read. After two hours the rows of each quarter of an
 * hour are merged into one, so that reading two days takes a few hundred rows, however many processes run.
 */
import type { Database, Queryable, Transaction } from './connection/database.ts'
import { locks, runInSteps } from './locks.ts'
import { one } from './connection/rows.ts'

export type Minute = {
  readonly requests: number
  /** Responses with status 500 or above. */
  readonly faults: number
  readonly debits: number
  readonly credits: number
  readonly refusals: number
  /** Requests by duration, in the buckets of the metric. */
  readonly took: readonly number[]
  /** Open live streams when the minute was last written. */
  readonly widgets: number
}

export async function upsertMinute(db: Queryable, minute: Date, process: string, counted: Minute): Promise<void> {
  const { requests, faults, debits, credits, refusals, took, widgets } = counted
  await db.query(
    `insert into minutes (minute, process, requests, faults, debits, credits, refusals, took, widgets)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9)
     on conflict (minute, process) do update set requests = excluded.requests, faults = excluded.faults,
       debits = excluded.debits, credits = excluded.credits, refusals = excluded.refusals, took = excluded.took,
       widgets = excluded.widgets`,
    [minute, process, requests, faults, debits, credits, refusals, took, widgets],
  )
}

export type MinuteSum = Minute & { readonly minute: Date; readonly processes: number }

/**
 * More buckets than the metric has. Each is a separate sum, because unnesting and aggregating the arrays again cost
 * five times as much.
 */
const buckets = Array.from({ length: 24 }, (_, i) => `sum(took[${i + 1}])::float8`).join(', ')

/**
 * Sums over all processes, by step, named by its start. Processes and widgets are not summed over time: a step has the
 * maximum of its minutes.
 */
function sumsSql(from: string, step: string): string {
  return `select date_bin(${step}, minute, 'epoch') as minute, max(open.processes)::float8 as processes,
       sum(requests)::float8 as requests, sum(faults)::float8 as faults, sum(debits)::float8 as debits,
       sum(credits)::float8 as credits, sum(refusals)::float8 as refusals, max(open.widgets)::float8 as widgets,
       array_remove(array[${buckets}], null) as took
     from ${from} join (
       select minute, sum(processes) as processes, sum(widgets) as widgets from ${from} group by minute
     ) open using (minute)
     group by 1`
}

/** In steps of that many minutes; rows older than two hours are in quarters of an hour already. */
export async function listMinutes(db: Queryable, since: Date, step = 1): Promise<MinuteSum[]> {
  const { rows } = await db.query<MinuteSum>(
    `with read as materialized (select * from minutes where minute >= $1)
     ${sumsSql('read', `$2 * interval '1 minute'`)} order by 1`,
    [since, step],
  )
  return rows
}

/** The process id of a merged row, which sums all processes. */
const allProcesses = `uuid '00000000-0000-0000-0000-000000000000'`

/** The steps of the overview are multiples of this, and its last hour shows no step older than two hours. */
const quarter = `interval '15 minutes'`

/** A process that was suspended for hours may write its last minute again after the merge: its counts are added. */
const mergeSql = `
with oldest as (
  select date_bin(${quarter}, min(minute), 'epoch') as start from minutes
  where process <> ${allProcesses} and minute < date_bin(${quarter}, now() - interval '2 hours', 'epoch')
), gone as (
  delete from minutes m using oldest o
  where m.minute >= o.start and m.minute < o.start + ${quarter} and m.process <> ${allProcesses} returning m.*
)
insert into minutes as m (minute, process, processes, requests, faults, debits, credits, refusals, took, widgets)
select minute, ${allProcesses}, processes, requests, faults, debits, credits, refusals, took, widgets
from (${sumsSql('gone', quarter)}) s
on conflict (minute, process) do update set processes = greatest(m.processes, excluded.processes),
  requests = m.requests + excluded.requests, faults = m.faults + excluded.faults, debits = m.debits + excluded.debits,
  credits = m.credits + excluded.credits, refusals = m.refusals + excluded.refusals, widgets = greatest(m.widgets, excluded.widgets),
  took = array(select coalesce(a, 0) + coalesce(b, 0) from unnest(m.took, excluded.took) as both_of (a, b))`

/** How many quarters of an hour were merged; 0 also when another process holds the lock. */
export async function mergeMinutes(db: Database): Promise<number> {
  return await runInSteps(db, locks.mergeMinutes, mergeOldest)
}

async function mergeOldest(tx: Transaction): Promise<number> {
  const { rowCount } = await tx.query(mergeSql)
  return rowCount ?? 0
}

export type DatabaseHealth = {
  readonly version: string
  readonly sizeBytes: bigint
  readonly connections: number
  readonly maxConnections: number
  readonly oldestTransactionSeconds: number
  readonly answeredInMs: number
}

export async function getDatabaseHealth(db: Queryable): Promise<DatabaseHealth> {
  const startedAt = performance.now()
  const { rows } = await db.query<Omit<DatabaseHealth, 'answeredInMs'>>(
    `select current_setting('server_version') as version, pg_database_size(current_database()) as "sizeBytes",
       (select count(*)::int from pg_stat_activity where datname = current_database()) as connections,
       current_setting('max_connections')::integer as "maxConnections",
       (select coalesce(max(extract(epoch from now() - xact_start)), 0)::float8 from pg_stat_activity
        where datname = current_database() and pid <> pg_backend_pid()) as "oldestTransactionSeconds"`,
  )
  return { ...one(rows), answeredInMs: performance.now() - startedAt }
}
