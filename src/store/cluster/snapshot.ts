/** One snapshot on all nodes. Citus passes the isolation level of a transaction to the nodes, but each node takes its own snapshot. */
import type { OpenClient, Queryable } from '../connection/open-client.ts'
import { one } from '../connection/rows.ts'

/** Every connection to a node takes its own snapshot, so there is one connection per node. */
const oneSnapshotPerNodeSql = `set local citus.max_adaptive_executor_pool_size = 1`

/** Makes every node take its snapshot. */
const touchNodesSql = `select 1 from wallets limit 1`

/** Until the end of the transaction. */
export const blockWritersSql = 'lock table users in share mode'

/**
 * No transaction commits while the nodes take their snapshots: every batch of the writer holds a lock that conflicts with this
 * one (`blockSnapshotsSql`), and creating a wallet inserts into this table. A transaction's lock on the coordinator is released
 * after its last node has committed, so the holder of this lock sees a transaction on every node, or on none. A table that other
 * nodes know would not do: Citus locks it on every node, with a query that takes the node's snapshot before it has the lock.
 */
const takeSnapshotSql = `${oneSnapshotPerNodeSql}; savepoint before_lock; set local lock_timeout = '3s';
  ${blockWritersSql}; ${touchNodesSql}`

/** In a transaction on the coordinator, which stays open until the batch is committed on every node. */
export const blockSnapshotsSql = 'lock table users in row exclusive mode'

/** Releases the lock, which was taken after the savepoint. The snapshots stay. */
const unlockWritersSql = 'rollback to savepoint before_lock'

/** For a step of the continuous check. Without `isExact` each node has a different snapshot, and no writer waits. */
export function snapshotSql({ isExact }: { readonly isExact: boolean }): string {
  return isExact ? `${takeSnapshotSql}; ${unlockWritersSql}` : oneSnapshotPerNodeSql
}

const beginSql = 'begin transaction isolation level repeatable read, read only'

/** A period is archived or restored in a transaction that locks closings. A snapshot from before it would not show what replaces its tables. */
export const keepPeriodsSql = 'lock table closings in access share mode'

/** Further connections may join between the two. */
export const beginSnapshot = { text: `${beginSql}; ${keepPeriodsSql}`, onCluster: `${beginSql}; ${takeSnapshotSql}` }
export const endSnapshot = { text: 'select 1', onCluster: unlockWritersSql }

const joinSnapshotSql = `${beginSql}; ${oneSnapshotPerNodeSql}; ${touchNodesSql}`

/** Gives the other connections the first one's snapshot. */
export async function joinSnapshot(first: OpenClient, others: readonly Queryable[]): Promise<void> {
  if (others.length === 0) return
  // No transaction commits on any node until the snapshot is complete.
  if (first.isCluster()) return void (await Promise.all(others.map((client) => client.query(joinSnapshotSql))))
  const { rows } = await first.query<{ snapshot: string }>('select pg_export_snapshot() as snapshot')
  const { snapshot } = one(rows)
  await Promise.all(
    others.map(async (client) => {
      await client.query(beginSql)
      await client.query(`set transaction snapshot '${snapshot}'`)
    }),
  )
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
