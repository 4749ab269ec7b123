import { realpath } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { Client } from 'pg'
import { isUnavailable, sqlState } from '../database.ts'
import { locks } from '../locks.ts'
import { isAlive } from './server-process.ts'
import { errorCode } from './refused.ts'

/**
 * A service's share in the server: a connection that holds an advisory lock in shared mode. The server itself forgets it when
 * the service ends, however it ends, so there is no list to go stale.
 */
export type Registration = {
  socketDir: string
  /** Fulfils when the connection ends, by us or by the server. */
  ended: Promise<void>
  /** Gives the share back. True if no other service has one; then none can register until this connection ends. */
  leave: () => Promise<boolean>
  close: () => Promise<void>
}

export type EmbeddedConnection = {
  host: string
  port: number
  user: string
  database: string
  ssl: false
}

/** The driver has these two; its types do not. */
type ReferencedClient = Client & { ref(): void; unref(): void }

/** Everything the environment could change (PGPORT, PGSSLMODE …) is given, so that it does not. */
export function connectionTo(socketDir: string, name: 'billfold' | 'postgres'): EmbeddedConnection {
  return { host: socketDir, port: 5432, user: name, database: name, ssl: false }
}

/** `absent`: no server of this folder listens there. `busy`: one does, but it is starting, recovering or stopping. */
export async function register(
  socketDir: string,
  databaseDir: string,
  mark: string,
): Promise<Registration | 'absent' | 'busy'> {
  const client = openClient(socketDir, 'postgres')
  const ended = new Promise<void>((resolve) => client.once('end', resolve))
  try {
    await client.connect()
    // A folder copied while its server ran brings along a lock file that leads to the other folder's server.
    if (!(await servesFolder(client, databaseDir, mark))) {
      await client.end()
      return 'absent'
    }
    await client.query('select pg_advisory_lock_shared($1)', [locks.embeddedService])
    await createDatabase(client)
    // A server told to stop refuses new connections before it ends old ones: only after this one is our share sure to count.
    await proveOpen(socketDir)
  } catch (error) {
    await client.end().catch(() => undefined)
    if (['ENOENT', 'ECONNREFUSED'].includes(errorCode(error) ?? '')) return 'absent'
    // What has no code of PostgreSQL's is the driver's word for a connection that broke or came to nothing.
    if (sqlState(error) === undefined || isUnavailable(error)) return 'busy'
    throw error
  }
  // A share alone must not keep a finished program running.
  client.unref()
  return { socketDir, ended, leave: () => leave(client), close: () => client.end().catch(() => undefined) }
}

async function proveOpen(socketDir: string): Promise<void> {
  const client = openClient(socketDir, 'billfold')
  try {
    await client.connect()
  } finally {
    await client.end().catch(() => undefined)
  }
}

function openClient(socketDir: string, name: 'billfold' | 'postgres'): ReferencedClient {
  const client = new Client({
    ...connectionTo(socketDir, name),
    application_name: `billfold supervisor ${process.pid}`,
    connectionTimeoutMillis: 3_000,
  })
  // Its end is reported by `ended`; without a listener the error before it would end the process.
  client.on('error', () => undefined)
  return client as ReferencedClient
}

async function leave(client: ReferencedClient): Promise<boolean> {
  client.ref()
  try {
    await client.query('select pg_advisory_unlock_shared($1)', [locks.embeddedService])
    for (const deadline = Date.now() + 5_000; Date.now() < deadline; await sleep(20)) {
      const { rows } = await client.query<{ isLast: boolean }>('select pg_try_advisory_lock($1) as "isLast"', [
        locks.embeddedService,
      ])
      if (rows[0]?.isLast) return true
      if ((await listHolders(client)).some(isAlive)) return false
      // Those who still hold a share were killed, and the server is about to notice.
    }
  } catch {
    // The server went away by itself: there is nothing left to leave.
  }
  return false
}

async function listHolders(client: Client): Promise<number[]> {
  const { rows } = await client.query<{ pid: number }>(
    `select split_part(application_name, ' ', 3)::int as pid from pg_locks join pg_stat_activity using (pid)
     where locktype = 'advisory' and objid = $1 and application_name ~ '^billfold supervisor [0-9]+$'`,
    [locks.embeddedService],
  )
  return rows.map(({ pid }) => pid)
}

async function servesFolder(client: Client, databaseDir: string, mark: string): Promise<boolean> {
  const { rows } = await client.query<{ mark: string; folder: string }>(
    `select current_setting('cluster_name') as mark, current_setting('data_directory') as folder`,
  )
  const server = rows[0]
  if (!server) return false
  // A server started by hand, with pg_ctl say, has no mark.
  return server.mark === mark || (await realpath(server.folder).catch(() => null)) === databaseDir
}

/** `billfold` owns its database and nothing else; the superuser is for the supervisor alone. */
async function createDatabase(client: Client): Promise<void> {
  const { rows } = await client.query(`select 1 from pg_database where datname = 'billfold'`)
  if (rows.length > 0) return
  await ignoreDuplicate(client.query('create role billfold login createdb in role pg_monitor'))
  await ignoreDuplicate(client.query('create database billfold owner billfold'))
}

/** Two services may be the first at the same moment. */
async function ignoreDuplicate(work: Promise<unknown>): Promise<void> {
  await work.catch((error) => {
    if (!['42710', '42P04', '23505'].includes(sqlState(error) ?? '')) throw error
  })
}
