/** Closing, archiving and restoring a period on a cluster: a table that is distributed is renamed with its shards, and a new one gets its shards beside others. */
import { within, type OpenClient } from '../connection/open-client.ts'
import { quoted } from '../migrations/tables.ts'
import { blockWritersSql } from './block-writers.ts'
import { distributed } from './distribution.ts'
import { beginSchemaChange } from './snapshot.ts'

/** After this the table has as many shards as `beside`, each on the same node. Its rows are those of `kind`. */
export function distributeBesideSql(table: string, kind: 'transfers' | 'outcomes', beside: string): string {
  const { by } = distributed.find(({ name }) => name === kind)!
  return `select create_distributed_table('${quoted(table)}', '${by}', colocate_with := '${quoted(beside)}')`
}

/**
 * The view is replaced on the coordinator alone, where its tables are. Nothing reads it on another node, and Citus would refuse to create it
 * there. It is also taken off the list of what a new node gets.
 */
export function replaceOnOneServer(view: string, replaceSql: string): string[] {
  return [
    `select citus_unmark_object_distributed('pg_class'::regclass, '${quoted(view)}'::regclass, 0, false)`,
    'set local citus.enable_ddl_propagation = off',
    replaceSql,
    'set local citus.enable_ddl_propagation = on',
  ]
}

/** For a connection that makes tables of the ledger: it creates triggers on every shard. */
export const tableSettingsSql = 'set citus.enable_unsafe_triggers = on'

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
      `A server of the cluster did not answer while the tables were exchanged (${String(error)}). Payments may wait until it does: npx billfold doctor names it. Then see with npx billfold period list where the period is.`,
      { cause: error },
    )
  })
}
