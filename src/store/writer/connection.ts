/** A connection that writes batches, and its number among all that do. */
import { keepMomentsOffSql } from '../cluster.ts'
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
  /** Positions are kept by writer, so no two ever share a row. */
  readonly number: number
  /** How many warnings the server has sent: one that came during a batch makes its commit doubtful. */
  readonly doubts: () => number
}

/**
 * Generic plans, because planning a batch costs more than running it; Citus refuses them. No sequential or bitmap scans: see the statements.
 * A server that is set to acknowledge before the disk has it is overruled. No row stays locked by a connection of ours
 * that has gone silent in the middle of a transaction. On a cluster the writers of several processes would change wallets, and add to positions, one
 * at a time; who waits for whom in a circle is found out by lock_timeout, which begins once no moment is held (`begin`).
 * Elsewhere the settings of Citus say nothing.
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
 * The nodes of a cluster know nothing of a connection's settings; those of a transaction are sent to them with its beginning, each
 * as the text that it came in: so each comes alone.
 */
const nodeSettings = ['set local lock_timeout = 200', 'set local enable_seqscan = off']

export async function begin(client: Queryable & Partial<Pick<OpenClient, 'isCluster'>>): Promise<void> {
  await beginWith(client, client.isCluster?.() ? [keepMomentsOffSql, ...nodeSettings] : [])
}

/** On a node that is not the coordinator, while a transaction there stands by. */
export async function beginElsewhere(client: Queryable): Promise<void> {
  await beginWith(client, nodeSettings)
}

/** On the coordinator, with nothing to do while another node writes the batch, which may take as long as a statement may. */
export async function standBy(client: Queryable): Promise<void> {
  await beginWith(client, [keepMomentsOffSql, 'set local idle_in_transaction_session_timeout = 5000'])
}

/** For what is asked in the same flight as the beginning: when that failed, its error tells why, and not those of what came after it. */
export async function afterBegin<T>(beginning: Promise<void>, asked: Promise<T>): Promise<T> {
  await Promise.allSettled([beginning, asked])
  await beginning
  return await asked
}

/** All of it is one flight, for the connection is in pipeline mode. */
async function beginWith(client: Queryable, settings: readonly string[]): Promise<void> {
  await Promise.all(['begin', ...settings].map((sql) => client.query(sql)))
}

/**
 * The lowest number that no living connection holds: the walk ends at the first one that can be locked. The numbers are made in
 * the select list, one by one; as a table of its own, all of them would be made before the first is tried.
 */
const takeNumberSql = `select number from (select generate_series(1, 100000) as number) as n
  where pg_try_advisory_lock($1, number) limit 1`
/** Each node has locks of its own, and so numbers of its own: below zero, but for the coordinator. */
const takeNodeNumberSql = `select case groupid when 0 then number else -(groupid * 100000 + number) end as number
  from (${takeNumberSql}) as taken, pg_dist_local_group`

/** For the connection, and for its settings and number. */
const openWithinMs = 2_500

/** Far fewer than other connections put up with: reading goes on while no standby is there. */
const maxAbandoned = 4

/** With a turn, on the node of a cluster that has it, which then coordinates its batches. */
export async function openWriterClient(
  connection: Connection,
  lockTimeoutMs: number,
  onLost: (lost: OpenClient | undefined) => void,
  turn?: number,
): Promise<WriterClient> {
  let doubts = 0
  let opened: OpenClient | undefined
  const options: ClientOptions = {
    name: 'billfold writer',
    pipeline: true,
    connectWithinMs: openWithinMs,
    maxAbandoned,
    onLost: () => onLost(opened),
    // A commit that stopped waiting for its standby says so in a warning alone.
    onWarning: () => void doubts++,
  }
  const client = turn === undefined ? await openClient(connection, options) : await openNode(connection, turn, options)
  opened = client
  const setUp = async () => {
    // Sent together: where connections break every few milliseconds, each round trip counts.
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
 * Makes a commit of its own where a synchronous standby is configured: that commit waits for the standby, and for
 * everything before it. What was read before it is then there too. (`txid_current()` alone would not wait.)
 */
export const confirmSql = `select pg_logical_emit_message(true, 'billfold', '')
  where current_setting('synchronous_standby_names') <> ''`

/** The server warned during a batch: its commit may be on this server alone, and a failover would lose it. */
export class InDoubt extends Error {}
