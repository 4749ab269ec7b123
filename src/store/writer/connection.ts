/** A connection that writes batches, and its number among all writing connections. */
import { nodeNumberSql, writerSettingsSql } from '../cluster/batch.ts'
import { within, type ClientOptions, type Connection, type OpenClient } from '../connection/open-client.ts'
import { openClient } from '../connection/servers.ts'
import { locks } from '../locks.ts'
import { one } from '../connection/rows.ts'

export type WriterClient = {
  readonly client: OpenClient
  /** Position rows are keyed by it, so no two writers share a row. */
  readonly number: number
  /** Number of warnings the server has sent: a warning during a batch makes its commit doubtful. */
  readonly doubts: () => number
}

/**
 * Generic plans, because planning a batch costs more than running it. No sequential or bitmap scans: see the statements.
 * synchronous_commit = off is overruled: an answer must be durable. The idle timeout releases the rows of a connection
 * that goes silent inside a transaction.
 */
const settingsSql = `select set_config('enable_seqscan', 'off', false), set_config('enable_bitmapscan', 'off', false),
  set_config('jit', 'off', false), set_config('statement_timeout', '3500', false),
  set_config('idle_in_transaction_session_timeout', '2000', false), ${writerSettingsSql('$1')},
  set_config('synchronous_commit', case current_setting('synchronous_commit') when 'off' then 'on'
    else current_setting('synchronous_commit') end, false)`

/**
 * The lowest number that no open connection holds: the scan ends at the first one it can lock. generate_series is in the
 * select list because in FROM it would produce all numbers before the first is tried.
 */
const takeNumberSql = `select number from (select generate_series(1, 100000) as number) as n
  where pg_try_advisory_lock($1, number) limit 1`

/** Applies to the connection, and again to its settings and number. */
const openWithinMs = 2_500

/** A writer's commit would be the next to wait; other connections go on reading while the standby is away. */
const maxAbandoned = 0

export async function openWriterClient(
  connection: Connection,
  lockTimeoutMs: number,
  onLost: (lost: OpenClient | undefined) => void,
  open = openClient,
): Promise<WriterClient> {
  let doubts = 0
  let opened: OpenClient | undefined
  const options: ClientOptions = {
    name: 'billfold writer',
    pipeline: true,
    connectWithinMs: openWithinMs,
    maxAbandoned,
    onLost: () => onLost(opened),
    // A commit that stopped waiting for its standby reports it only as a warning.
    onWarning: () => void doubts++,
  }
  const client = await open(connection, options)
  opened = client
  const setUp = async () => {
    // One round trip: where connections break every few milliseconds, each one counts.
    const [, { rows }] = await Promise.all([
      client.query(settingsSql, [String(lockTimeoutMs)]),
      client.query<{ number: number }>({
        text: takeNumberSql,
        onCluster: nodeNumberSql(takeNumberSql),
        values: [locks.writerNumber],
      }),
    ])
    return { client, number: one(rows).number, doubts: () => doubts }
  }
  try {
    return await within(client, openWithinMs, setUp())
  } catch (error) {
    client.destroy()
    throw error
  }
}

/**
 * Where a synchronous standby is configured, this writes a record, so its commit waits until the standby has everything
 * up to it, including what was read before. (`txid_current()` alone would not wait.)
 */
export const confirmSql = `select pg_logical_emit_message(true, 'billfold', '')
  where current_setting('synchronous_standby_names') <> ''`

/** The server warned during a batch: its commit may be on this server alone, and a failover would lose it. */
export class InDoubt extends Error {}
