/** What the processes did in each minute: a row for each minute and process, added up when somebody looks. */
import type { Queryable } from './database.ts'

export type Minute = {
  readonly requests: number
  /** Answers of 500 and above. */
  readonly faults: number
  readonly debits: number
  readonly credits: number
  readonly refusals: number
  /** Requests by how long they took, in the buckets of the metric. */
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

type Row = {
  minute: Date
  processes: bigint
  requests: bigint
  faults: bigint
  debits: bigint
  credits: bigint
  refusals: bigint
  widgets: bigint
  took: number[]
}

/** More than the metric has; each is a sum of its own, for taking the arrays apart and together again cost five times as much. */
const buckets = Array.from({ length: 24 }, (_, i) => `sum(took[${i + 1}])::float8`).join(', ')

/**
 * Over all processes, in steps of so many minutes, each named by its beginning. What a process had open is of a moment: of a step,
 * the most there was at once.
 */
export async function listMinutes(db: Queryable, since: Date, step = 1): Promise<MinuteSum[]> {
  const { rows } = await db.query<Row>(
    `select date_bin($2 * interval '1 minute', minute, 'epoch') as minute, max(open.processes) as processes,
       sum(requests) as requests, sum(faults) as faults, sum(debits) as debits, sum(credits) as credits,
       sum(refusals) as refusals, max(open.widgets) as widgets, array_remove(array[${buckets}], null) as took
     from minutes join (
       select minute, count(*) as processes, sum(widgets) as widgets from minutes where minute >= $1 group by minute
     ) open using (minute)
     where minute >= $1 group by 1 order by 1`,
    [since, step],
  )
  return rows.map((row) => ({
    minute: row.minute,
    processes: Number(row.processes),
    requests: Number(row.requests),
    faults: Number(row.faults),
    debits: Number(row.debits),
    credits: Number(row.credits),
    refusals: Number(row.refusals),
    widgets: Number(row.widgets),
    took: row.took,
  }))
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
  const { rows } = await db.query<{
    version: string
    size: bigint
    connections: bigint
    max: number
    oldest: number
  }>(
    `select current_setting('server_version') as version, pg_database_size(current_database()) as size,
       (select count(*) from pg_stat_activity where datname = current_database()) as connections,
       current_setting('max_connections')::integer as max,
       (select coalesce(max(extract(epoch from now() - xact_start)), 0)::float8 from pg_stat_activity
        where datname = current_database() and pid <> pg_backend_pid()) as oldest`,
  )
  const row = rows[0]!
  return {
    version: row.version,
    sizeBytes: row.size,
    connections: Number(row.connections),
    maxConnections: row.max,
    oldestTransactionSeconds: row.oldest,
    answeredInMs: performance.now() - startedAt,
  }
}
