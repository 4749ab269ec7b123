/**
 * The processor time of one database's connections. That of the whole server also has the check of the books and the jobs of every
 * other service of the run.
 */
import type { BenchDatabase, Cluster } from './cluster.ts'
import { exactCpuSeconds } from './usage.ts'

export type OwnSeconds = { readonly writer: number; readonly others: number }

type Backends = ReadonlyMap<number, { readonly isWriter: boolean; readonly seconds: number }>

const activitySql = `select pid, application_name = 'billfold writer' as is_writer from pg_stat_activity
  where datname = current_database() and backend_type = 'client backend' and pid <> pg_backend_pid()`

async function readBackends({ query }: BenchDatabase): Promise<Backends> {
  const rows = await query(activitySql)
  return new Map(
    rows.map((row) => [
      Number(row['pid']),
      { isWriter: row['is_writer'] === 't', seconds: exactCpuSeconds(Number(row['pid'])) },
    ]),
  )
}

/** What the work and everything beside it cost the database's connections. A connection that ends meanwhile is not counted. */
export async function withOwnSeconds<T>(
  database: BenchDatabase,
  work: () => Promise<T>,
): Promise<{ readonly result: T; readonly own: OwnSeconds }> {
  const before = await readBackends(database)
  const result = await work()
  const own = { writer: 0, others: 0 }
  for (const [pid, { isWriter, seconds }] of await readBackends(database))
    own[isWriter ? 'writer' : 'others'] += seconds - (before.get(pid)?.seconds ?? 0)
  return { result, own }
}

const othersSql = `select pid from pg_stat_activity where datname <> $1 and backend_type = 'client backend' and pid <> pg_backend_pid()`

/** The connections to all other databases of the server; of one that ends meanwhile nothing is counted. */
export async function readOtherBackends(
  cluster: Cluster,
  database: string,
): Promise<{ readonly secondsSince: () => number }> {
  const rows = await cluster.query(othersSql, [database])
  const before = rows.map(({ pid }) => ({ pid: Number(pid), seconds: exactCpuSeconds(Number(pid)) }))
  return {
    secondsSince: () => before.reduce((sum, { pid, seconds }) => sum + Math.max(0, exactCpuSeconds(pid) - seconds), 0),
  }
}
