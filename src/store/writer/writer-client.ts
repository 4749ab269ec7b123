/** A connection that writes batches, and its number among all that do. */
import { Client } from 'pg'
import type { Connection } from '../database.ts'

export type WriterClient = {
  readonly client: Client
  /** Positions are kept by writer, so no two ever share a row. */
  readonly number: number
}

/**
 * Generic plans, because planning a batch costs more than running it. No sequential or bitmap scans: see the statements.
 * A server that is set to acknowledge before the disk has it is overruled.
 */
const settingsSql = `select set_config('enable_seqscan', 'off', false), set_config('enable_bitmapscan', 'off', false),
  set_config('plan_cache_mode', 'force_generic_plan', false), set_config('jit', 'off', false),
  set_config('statement_timeout', '7000', false), set_config('lock_timeout', $1, false),
  set_config('synchronous_commit', case current_setting('synchronous_commit') when 'off' then 'on'
    else current_setting('synchronous_commit') end, false)`

export async function openWriterClient(
  connection: Connection,
  lockTimeoutMs: number,
  onLost: (lost: Client) => void,
): Promise<WriterClient> {
  const client = new Client({
    ...connection,
    pipeline: true,
    connectionTimeoutMillis: 3_000,
    application_name: 'billfold writer',
  })
  client.on('error', () => onLost(client))
  try {
    await client.connect()
    await client.query(settingsSql, [String(lockTimeoutMs)])
    return { client, number: await takeNumber(client) }
  } catch (error) {
    destroyClient(client)
    throw error
  }
}

/** At once: a connection that hangs would not answer a polite goodbye. */
export function destroyClient(client: Client): void {
  ;(client as unknown as { connection: { stream: { destroy(): void } } }).connection.stream.destroy()
}

const writerLocks = 0x62696c6c

/** The lowest number that no living connection holds. */
async function takeNumber(client: Client): Promise<number> {
  for (let number = 1; ; number++) {
    const { rows } = await client.query<{ taken: boolean }>('select pg_try_advisory_lock($1, $2) as taken', [
      writerLocks,
      number,
    ])
    if (rows[0]!.taken) return number
  }
}
