/** Which backends wait for a row that another one holds. On a cluster the waiting one is a node's. */
import type { Queryable } from '../src/store/connection/database.ts'

const waitsIn = (activity: string) => `from ${activity} where datname = current_database() and wait_event_type = 'Lock'`
const oneServer = waitsIn('pg_stat_activity')
const allNodes = waitsIn('citus_stat_activity')

/** A row for each. */
export const lockWaitsSql = { text: `select query ${oneServer}`, onCluster: `select query ${allNodes}` }

export const endLockWaitsSql = {
  text: `select pg_terminate_backend(pid) ${oneServer}`,
  onCluster: `select pg_terminate_backend(global_pid) ${allNodes}`,
}

/** Begins a transaction whose locks stay however slow the machine is: the server ends an idle one of the service after ten seconds. */
export async function beginPatiently(client: Pick<Queryable, 'query'>): Promise<void> {
  await client.query('begin; set local idle_in_transaction_session_timeout = 0')
}
