/** Gauges of the database for monitoring: the backlog of top-ups and mails, and the state of the server. */
import type { Database, Queryable } from './connection/database.ts'
import { one } from './connection/rows.ts'
import { getEndpointLevels, type EndpointLevel, type EndpointState } from './events/endpoint-lag.ts'
import { getUnnumberedSeconds } from './events/number-events.ts'
import { getHoldLevels, type HoldLevels } from './books/hold-lists.ts'
import { getWorkLevels, type WorkLevel } from './work/work-report.ts'
import type { WorkKind } from './work/work.ts'

export type Backlog = { readonly count: number; readonly oldestSeconds: number }

export type DatabaseGauges = {
  /** Top-ups without a final state: not paid yet, or paid and not yet confirmed by the processor. */
  readonly topups: { readonly created: Backlog; readonly processing: Backlog }
  /** How far the next attempt of the most overdue top-up is behind its schedule. */
  readonly lateAttemptSeconds: number
  /** Top-ups that need a decision by an operator. */
  readonly topupProblems: number
  readonly mails: Backlog
  readonly holds: HoldLevels
  readonly work: Readonly<Record<WorkKind, WorkLevel>>
  /** How long the oldest event has been waiting for its number. */
  readonly unnumberedSeconds: number
  readonly endpoints: Readonly<Record<EndpointState, EndpointLevel>>
  readonly databaseBytes: number
  readonly connections: number
  readonly maxConnections: number
  /** Statements of this role that wait on the server, by PostgreSQL's wait_event_type. */
  readonly waits: Readonly<Record<WaitKind, number>>
  /** Transactions since the oldest row that is not frozen. PostgreSQL refuses writes at about two billion. */
  readonly transactionAge: number
  /** This process's clock minus the database's. */
  readonly clockSkewSeconds: number
  /** Seconds since a WAL file was last archived, while the newest attempt failed; undefined without archive_mode. */
  readonly archiveLateSeconds: number | undefined
}

export const waitKinds = ['Lock', 'LWLock', 'IO', 'IPC', 'other'] as const
export type WaitKind = (typeof waitKinds)[number]

/** Every open top-up is attempted at least every six hours, so the index of the queue finds them without the others. */
const openTopupsSql = `select count(*) filter (where state = 'created')::int as created,
    count(*) filter (where state = 'processing')::int as processing,
    coalesce(extract(epoch from now() - min(t.created_at) filter (where state = 'created')), 0)::float8 as created_age,
    coalesce(extract(epoch from now() - min(t.created_at) filter (where state = 'processing')), 0)::float8 as processing_age
  from work w join topups t on t.id = w.key::uuid
  where w.kind = 'resolve-topup' and w.due_at <= now() + interval '7 hours' and t.state in ('created', 'processing')`

const gaugesSql = `select t.*,
    (select count(*)::int from topups where problem is not null) as problems,
    pg_database_size(current_database())::float8 as bytes,
    (select sum(numbackends)::int from pg_stat_database) as connections,
    current_setting('max_connections')::int as max_connections,
    (select age(datfrozenxid) from pg_database where datname = current_database()) as transaction_age,
    extract(epoch from clock_timestamp())::float8 as clock,
    case when current_setting('archive_mode') = 'off' then null
      when coalesce(a.last_failed_time > coalesce(a.last_archived_time, '-infinity'), false)
        then extract(epoch from now() - coalesce(a.last_archived_time, a.stats_reset))::float8
      else 0 end as archive_late
  from (${openTopupsSql}) t,
    pg_stat_archiver a`

const waitsSql = `select wait_event_type as kind, count(*)::int as count from pg_stat_activity
  where usename = current_user and datname = current_database() and pid <> pg_backend_pid() and state <> 'idle'
    and wait_event_type not in ('Client', 'Activity')
  group by wait_event_type`

type Row = {
  created: number
  processing: number
  created_age: number
  processing_age: number
  problems: number
  bytes: number
  connections: number
  max_connections: number
  transaction_age: number
  clock: number
  archive_late: number | null
}

export async function getDatabaseGauges(db: Queryable): Promise<DatabaseGauges> {
  const askedAt = Date.now()
  const { rows } = await db.query<Row>(gaugesSql)
  const row = one(rows)
  // The database read its clock about halfway through the round trip.
  const clock = (askedAt + Date.now()) / 2_000
  const work = await getWorkLevels(db)
  const waiting = await db.query<{ kind: string; count: number }>(waitsSql)
  const waits = { Lock: 0, LWLock: 0, IO: 0, IPC: 0, other: 0 }
  for (const { kind, count } of waiting.rows) waits[waitKinds.find((known) => known === kind) ?? 'other'] += count
  return {
    topups: {
      created: { count: row.created, oldestSeconds: row.created_age },
      processing: { count: row.processing, oldestSeconds: row.processing_age },
    },
    lateAttemptSeconds: work['resolve-topup'].lateSeconds,
    topupProblems: row.problems,
    mails: { count: work['send-mail'].waiting, oldestSeconds: work['send-mail'].oldestSeconds },
    holds: await getHoldLevels(db),
    work,
    unnumberedSeconds: await getUnnumberedSeconds(db),
    endpoints: await getEndpointLevels(db),
    databaseBytes: row.bytes,
    connections: row.connections,
    maxConnections: row.max_connections,
    waits,
    transactionAge: row.transaction_age,
    clockSkewSeconds: clock - row.clock,
    archiveLateSeconds: row.archive_late ?? undefined,
  }
}

/** Callers within this time share one read of the database. */
const goodForMs = 2_000
/** A scrape of several processes waits one second for each of them. */
const answerWithinMs = 700

/**
 * Undefined while the database does not answer. The query continues meanwhile and later callers share it, so slow
 * queries do not pile up.
 */
export function openDatabaseGauges({
  longRunning,
}: Pick<Database, 'longRunning'>): () => Promise<DatabaseGauges | undefined> {
  let known: { readonly gauges: DatabaseGauges; readonly at: number } | undefined
  let asking: Promise<DatabaseGauges | undefined> | undefined
  const ask = async () => {
    try {
      const gauges = await getDatabaseGauges(longRunning.pool)
      known = { gauges, at: performance.now() }
      return gauges
    } catch {
      return undefined
    } finally {
      asking = undefined
    }
  }
  return async () => {
    if (known && performance.now() - known.at < goodForMs) return known.gauges
    const late = Promise.withResolvers<undefined>()
    const timer = setTimeout(() => late.resolve(undefined), answerWithinMs)
    try {
      return await Promise.race([(asking ??= ask()), late.promise])
    } finally {
      clearTimeout(timer)
    }
  }
}
