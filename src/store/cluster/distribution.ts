/**
 * Distributes the ledger over the nodes of a Citus cluster. Wallets are sharded by their id, together with their transfers and
 * holds, and outcomes by their reference, together with the count of their repeats. Everything else is small and stays on the coordinator.
 * Of that, the other nodes know `positions`, so that each of them can coordinate a batch. A statement that Citus refuses, or runs
 * badly, has a second text beside it: `onCluster`.
 */
import { listClosings } from '../closing/closings.ts'
import type { Queryable } from '../connection/open-client.ts'
import { one } from '../connection/rows.ts'
import { locks } from '../locks.ts'
import { quoted } from '../migrations/tables.ts'
import { isClusterSql } from './membership.ts'
import { findMissingSettings } from './node-settings.ts'
import { readClusterState, type ClusterState } from './state.ts'

/** Each with its distribution column, and the table it is colocated with. */
export const distributed = [
  { name: 'wallets', by: 'id', beside: 'none' },
  { name: 'transfers', by: 'wallet_id', beside: 'wallets' },
  { name: 'holds', by: 'wallet_id', beside: 'wallets' },
  { name: 'hold_steps', by: 'wallet_id', beside: 'wallets' },
  { name: 'outcomes', by: 'reference_key', beside: 'none' },
  { name: 'repeats', by: 'reference_key', beside: 'outcomes' },
] as const

/**
 * Of each table. A node holds whole shards, so this is the most nodes that the ledger can use, and two, three, four or six nodes get
 * the same number each. More cost more: on two nodes a batch of 128 takes 36 ms of processor time with 2 shards, 82 with 8, 85 with 12.
 */
export const defaultShards = 12

/** A sentence for the operator; nothing was changed. */
class DistributionRefused extends Error {
  override name = 'DistributionRefused'
}

export type DistributedTable = {
  readonly name: string
  /** The distribution column. */
  readonly by: string
  readonly shards: number
  /** Distributed by this call; false when it was before. */
  readonly isNew: boolean
}

export type Distribution = {
  readonly tables: readonly DistributedTable[]
  readonly cluster: ClusterState
  /** How many tables stay on the coordinator. */
  readonly staying: number
}

export async function isCluster(db: Queryable): Promise<boolean> {
  const { rows } = await db.query<{ has: boolean }>(`select ${isClusterSql} as has`)
  return one(rows).has
}

/**
 * Distributes the tables that are not distributed yet, with their rows. Each table is one transaction, which reads the current
 * state first: after a fault, or beside another process, the next call continues.
 */
export async function distribute(db: Queryable, shards = defaultShards): Promise<Distribution> {
  if (!(await isCluster(db)))
    throw new DistributionRefused(
      'This database has no Citus, so there is no cluster to distribute it over: install the extension on every node, preload it (shared_preload_libraries), and run CREATE EXTENSION citus in this database on each of them. Nothing was changed.',
    )
  const before = await readClusterState(db)
  if (!before.nodes.some(({ mayHold }) => mayHold))
    throw new DistributionRefused(
      `No node of the cluster may hold a part of the ledger: add workers (citus_add_node), or let the coordinator hold it (select citus_set_node_property('…', 5432, 'shouldhaveshards', true)). Nothing was changed.`,
    )
  const known = await countShards(db)
  if (!known.has('transfers') && (await listClosings(db)).length > 0)
    throw new DistributionRefused(
      'The ledger has closed periods, which cannot be distributed. Distribute a copy of it instead: npx billfold export; then, for an empty database of the cluster, npx billfold migrate, npx billfold distribute and npx billfold import. Archived periods stay archived there, and the other closed ones are open again. Nothing was changed.',
    )
  if (!distributed.every(({ name }) => known.has(name))) refuseUnready(before)
  const isNew = new Set<string>()
  for (const table of distributed) if (await distributeTable(db, table, shards)) isNew.add(table.name)
  await addToMetadata(db, 'positions')
  for (const name of ['all_transfers', 'all_outcomes']) await createOnNodes(db, name)
  const counts = await countShards(db)
  const { rows } = await db.query<{ count: number }>(
    `select count(*)::int from pg_class where relnamespace = 'public'::regnamespace and relkind = 'r'
     and oid not in (select logicalrelid from pg_dist_partition where partmethod = 'h')`,
  )
  return {
    tables: distributed.map(({ name, by }) => ({ name, by, shards: counts.get(name)!, isNew: isNew.has(name) })),
    cluster: await readClusterState(db),
    staying: one(rows).count,
  }
}

/** Throws when a node does not answer, or lacks a setting that the cluster will need. */
function refuseUnready({ nodes }: ClusterState): void {
  const away = nodes.flatMap(({ name, report }) => (typeof report === 'string' ? [`${name}: ${report}.`] : []))
  const missing = findMissingSettings(nodes).map(({ node, text, fix }) => `${node}: ${text} Set ${fix}`)
  if (away.length + missing.length === 0) return
  const restart = missing.length > 0 ? ' The settings are in postgresql.conf; restart each node after the change.' : ''
  throw new DistributionRefused(
    `The nodes of the cluster are not ready, and nothing was changed.${restart}\n${[...away, ...missing].join('\n')}`,
  )
}

/** False when it was distributed before. */
async function distributeTable(db: Queryable, table: (typeof distributed)[number], shards: number): Promise<boolean> {
  const { name, by, beside } = table
  return await withMigrationLock(db, async () => {
    const isDone = (await countShards(db)).has(name)
    if (!isDone) {
      // The append-only triggers are created on every shard. Citus calls triggers unsafe, because most are.
      await db.query('set local citus.enable_unsafe_triggers = on')
      await db.query(`select set_config('citus.shard_count', $1, true)`, [String(shards)])
      await db.query('select create_distributed_table($1, $2, colocate_with := $3)', [quoted(name), by, beside])
    }
    return !isDone
  })
}

/** The table stays on the coordinator, and every node can read and write it there. */
async function addToMetadata(db: Queryable, name: string): Promise<void> {
  await withMigrationLock(db, async () => {
    if (!(await countShards(db)).has(name))
      await db.query('select citus_add_local_table_to_metadata($1)', [quoted(name)])
  })
}

/** The nodes do not get a view that was created before its tables were distributed. */
async function createOnNodes(db: Queryable, view: string): Promise<void> {
  await withMigrationLock(db, async () => {
    const { rows } = await db.query<{ sql: string }>('select pg_get_viewdef($1::regclass) as sql', [view])
    await db.query(`create or replace view ${view} as ${one(rows).sql}`)
  })
}

async function withMigrationLock<T>(db: Queryable, work: () => Promise<T>): Promise<T> {
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

/** Whether entries are on the nodes. A database with Citus may not be distributed yet. */
export async function isDistributed(db: Queryable): Promise<boolean> {
  return (await countShards(db)).has('transfers')
}

/** By table; one that is not distributed is missing. */
async function countShards(db: Queryable): Promise<ReadonlyMap<string, number>> {
  const { rows } = await db.query<{ name: string; shards: number }>(
    `select c.relname as name, count(*)::int as shards from pg_dist_shard s join pg_class c on c.oid = s.logicalrelid
     where c.relnamespace = 'public'::regnamespace group by 1`,
  )
  return new Map(rows.map(({ name, shards }) => [name, shards]))
}
