/** Reports to operators and metrics what waits in the queue, what failed and why. */
import type { Queryable, Transaction } from '../connection/database.ts'
import { workKinds, type WorkKind } from './work.ts'
import { maybe } from '../connection/rows.ts'

/** A piece with this many failures in a row needs an operator. */
export const failuresToReport = 3

/** A periodic job has no piece of work: its row only stores why it fails, and is never due. */
const jobKind = 'job'

export type WorkLevel = {
  /** Due now or later, and not running; counted up to ten thousand. */
  readonly waiting: number
  readonly running: number
  /** How long the piece due first has been waiting for a process; 0 when none is due. */
  readonly lateSeconds: number
  /** Age of the waiting piece that was requested first. */
  readonly oldestSeconds: number
  /** Pieces that failed three times in a row or were given up. */
  readonly failing: number
}

/** A piece given up by its claim counts as running until its lease ends: only then is its process known to be dead. */
const isRunningSql = 'coalesce(leased_until > now(), false)'
const isFailedSql = `(failures > 0 or given_up_at is not null) and not ${isRunningSql}`
/** Needs an operator. */
export const isFailingSql = `(failures >= ${failuresToReport} or given_up_at is not null) and not ${isRunningSql}`
const maxCounted = 10_000

/** The counts are limited, because every top-up of the last half year has a row. */
const levelsSql = `
select k.kind, w.*, (select count(*)::int from (
    select from work where kind = k.kind and ${isFailingSql} limit ${maxCounted}) failing) as failing
from unnest($1::text[]) k(kind) cross join lateral (
  select count(*) filter (where not is_running)::int as waiting,
    count(*) filter (where is_running)::int as running,
    greatest(coalesce(extract(epoch from now() - min(due_at) filter (where not is_running)), 0), 0)::float8 as "lateSeconds",
    coalesce(extract(epoch from now() - min(created_at) filter (where not is_running)), 0)::float8 as "oldestSeconds"
  from (select due_at, created_at, ${isRunningSql} as is_running from work
    where kind = k.kind and given_up_at is null order by due_at, key limit ${maxCounted}) waiting
) w`

export async function getWorkLevels(db: Queryable): Promise<Readonly<Record<WorkKind, WorkLevel>>> {
  const { rows } = await db.query<WorkLevel & { kind: WorkKind }>(levelsSql, [workKinds])
  return Object.fromEntries(rows.map(({ kind, ...level }) => [kind, level])) as Record<WorkKind, WorkLevel>
}

/** The time of the next run; null when there is none. */
export async function findWorkDueAt(db: Queryable, kind: WorkKind, key: string): Promise<Date | null> {
  const text = 'select due_at as "dueAt" from work where kind = $1 and key = $2 and given_up_at is null'
  const { rows } = await db.query<{ dueAt: Date }>(text, [kind, key])
  return maybe(rows)?.dueAt ?? null
}

export type FailedWork = {
  readonly kind: WorkKind | typeof jobKind
  readonly key: string
  readonly attempts: number
  readonly failures: number
  /** Null when the process died while it ran a piece that must run at most once. */
  readonly lastError: string | null
  readonly failedAt: Date | null
  readonly givenUpAt: Date | null
  /** Null when the queue does not run it again. */
  readonly dueAt: Date | null
}

const failedSql = `select kind, key, attempts, failures, last_error as "lastError", failed_at as "failedAt",
    given_up_at as "givenUpAt", case when given_up_at is null and due_at < 'infinity' then due_at end as "dueAt"
  from work`

/** Lists pieces whose last run failed, and those given up. The newest failure first. */
export async function listFailedWork(db: Queryable, limit: number): Promise<FailedWork[]> {
  const { rows } = await db.query<FailedWork>(
    `${failedSql} where ${isFailedSql}
     order by coalesce(failed_at, given_up_at) desc, kind, key limit $1`,
    [limit],
  )
  return rows
}

/** Lists jobs and work that need an operator: failed three times in a row, or given up. */
export async function listFailingWork(db: Queryable, limit: number): Promise<FailedWork[]> {
  const { rows } = await db.query<FailedWork>(
    `${failedSql} where ${isFailingSql} order by coalesce(failed_at, given_up_at) desc, kind, key limit $1`,
    [limit],
  )
  return rows
}

/** Makes the piece due now and resets its attempts. False when it has not failed, or is running again. */
export async function restartWork(tx: Transaction, kind: WorkKind, key: string): Promise<boolean> {
  const { rowCount } = await tx.query(
    `update work set due_at = now(), attempts = 0, given_up_at = null where kind = $1 and key = $2 and ${isFailedSql}`,
    [kind, key],
  )
  return rowCount === 1
}

export async function upsertJobFailure(db: Queryable, job: string, failures: number, error: string): Promise<void> {
  await db.query(
    `insert into work (kind, key, due_at, failures, last_error, failed_at) values ('${jobKind}', $1, 'infinity', $2, $3, now())
     on conflict (kind, key) do update set failures = excluded.failures, last_error = excluded.last_error, failed_at = now()`,
    [job, failures, error],
  )
}

/** Why the job failed three times in a row; undefined when it did not. */
export async function findJobFailure(db: Queryable, job: string): Promise<string | undefined> {
  const text = `select last_error as error from work where kind = '${jobKind}' and key = $1`
  return maybe((await db.query<{ error: string }>(text, [job])).rows)?.error
}

export async function deleteJobFailure(db: Queryable, job: string): Promise<void> {
  await db.query(`delete from work where kind = '${jobKind}' and key = $1`, [job])
}
