/** No transaction commits on any node while some work is done, for a time that has a bound even when a node does not answer. */
import { commit } from '../connection/database.ts'
import { DatabaseUnavailable } from '../connection/database-unavailable.ts'
import { limitTime, type Connection, type OpenClient } from '../connection/open-client.ts'
import { openClient } from '../connection/servers.ts'
import { findAwayNodes } from './away-nodes.ts'

/**
 * Until the end of the transaction. Every batch of the writer holds a lock that conflicts with this one (`blockSnapshotsSql`), and
 * creating a wallet inserts into this table. A transaction's lock on the coordinator is released after its last node has committed, so
 * while this lock is held a transaction is on every node, or on none. A table that other nodes know would not do: Citus locks it on
 * every node, with a query that takes the node's snapshot before it has the lock.
 */
export const blockWritersSql = 'lock table users in share mode'

/** Some milliseconds are usual. Less than a batch waits for its lock. */
const heldAtMostMs = 2_000
const waitsAtMostMs = 3_000

/** A sentence for the operator. Nothing was changed, and writers go on. */
class NodesSilent extends DatabaseUnavailable {
  override name = 'NodesSilent'

  constructor(names: readonly string[]) {
    const which = names.length > 0 ? `These servers of the cluster do not answer: ${names.join(', ')}.` : ''
    super(`The servers of the cluster took no common snapshot in time, and nothing was changed. ${which}`.trim())
  }
}

/**
 * `work` asks the nodes, over other connections. A server process that waits for a silent node cannot be ended, so the one that holds
 * the lock asks none: the coordinator ends its transaction after the limit, even when this process is stopped. Throws `NodesSilent`
 * when the lock ended before the work did.
 */
export async function whileWritersWait(connection: Connection, work: () => Promise<unknown>): Promise<void> {
  await refuseSilent(connection)
  const lost = Promise.withResolvers<never>()
  lost.promise.catch(() => {})
  const holder = await openClient(connection, {
    name: 'billfold snapshot',
    settings: { idle_in_transaction_session_timeout: String(heldAtMostMs), lock_timeout: String(waitsAtMostMs) },
    onLost: () => lost.reject(new NodesSilent([])),
  })
  try {
    await holder.query(`begin; ${blockWritersSql}`)
    await Promise.race([workWithin(holder, work), lost.promise])
    // It fails where the coordinator has ended the transaction: what was read meanwhile counts only if the lock was held to the end.
    await commit(holder)
  } catch (error) {
    if (holder.isLost()) await refuseSilent(connection)
    throw holder.isLost() ? new NodesSilent([]) : error
  } finally {
    await holder.end()
  }
}

async function workWithin(holder: OpenClient, work: () => Promise<unknown>): Promise<void> {
  const cancel = limitTime(heldAtMostMs, holder.destroy)
  try {
    await work()
  } finally {
    cancel()
  }
}

async function refuseSilent(connection: Connection): Promise<void> {
  const away = await findAwayNodes(connection)
  if (away.length > 0) throw new NodesSilent(away.map(({ name }) => name))
}
