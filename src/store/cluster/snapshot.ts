/** One snapshot on all nodes. Citus passes the isolation level of a transaction to the nodes, but each node takes its own snapshot. */
import type { Transaction } from '../connection/database.ts'
import type { Connection, OpenClient, Queryable } from '../connection/open-client.ts'
import { one } from '../connection/rows.ts'
import { whileWritersWait } from './block-writers.ts'

/** Every connection to a node takes its own snapshot, so there is one connection per node. */
export const oneSnapshotPerNodeSql = `set local citus.max_adaptive_executor_pool_size = 1`

/** Makes every node take its snapshot. */
const touchNodesSql = `select 1 from wallets limit 1`

/** In a transaction on the coordinator, which stays open until the batch is committed on every node. */
export const blockSnapshotsSql = 'lock table users in row exclusive mode'

const beginSql = 'begin transaction isolation level repeatable read, read only'

/** A period is archived or restored in a transaction that locks closings. A snapshot from before it would not show what replaces its tables. */
export const keepPeriodsSql = 'lock table closings in access share mode'

/** On a cluster, the nodes take their snapshots later. */
export const beginSnapshotSql = `${beginSql}; ${keepPeriodsSql}`

/** Begins a transaction on each of these connections, all with one snapshot. */
export async function beginSnapshot(
  connection: Connection,
  [first, ...others]: readonly [OpenClient, ...OpenClient[]],
): Promise<void> {
  if (first.isCluster()) return await beginOnCluster(connection, [first, ...others])
  await first.query(beginSnapshotSql)
  if (others.length === 0) return
  const { rows } = await first.query<{ snapshot: string }>('select pg_export_snapshot() as snapshot')
  const { snapshot } = one(rows)
  await Promise.all(
    others.map(async (client) => {
      await client.query(beginSql)
      await client.query(`set transaction snapshot '${snapshot}'`)
    }),
  )
}

async function beginOnCluster(connection: Connection, all: readonly OpenClient[]): Promise<void> {
  await Promise.all(all.map((client) => client.query(`${beginSnapshotSql}; ${oneSnapshotPerNodeSql}`)))
  await takeSnapshots(connection, all)
}

/** In a transaction that has no snapshot yet: it gets one, the same on every node. Plain PostgreSQL takes it by itself. */
export async function takeSnapshot(connection: Connection, tx: Transaction): Promise<void> {
  if (tx.isCluster()) await takeSnapshots(connection, [tx])
}

/** In transactions on the coordinator that have no snapshot yet. All get the same one, on every node. */
async function takeSnapshots(connection: Connection, all: readonly Queryable[]): Promise<void> {
  await whileWritersWait(connection, async () => {
    await Promise.all(all.map((client) => client.query(touchNodesSql)))
  })
}

/**
 * For a transaction that changes tables as well as their rows: one connection to each node, including the coordinator's own
 * shards, and one shard after the other.
 */
export const beginSchemaChange = {
  text: 'begin',
  onCluster: `begin; ${oneSnapshotPerNodeSql}; set local citus.enable_local_execution = off;
    set local citus.multi_shard_modify_mode = 'sequential'; set local citus.enable_unsafe_triggers = on`,
}
