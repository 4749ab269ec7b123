/**
 * A pooler in front of PostgreSQL must give each connection its own server process, which holds settings, prepared statements
 * and the writer's number. A pooler that shares processes between transactions is detected by experiment.
 */
import { randomUUID } from 'node:crypto'
import { within, type Connection, type OpenClient } from './open-client.ts'
import { openClient } from './servers.ts'
import { DatabaseUnavailable, sqlState } from './database-unavailable.ts'
import { one } from './rows.ts'

class PoolerRefused extends Error {
  override name = 'PoolerRefused'
}

const name = 'billfold start'
const answerWithinMs = 2_000
/** A pooler assigns either the process that became free last, or the one free for longest. */
const tries = 8

export async function refuseSharingPooler(connection: Connection, client: OpenClient): Promise<void> {
  if ((await processIdOf(client)) === client.processId) return
  const mark = randomUUID()
  await client.query(`select set_config('billfold.mark', $1, false)`, [mark])
  const others: OpenClient[] = []
  try {
    for (let i = 0; i < tries; i++) {
      const other = await openClient(connection, { name, connectWithinMs: answerWithinMs })
      others.push(other)
      // Each stays in a transaction, so that the next one gets another process.
      await within(other, answerWithinMs, other.query('begin'))
      if ((await markOf(other)) === mark || (await markOf(client)) !== mark) throw new PoolerRefused(refusal)
    }
  } catch (error) {
    // Poolers that share processes between statements refuse a transaction with 08P01.
    if (sqlState(error) === '08P01') throw new PoolerRefused(refusal)
    // No process is free for another connection, because the first has its own: processes are not shared.
    if (!(error instanceof DatabaseUnavailable)) throw error
  } finally {
    for (const other of others) other.destroy()
  }
}

const refusal = `DATABASE_URL leads to a pooler that shares server processes between transactions, which would mix up the settings and statements of different connections: set pool_mode = session for this database in PgBouncer, or connect to PostgreSQL directly.`

/** Poolers report their own number when a connection is opened. */
async function processIdOf(client: OpenClient): Promise<number> {
  const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid')
  return one(rows).pid
}

async function markOf(client: OpenClient): Promise<string | null> {
  const asked = client.query<{ mark: string | null }>(`select current_setting('billfold.mark', true) as mark`)
  const { rows } = await within(client, answerWithinMs, asked)
  return one(rows).mark
}
