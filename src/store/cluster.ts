/**
 * The ledger spread over the nodes of a Citus cluster. Wallets are cut into shards by their id, with their transfers beside
 * them; outcomes by their reference, with the count of their repeats. Everything else is small and stays on the coordinator,
 * with its keys; of that the other nodes know `positions`, so that each of them can coordinate a batch. What Citus refuses, or
 * answers badly, has a text of its own beside the statement: `onCluster`.
 */
import { locks } from './locks.ts'
import type { Transaction } from './connection/database.ts'
import { isClusterSql, type Queryable } from './connection/open-client.ts'
import { quoted } from './migrations/tables.ts'
import { maybe, one } from './connection/rows.ts'

/** Each by its key, and the table whose shards lie beside its own. */
const spread = [
  { name: 'wallets', by: 'id', beside: 'none' },
  { name: 'transfers', by: 'wallet_id', beside: 'wallets' },
  { name: 'outcomes', by: 'reference_key', beside: 'none' },
  { name: 'repeats', by: 'reference_key', beside: 'outcomes' },
] as const

/** A sentence for the operator; nothing was changed. */
class DistributionRefused extends Error {
  override name = 'DistributionRefused'
}

export type DistributedTable = {
  readonly name: string
  /** The column whose value decides on which node a row is. */
  readonly by: string
  readonly shards: number
  /** Spread by this call; false when it was before. */
  readonly isNew: boolean
}

export type Distribution = {
  readonly tables: readonly DistributedTable[]
  /** Where the shards are, as `host:port`. */
  readonly nodes: readonly string[]
  /** What stays on the coordinator. */
  readonly staying: number
}

export async function isCluster(db: Queryable): Promise<boolean> {
  const { rows } = await db.query<{ has: boolean }>(`select ${isClusterSql} as has`)
  return one(rows).has
}

/**
 * Spreads what is not spread yet, with the rows that are there. Each table is a transaction of its own, which looks again at what
 * there is: after a fault, or beside another process, the next call goes on.
 */
export async function distribute(db: Queryable, shardsPerNode = 1): Promise<Distribution> {
  if (!(await isCluster(db)))
    throw new DistributionRefused(
      'This database has no Citus, so there is no cluster to spread it over: install the extension on every node, preload it (shared_preload_libraries), and run CREATE EXTENSION citus in this database on each of them. Nothing was changed.',
    )
  if ((await isNamed(db)) && (await listNodes(db)).length === 0)
    throw new DistributionRefused(
      `No node of the cluster may hold a part of the ledger: add workers (citus_add_node), or let the coordinator hold it (select citus_set_node_property('…', 5432, 'shouldhaveshards', true)). Nothing was changed.`,
    )
  const isNew = new Set<string>()
  for (const table of spread) if (await distributeTable(db, table, shardsPerNode)) isNew.add(table.name)
  await makeKnown(db, 'positions')
  const shards = await countShards(db)
  const { rows } = await db.query<{ count: number }>(
    `select count(*)::int from pg_class where relnamespace = 'public'::regnamespace and relkind = 'r'
     and oid not in (select logicalrelid from pg_dist_partition where partmethod = 'h')`,
  )
  return {
    tables: spread.map(({ name, by }) => ({ name, by, shards: shards.get(name)!, isNew: isNew.has(name) })),
    nodes: await listNodes(db),
    staying: one(rows).count,
  }
}

/** False when it is spread already. */
async function distributeTable(db: Queryable, table: (typeof spread)[number], shardsPerNode: number): Promise<boolean> {
  const { name, by, beside } = table
  return await inTurn(db, async () => {
    const isDone = (await countShards(db)).has(name)
    if (!isDone) {
      // A cluster that has no other node yet is the coordinator alone.
      const shards = Math.max(1, (await listNodes(db)).length) * shardsPerNode
      // The append-only triggers go along onto every shard. Citus calls triggers unsafe, because most of them are.
      await db.query('set local citus.enable_unsafe_triggers = on')
      await db.query(`select set_config('citus.shard_count', $1, true)`, [String(shards)])
      await db.query('select create_distributed_table($1, $2, colocate_with := $3)', [quoted(name), by, beside])
    }
    return !isDone
  })
}

/** It stays where it is, and every node can read and write it there. */
async function makeKnown(db: Queryable, name: string): Promise<void> {
  await inTurn(db, async () => {
    if (!(await countShards(db)).has(name))
      await db.query('select citus_add_local_table_to_metadata($1)', [quoted(name)])
  })
}

async function inTurn<T>(db: Queryable, work: () => Promise<T>): Promise<T> {
  await db.query('begin')
  try {
    await db.query('set local statement_timeout = 0; set local lock_timeout = 0')
    await db.query('select pg_advisory_xact_lock($1)', [locks.migration])
    const result = await work()
    await db.query('commit')
    return result
  } catch (error) {
    await db.query('rollback').catch(() => {})
    throw error
  }
}

/** Citus names the coordinator by itself when it is the first node that it needs. */
async function isNamed(db: Queryable): Promise<boolean> {
  const { rows } = await db.query<{ is_named: boolean }>(`select exists (select from pg_dist_node) as is_named`)
  return one(rows).is_named
}

async function listNodes(db: Queryable): Promise<string[]> {
  const { rows } = await db.query<{ node: string }>(
    `select nodename || ':' || nodeport as node from pg_dist_node
     where noderole = 'primary' and isactive and shouldhaveshards order by nodeid`,
  )
  return rows.map(({ node }) => node)
}

/** By table; one that is not spread has none. */
async function countShards(db: Queryable): Promise<ReadonlyMap<string, number>> {
  const { rows } = await db.query<{ name: string; shards: number }>(
    `select c.relname as name, count(*)::int as shards from pg_dist_shard s join pg_class c on c.oid = s.logicalrelid
     where c.relnamespace = 'public'::regnamespace group by 1`,
  )
  return new Map(rows.map(({ name, shards }) => [name, shards]))
}

/**
 * A node lets go of a row that was only locked, or that is all that was changed on it, before the coordinator commits what was written
 * there. Who waits for the row alone would go on without seeing that, so they wait here first.
 */
export async function waitOnCoordinator(tx: Transaction, walletId: string): Promise<void> {
  if (tx.isCluster()) await tx.query('select pg_advisory_xact_lock($1, hashtext($2))', [locks.wallet, walletId])
}

/**
 * The time in an UPDATE of wallets `w`, read on the node that has the row, after it is locked. Citus lets no RETURNING read the clock
 * itself, and that of the coordinator would be another one for each node that coordinates.
 */
export const walletClockSql = 'wallet_clock(w.id)'

const identitySql = `select current_database() || ' ' || system_identifier as identity from pg_control_system()`

export async function readIdentity(coordinator: Queryable): Promise<string> {
  const { rows } = await coordinator.query<{ identity: string }>(identitySql)
  return one(rows).identity
}

/** Its name is all that the log shows of it. */
class NodeOfAnotherCluster extends Error {
  override name = 'NodeOfAnotherCluster'
}

/** A node of another cluster would take batches as well, and they would be missing here. */
export async function refuseForeignNode(node: Queryable, identity: string): Promise<void> {
  const { rows } = await node.query<{ result: string }>('select result from run_command_on_coordinator($1)', [
    identitySql,
  ])
  if (maybe(rows)?.result !== identity)
    throw new NodeOfAnotherCluster('a server that DATABASE_URL names is a node of another cluster')
}

/* One moment on all nodes. Citus carries a transaction's isolation level to the nodes, but each takes a snapshot of its own. */

/** Each connection to a node would see a moment of its own: there is one for each node. */
export const oneSnapshotPerNodeSql = `set local citus.max_adaptive_executor_pool_size = 1`

/** Every node takes its snapshot. */
const touchNodesSql = `select 1 from wallets limit 1`

/**
 * While the nodes take their snapshots, nobody commits: every batch of the writer keeps this table from being locked as a whole
 * (`blockSnapshotsSql`), and who makes a wallet inserts into it. A transaction's lock on the coordinator goes after its last node has
 * committed, so whoever has this lock finds all of a transaction on every node, or nothing. No table that other nodes know would
 * do: Citus locks those on every node, by a query that takes the node's snapshot before it has the lock.
 */
export const takeSnapshotSql = `${oneSnapshotPerNodeSql}; savepoint moment; set local lock_timeout = '3s';
  lock table users in share mode; ${touchNodesSql}`

/** In a transaction on the coordinator, which stays open until the batch is committed on every node. */
export const blockSnapshotsSql = 'lock table users in row exclusive mode'

/** The lock was taken after the savepoint and goes with it; the snapshots stay. */
export const unlockWritersSql = 'rollback to savepoint moment'

const beginSql = 'begin transaction isolation level repeatable read, read only'

/** Between the two, further connections may join. */
export const beginSnapshot = { text: beginSql, onCluster: `${beginSql}; ${takeSnapshotSql}` }
export const endSnapshot = { text: 'select 1', onCluster: unlockWritersSql }

export const joinSnapshotSql = `${beginSql}; ${oneSnapshotPerNodeSql}; ${touchNodesSql}`

/**
 * For a transaction that changes tables as well as their rows: one connection to each node, the coordinator's own shards included,
 * and one shard after the other.
 */
export const sequentialShardsSql = `${oneSnapshotPerNodeSql}; set local citus.enable_local_execution = off; set local citus.multi_shard_modify_mode = 'sequential';
  set local citus.enable_unsafe_triggers = on`
