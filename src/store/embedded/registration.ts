import { realpath } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { Client } from 'pg'
import { isUnavailable, sqlState } from '../connection/database.ts'
import { locks } from '../locks.ts'
import { isAlive } from './server-process.ts'
import { errorCode } from './refused.ts'
import { maybe } from '../connection/rows.ts'

/**
 * A service's share in the server: a connection that holds the advisory lock `embeddedService` in shared mode. PostgreSQL
 * releases the lock when that connection ends, however the service ends, so no list of services can be out of date.
 */
export type Registration = {
  socketDir: string
  /** Resolves when the connection ends, closed by us or by the server. */
  ended: Promise<void>
  /** Releases the shared lock. True if no other service holds it: this connection then holds it alone, and none can register. */
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

/** The driver's client has these two methods; its types lack them. */
type ReferencedClient = Client & { ref(): void; unref(): void }

/** Every setting that the driver would else read from the environment (PGPORT, PGSSLMODE …) is given. */
export function connectionTo(socketDir: string, name: 'billfold' | 'postgres'): EmbeddedConnection {
  return { host: socketDir, port: 5432, user: name, database: name, ssl: false }
}

/** A server that refuses to be joined now; `isPassing`: because it is starting, recovering or stopping. */
export type Busy = { readonly isPassing: boolean; readonly reason: string; readonly cause: unknown }

/** `absent`: no server of this folder listens there. */
export async function register(
  socketDir: string,
  databaseDir: string,
  mark: string,
): Promise<Registration | Busy | 'absent'> {
  const client = openClient(socketDir, 'postgres')
  const ended = new Promise<void>((resolve) => client.once('end', resolve))
  try {
    await client.connect()
    // In a folder copied while its server ran, the copied postmaster.pid names the socket of the original folder's server.
    if (!(await servesFolder(client, databaseDir, mark))) {
      await client.end()
      return 'absent'
    }
    await client.query('select pg_advisory_lock_shared($1)', [locks.embeddedService])
    await createDatabase(client)
    // A server that is stopping refuses new connections before it ends old ones. One more accepted connection proves that our
    // lock was taken before any stop, so every service that leaves later sees it.
    await proveOpen(socketDir)
  } catch (error) {
    await client.end().catch(() => undefined)
    if (['ENOENT', 'ECONNREFUSED'].includes(errorCode(error) ?? '')) return 'absent'
    // An error without a code of PostgreSQL's is the driver's: the connection broke, or was never made.
    const code = sqlState(error)
    if (code !== undefined && !isUnavailable(error)) throw error
    return {
      isPassing: code?.startsWith('57') ?? false,
      reason: error instanceof Error ? error.message : String(error),
      cause: error,
    }
  }
  // This connection alone must not keep a finished program running.
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
  // The end of the connection is reported by `ended`; its error event, without a listener, would end our process.
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
      if (maybe(rows)?.isLast) return true
      if ((await listHolders(client)).some(isAlive)) return false
      // Every process that still holds the lock was killed; the server is about to end their connections.
    }
  } catch {
    // The server has ended by itself, and the lock with it.
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
  const server = maybe(rows)
  if (!server) return false
  // A server started by hand, with pg_ctl say, has no mark in its cluster_name; then its data_directory is compared.
  return server.mark === mark || (await realpath(server.folder).catch(() => null)) === databaseDir
}

/** `billfold` owns its database and nothing else; only the supervisor uses the superuser. */
async function createDatabase(client: Client): Promise<void> {
  const { rows } = await client.query(`select 1 from pg_database where datname = 'billfold'`)
  if (rows.length > 0) return
  await ignoreDuplicate(client.query('create role billfold login createdb in role pg_monitor'))
  await ignoreDuplicate(client.query('create database billfold owner billfold'))
}

/** Of two services that create the role or the database at once, one is refused with "already exists". */
async function ignoreDuplicate(work: Promise<unknown>): Promise<void> {
  await work.catch((error) => {
    if (!['42710', '42P04', '23505'].includes(sqlState(error) ?? '')) throw error
  })
}
