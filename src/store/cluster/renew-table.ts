/** Closing a period on a cluster: a table that is distributed is renamed with its shards, and the new one gets its shards beside them. */
import { within, type OpenClient } from '../connection/open-client.ts'
import { quoted } from '../migrations/tables.ts'
import { distributed } from './distribution.ts'
import { awaySql } from './outage.ts'
import { beginSchemaChange, blockWritersSql } from './snapshot.ts'

/** After this the table has as many shards as `beside`, each on the same node. */
export function distributeBesideSql(name: 'transfers' | 'outcomes', beside: string): string {
  const { by } = distributed.find((table) => table.name === name)!
  return `select create_distributed_table('${quoted(name)}', '${by}', colocate_with := '${quoted(beside)}')`
}

const connectWithinMs = 1_000
const answerWithinMs = 5_000

/** The names of nodes that do not answer: a transaction that changes tables would wait for them, and every batch for it. */
export async function findAwayNodes(client: OpenClient): Promise<string[]> {
  await client.query(`set citus.node_connection_timeout = ${connectWithinMs}`)
  const { rows } = await within(client, answerWithinMs, client.query<{ name: string }>(awaySql))
  return rows.map(({ name }) => name)
}

/**
 * No batch is under way on any node while the tables are exchanged. The nodes get the limit of a lock with the transaction, and every
 * statement by itself: they refuse several.
 */
export async function changeTables(
  client: OpenClient,
  lockTimeoutMs: number,
  work: () => Promise<readonly string[]>,
): Promise<void> {
  await client.query(beginSchemaChange.onCluster)
  await client.query(`set local citus.propagate_set_commands = 'local'`)
  await client.query(`set local lock_timeout = ${lockTimeoutMs}`)
  const statements = await work()
  for (const statement of [blockWritersSql, ...statements]) await client.query(statement)
}
