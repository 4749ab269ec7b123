/** Closing a period on a cluster: a table that is distributed is renamed with its shards, and the new one gets its shards beside them. */
import { within, type OpenClient } from '../connection/open-client.ts'
import { quoted } from '../migrations/tables.ts'
import { blockWritersSql } from './block-writers.ts'
import { distributed } from './distribution.ts'
import { beginSchemaChange } from './snapshot.ts'

/** After this the table has as many shards as `beside`, each on the same node. */
export function distributeBesideSql(name: 'transfers' | 'outcomes', beside: string): string {
  const { by } = distributed.find((table) => table.name === name)!
  return `select create_distributed_table('${quoted(name)}', '${by}', colocate_with := '${quoted(beside)}')`
}

/** Half a second is usual. */
const prepareWithinMs = 10_000
const exchangeWithinMs = 10_000
const rollbackWithinMs = 2_000
/** The coordinator ends the transaction of a command that is stopped, and a statement of a node that is slow. */
const limitsSql = [
  'set local idle_in_transaction_session_timeout = 2000',
  `set local statement_timeout = ${exchangeWithinMs / 2}`,
]

export type TableChange = {
  readonly lockTimeoutMs: number
  /** Returns the statements that need the lock, up to the commit. It has none itself. */
  readonly prepare: () => Promise<readonly string[]>
  /** Throws unless every node answers. */
  readonly askNodes: () => Promise<void>
}

/**
 * No batch is under way on any node while the tables are exchanged. The nodes get the limit of a lock with the transaction, and every
 * statement by itself: they refuse several.
 */
export async function changeTables(
  client: OpenClient,
  { lockTimeoutMs, prepare, askNodes }: TableChange,
): Promise<void> {
  const begin = async () => {
    await client.query(beginSchemaChange.onCluster)
    await client.query(`set local citus.propagate_set_commands = 'local'`)
    await client.query(`set local lock_timeout = ${lockTimeoutMs}`)
    return await prepare()
  }
  const statements = await within(client, prepareWithinMs, begin())
  await askNodes().catch((error: unknown) => {
    // A rollback would wait for the node too.
    client.destroy()
    throw error
  })
  const exchange = async () => {
    for (const statement of [...limitsSql, blockWritersSql, ...statements]) await client.query(statement)
  }
  // A node that falls silent in here keeps the lock: the server process that waits for it cannot be ended.
  await within(client, exchangeWithinMs, exchange()).catch(async (error: unknown) => {
    await within(client, rollbackWithinMs, client.query('rollback')).catch(() => {})
    if (!client.isLost()) throw error
    throw new Error(
      `A server of the cluster did not answer while the tables were exchanged (${String(error)}). Payments may wait until it does: npx billfold doctor names it. Then see with npx billfold period list whether the period is closed.`,
      { cause: error },
    )
  })
}
