/** What a connection that writes batches needs on a cluster: settings, its number, the beginning of a transaction, the clock. */
import type { Transaction } from '../connection/database.ts'
import type { OpenClient, Queryable } from '../connection/open-client.ts'
import { locks } from '../locks.ts'
import { isClusterSql } from './membership.ts'
import { blockSnapshotsSql } from './snapshot.ts'

/**
 * Settings of the connection, with the lock timeout of plain PostgreSQL in this parameter. Citus refuses generic plans. By
 * default it runs the updates of several writers one at a time to prevent deadlocks; that is off, and lock_timeout ends a
 * deadlock. It is longer on a cluster, where `beginBatch` may first wait for a check that takes its snapshot. One connection
 * to each node writes all of its shards, and prepares one transaction: with four shards on each of two nodes, a batch of 1,024
 * took 290 ms of processor time over several connections, and 185 over one. Plain PostgreSQL ignores the settings of Citus.
 */
export const writerSettingsSql = (
  lockTimeout: string,
) => `set_config('plan_cache_mode', case when ${isClusterSql} then 'auto' else 'force_generic_plan' end, false),
  set_config('lock_timeout', case when ${isClusterSql} then '3000' else ${lockTimeout} end, false),
  set_config('citus.propagate_set_commands', 'local', false), set_config('citus.enable_deadlock_prevention', 'off', false),
  set_config('citus.max_adaptive_executor_pool_size', '1', false), set_config('citus.all_modifications_commutative', 'on', false)`

/** Advisory locks are per node, so each node has its own range of numbers: below zero, except on the coordinator. */
export const nodeNumberSql = (
  takeNumberSql: string,
) => `select case groupid when 0 then number else -(groupid * 100000 + number) end as number
  from (${takeNumberSql}) as taken, pg_dist_local_group`

/**
 * The nodes of a cluster do not get a connection's settings. Citus sends them a transaction's settings, each as the text of
 * its statement: so each setting is a statement.
 */
const nodeSettings = ['set local lock_timeout = 200', 'set local enable_seqscan = off']

/** The transaction of a batch, on plain PostgreSQL or on the coordinator. */
export async function beginBatch(client: Queryable & Partial<Pick<OpenClient, 'isCluster'>>): Promise<void> {
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

/** One round trip: the connection is in pipeline mode. */
async function beginWith(client: Queryable, settings: readonly string[]): Promise<void> {
  await Promise.all(['begin', ...settings].map((sql) => client.query(sql)))
}

/** Queries sent in one round trip. Throws the error of the first that failed, because those after it only follow from it. */
export async function roundTrip<T extends readonly unknown[] | []>(
  sent: T,
): Promise<{ -readonly [Index in keyof T]: Awaited<T[Index]> }> {
  await Promise.allSettled(sent)
  return await Promise.all(sent)
}

/**
 * The time in an UPDATE of wallets `w`, read on the node that has the row, after it is locked. Citus does not allow a clock in
 * RETURNING, and the coordinating node's clock would differ from batch to batch.
 */
export const walletClockSql = 'wallet_clock(w.id)'

/** The same where a statement only reads, after the row was locked. */
export const walletClockOf = (walletId: string) => `wallet_clock(${walletId})`

/**
 * A node releases a row that was only locked, or that is the only change on it, before the coordinator commits what was written
 * there. A transaction that waits for the row alone would not see that, so it waits for this lock first.
 *
 * Batches of the writer do not take this lock. Where the wallet is changed, they wait until the coordinator has committed: a change of
 * `positions`, which every node knows, makes Citus prepare the commit on every node first. Otherwise the journal could have the wallet's
 * next entry before a freeze that precedes it, and a crash in between would lose the report of the freeze.
 */
export async function lockWalletOnCluster(tx: Transaction, walletId: string): Promise<void> {
  if (!tx.isCluster()) return
  await tx.query('select pg_advisory_xact_lock($1, hashtext($2))', [locks.wallet, walletId])
  await tx.query(`update positions set transfers = transfers where counter_account = ''`)
}
