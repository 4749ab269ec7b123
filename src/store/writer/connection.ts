/** A connection that writes batches, and its number among all writing connections. */
import { blockSnapshotsSql } from '../cluster.ts'
import {
  isClusterSql,
  openClient,
  openNode,
  within,
  type ClientOptions,
  type Connection,
  type OpenClient,
  type Queryable,
} from '../connection/open-client.ts'
import { locks } from '../locks.ts'

export type WriterClient = {
  readonly client: OpenClient
  /** Position rows are keyed by it, so no two writers share a row. */
  readonly number: number
  /** Number of warnings the server has sent: a warning during a batch makes its commit doubtful. */
  readonly doubts: () => number
}

/**
 * Generic plans, because planning a batch costs more than running it; Citus refuses them. No sequential or bitmap scans:
 * see the statements. synchronous_commit = off is overruled: an answer must be durable. The idle timeout releases the rows
 * of a connection of ours that goes silent inside a transaction. By default Citus runs the updates of several writers one
 * at a time to prevent deadlocks; that is off, and lock_timeout ends a deadlock. It is longer on a cluster, where `begin`
 * may first wait for a check that holds snapshots off. Plain PostgreSQL ignores the settings of Citus.
 */
const settingsSql = `select set_config('enable_seqscan', 'off', false), set_config('enable_bitmapscan', 'off', false),
  set_config('plan_cache_mode', case when ${isClusterSql} then 'auto'
    else 'force_generic_plan' end, false), set_config('jit', 'off', false),
  set_config('statement_timeout', '3500', false),
  set_config('lock_timeout', case when ${isClusterSql} then '3000' else $1 end, false),
  set_config('idle_in_transaction_session_timeout', '2000', false),
  set_config('citus.propagate_set_commands', 'local', false), set_config('citus.enable_deadlock_prevention', 'off', false),
  set_config('citus.all_modifications_commutative', 'on', false),
  set_config('synchronous_commit', case current_setting('synchronous_commit') when 'off' then 'on'
    else current_setting('synchronous_commit') end, false)`

/**
 * The nodes of a cluster do not get a connection's settings. Citus sends them a transaction's settings, each as the text of
 * its statement: so each setting is a statement.
 */
const nodeSettings = ['set local lock_timeout = 200', 'set local enable_seqscan = off']

export async function begin(client: Queryable & Partial<Pick<OpenClient, 'isCluster'>>): Promise<void> {
  await beginWith(client, client.isCluster?.() ? [blockSnapshotsSql, ...nodeSettings] : [])
}

/** On a node that is not the coordinator, while a transaction on the coordinator is held open. */
export async function beginOnOtherNode(client: Queryable): Promise<void> {
  await beginWith(client, nodeSettings)
}

/** On the coordinator, which is idle while another node writes the batch, up to the statement timeout. */
export async function beginIdle(client: Queryable): Promise<void> {
  await beginWith(client, [blockSnapshotsSql, 'set local idle_in_transaction_session_timeout = 5000'])
}

/** For a query sent in the same round trip as `begin`: when that failed, throw its error, not the one that followed from it. */
export async function afterBegin<T>(beginning: Promise<void>, asked: Promise<T>): Promise<T> {
  await Promise.allSettled([beginning, asked])
  await beginning
  return await asked
}

/** One round trip: the connection is in pipeline mode. */
async function beginWith(client: Queryable, settings: readonly string[]): Promise<void> {
  await Promise.all(['begin', ...settings].map((sql) => client.query(sql)))
}

/**
 * The lowest number that no open connection holds: the scan ends at the first one it can lock. generate_series is in the
 * select list because in FROM it would produce all numbers before the first is tried.
 */
const takeNumberSql = `select number from (select generate_series(1, 100000) as number) as n
  where pg_try_advisory_lock($1, number) limit 1`
/** Advisory locks are per node, so each node has its own range of numbers: below zero, except on the coordinator. */
const takeNodeNumberSql = `select case groupid when 0 then number else -(groupid * 100000 + number) end as number
  from (${takeNumberSql}) as taken, pg_dist_local_group`

/** Applies to the connection, and again to its settings and number. */
const openWithinMs = 2_500

/** Far fewer than for other connections: reads go on while the standby is away. */
const maxAbandoned = 4

/** With `nodeIndex`, connects to that configured node of the cluster, which then coordinates the batches. */
export async function openWriterClient(
  connection: Connection,
  lockTimeoutMs: number,
  onLost: (lost: OpenClient | undefined) => void,
  nodeIndex?: number,
): Promise<WriterClient> {
  let doubts = 0
  let opened: OpenClient | undefined
  const options: ClientOptions = {
    name: 'billfold writer',
    pipeline: true,
    connectWithinMs: openWithinMs,
    maxAbandoned,
    onLost: () => onLost(opened),
    // A commit that stopped waiting for its standby reports it only as a warning.
    onWarning: () => void doubts++,
  }
  const client =
    nodeIndex === undefined ? await openClient(connection, options) : await openNode(connection, nodeIndex, options)
  opened = client
  const setUp = async () => {
    // One round trip: where connections break every few milliseconds, each one counts.
    const [, { rows }] = await Promise.all([
      client.query(settingsSql, [String(lockTimeoutMs)]),
      client.query<{ number: number }>({
        text: takeNumberSql,
        onCluster: takeNodeNumberSql,
        values: [locks.writerNumber],
      }),
    ])
    return { client, number: rows[0]!.number, doubts: () => doubts }
  }
  try {
    return await within(client, openWithinMs, setUp())
  } catch (error) {
    client.destroy()
    throw error
  }
}

/**
 * Where a synchronous standby is configured, this writes a record, so its commit waits until the standby has everything
 * up to it, including what was read before. (`txid_current()` alone would not wait.)
 */
export const confirmSql = `select pg_logical_emit_message(true, 'billfold', '')
  where current_setting('synchronous_standby_names') <> ''`

/** The server warned during a batch: its commit may be on this server alone, and a failover would lose it. */
export class InDoubt extends Error {}
