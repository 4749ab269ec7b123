/** What the nodes of a cluster hold and report: for `distribute` and `doctor`. Read-only. */
import type { Queryable } from '../connection/open-client.ts'
import { maybe, one } from '../connection/rows.ts'
import { isClusterSql } from './membership.ts'

export type ClusterNode = {
  /** `host:port`. */
  readonly name: string
  readonly isCoordinator: boolean
  /** New shards may be placed on it; false for a coordinator beside workers, and for a node that is being emptied. */
  readonly mayHold: boolean
  readonly shards: number
  /** Of its shards, with their indexes; undefined when it does not answer. */
  readonly bytes: number | undefined
  /** What it reports about itself, or why it does not. */
  readonly report: NodeReport | string
}

export type NodeReport = {
  readonly walLevel: string
  readonly maxPreparedTransactions: number
  readonly maxConnections: number
  /** `citus.recover_2pc_interval`; -1 is never. */
  readonly recoverAfterMs: number
  /** Prepared transactions of this database. The last few seconds have some in any case. */
  readonly prepared: { readonly count: number; readonly oldestSeconds: number }
}

export type Rebalance = {
  readonly state: 'running' | 'failed'
  readonly moves: number
  readonly movesDone: number
  /** The message of a move that failed; it is tried again, for hours. */
  readonly error: string | undefined
}

export type ClusterState = {
  readonly nodes: readonly ClusterNode[]
  /** At least by this much do the clocks of two nodes differ. */
  readonly clocksApartSeconds: number
  /** The last one, unless it has finished. */
  readonly rebalance: Rebalance | undefined
}

/** Undefined on plain PostgreSQL. */
export async function findClusterState(db: Queryable): Promise<ClusterState | undefined> {
  const { rows } = await db.query<{ has: boolean }>(`select ${isClusterSql} as has`)
  return one(rows).has ? await readClusterState(db) : undefined
}

export async function readClusterState(db: Queryable): Promise<ClusterState> {
  const { rows } = await db.query<NodeRow>(nodesSql)
  // Citus adds the coordinator to the nodes when it first needs one.
  if (rows.length === 0) rows.push({ id: 0, name: 'this server', isCoordinator: true, mayHold: true, shards: 0 })
  const bytes = await readBytes(db)
  const startedAt = performance.now()
  const reports = await readReports(db)
  const tookSeconds = (performance.now() - startedAt) / 1_000
  const nodes = rows.map(({ id, ...node }): ClusterNode => {
    const { clock: _, ...report } = reports.get(id) ?? { clock: 0, problem: 'it is not active' }
    return { ...node, bytes: bytes.get(id), report: 'problem' in report ? report.problem : report }
  })
  const clocks = [...reports.values()].flatMap((report) => ('problem' in report ? [] : [report.clock]))
  // The nodes read their clocks within that time.
  const apart = clocks.length === 0 ? 0 : Math.max(...clocks) - Math.min(...clocks) - tookSeconds
  return { nodes, clocksApartSeconds: Math.max(0, apart), rebalance: await findRebalance(db) }
}

type NodeRow = Omit<ClusterNode, 'bytes' | 'report'> & { id: number }

const nodesSql = `select n.nodeid as id, n.nodename || ':' || n.nodeport as name, n.groupid = 0 as "isCoordinator",
    n.shouldhaveshards as "mayHold",
    (select count(*)::int from pg_dist_placement p join pg_dist_shard s on s.shardid = p.shardid
      join pg_dist_partition t on t.logicalrelid = s.logicalrelid and t.partmethod = 'h' where p.groupid = n.groupid) as shards
  from pg_dist_node n where n.noderole = 'primary' order by n.groupid`

/** By node. Of one that is away, Citus returns null. */
async function readBytes(db: Queryable): Promise<ReadonlyMap<number, number>> {
  const { rows } = await db.query<{ id: number; bytes: number | null }>(
    `select n.nodeid as id, case when count(s.shardid) = count(s.shard_size) then coalesce(sum(s.shard_size), 0)::float8 end as bytes
     from pg_dist_node n left join citus_shards s on s.nodename = n.nodename and s.nodeport = n.nodeport
       and s.citus_table_type = 'distributed' group by 1`,
  )
  return new Map(rows.flatMap(({ id, bytes }) => (bytes === null ? [] : [[id, bytes]])))
}

/** On each node. Of `pg_settings` because that gives numbers in one unit. */
const reportSql = `select json_build_object('clock', extract(epoch from clock_timestamp()), 'walLevel', current_setting('wal_level'),
  'maxPreparedTransactions', current_setting('max_prepared_transactions')::int,
  'maxConnections', current_setting('max_connections')::int,
  'recoverAfterMs', (select setting::int from pg_settings where name = 'citus.recover_2pc_interval'),
  'prepared', (select json_build_object('count', count(*), 'oldestSeconds', coalesce(extract(epoch from now() - min(prepared)), 0))
    from pg_prepared_xacts where database = current_database()))`

async function readReports(
  db: Queryable,
): Promise<ReadonlyMap<number, (NodeReport & { clock: number }) | { clock: number; problem: string }>> {
  const { rows } = await db.query<{ id: number; isReport: boolean; result: string }>(
    `select nodeid as id, success as "isReport", result from run_command_on_all_nodes($1)`,
    [reportSql],
  )
  return new Map(
    rows.map(({ id, isReport, result }) => [
      id,
      isReport ? (JSON.parse(result) as NodeReport & { clock: number }) : { clock: 0, problem: result },
    ]),
  )
}

/** A move that fails is tried again with growing pauses, and its job stays “running” meanwhile. */
async function findRebalance(db: Queryable): Promise<Rebalance | undefined> {
  const { rows } = await db.query<{ state: string; moves: number; movesDone: number; error: string | null }>(
    `select j.state::text, count(t.task_id)::int as moves, (count(*) filter (where t.status = 'done'))::int as "movesDone",
       min(t.message) filter (where t.status = 'error' or (t.status in ('runnable', 'running') and t.retry_count > 0)) as error
     from pg_dist_background_job j left join pg_dist_background_task t on t.job_id = j.job_id
     where j.job_id = (select max(job_id) from pg_dist_background_job where job_type = 'rebalance')
     group by j.job_id, j.state`,
  )
  const job = maybe(rows)
  if (!job || job.state === 'finished' || job.state === 'cancelled') return undefined
  const { moves, movesDone } = job
  const state = job.state === 'failed' || job.state === 'failing' ? 'failed' : 'running'
  return { state, moves, movesDone, error: job.error ?? undefined }
}
