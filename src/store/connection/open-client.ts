/** One connection to PostgreSQL: opened in time, on a server that takes writes, and never waited for without an end. */
import { Client, types, type ClientBase, type ClientConfig, type QueryConfig } from 'pg'
import { DatabaseUnavailable, sqlState } from './database-unavailable.ts'
import { readNodeFault } from './node-fault.ts'
import { one } from './rows.ts'

types.setTypeParser(types.builtins.INT8, BigInt)
types.setTypeParser(types.builtins.NUMERIC, BigInt)
types.setTypeParser(types.builtins.DATE, (text) => text)

/** Where the database is. `others` are further servers of the same database; the one that takes writes is used. */
export type Connection = ClientConfig & { readonly others?: readonly ClientConfig[] }

export type Queryable = Pick<ClientBase, 'query'>

declare module 'pg' {
  interface QueryConfig {
    /** What a cluster is asked instead, where Citus refuses the text or would read far too much for it. The values are the same. */
    onCluster?: string
  }
}

export type OpenClient = Queryable & {
  /** The number of the process that serves this connection, as the server told when it was opened. */
  readonly processId: number | null
  readonly isLost: () => boolean
  /** It leads to the coordinator of a cluster, or to another of its nodes. */
  readonly isCluster: () => boolean
  readonly isInTransaction: () => boolean
  /** Says goodbye, and waits a moment for it to be heard. */
  readonly end: () => Promise<void>
  /** At once: a connection that hangs would not hear a goodbye. Whatever it was asked fails with DatabaseUnavailable. */
  readonly destroy: () => void
}

export type ClientOptions = {
  /** What pg_stat_activity shows. */
  readonly name: string
  /** Set by a statement, because PgBouncer refuses most settings that come with the connection itself. */
  readonly settings?: Readonly<Record<string, string>>
  /** For each server that is tried. */
  readonly connectWithinMs?: number
  /** How many abandoned commits there may be on the server: with more, it is not added to them. */
  readonly maxAbandoned?: number
  /** Sends a query without waiting for the answer of the one before. */
  readonly pipeline?: boolean
  readonly onLost?: () => void
  /** The server warned of something. Without it, a warning that makes a commit doubtful ends the connection. */
  readonly onWarning?: () => void
}

const ownSettings = {
  // None of ours may hold a row while nobody works on it.
  idle_in_transaction_session_timeout: '10s',
  // The server lets go of a connection that the network has forgotten after a minute, not after two hours.
  tcp_keepalives_idle: '30',
  tcp_keepalives_interval: '10',
  tcp_keepalives_count: '3',
}

/** The server that was good the last time is asked first. */
const lastGood = new WeakMap<Connection, number>()

export async function openClient(connection: Connection, options: ClientOptions): Promise<OpenClient> {
  const servers = serversOf(connection)
  const start = lastGood.get(connection) ?? 0
  const failures: string[] = []
  let failure: unknown
  for (let i = 0; i < servers.length; i++) {
    const index = (start + i) % servers.length
    try {
      const client = await openOn(servers[index]!, options, servers.length > 1)
      lastGood.set(connection, index)
      return client
    } catch (error) {
      failure = error
      failures.push(`server ${index + 1}: ${error instanceof Error ? error.message : String(error)}`)
    }
  }
  if (servers.length === 1) throw failure
  throw new DatabaseUnavailable(`None of the ${servers.length} servers can be used: ${failures.join('; ')}`, {
    cause: failure,
  })
}

/** Any node of a cluster can coordinate a batch: of the servers that are named, the one whose turn it is. */
export async function openNode(connection: Connection, turn: number, options: ClientOptions): Promise<OpenClient> {
  return await openOn(serverAt(connection, turn), options, true, 'node')
}

/** Whether that turn is the coordinator's, to which the last connection was opened. */
export function isCoordinator(connection: Connection, turn: number): boolean {
  return serverAt(connection, turn) === serverAt(connection, lastGood.get(connection) ?? 0)
}

function serverAt(connection: Connection, turn: number): ClientConfig {
  const servers = serversOf(connection)
  return servers[turn % servers.length]!
}

function serversOf(connection: Connection): readonly ClientConfig[] {
  return [connection, ...(connection.others ?? [])]
}

/**
 * Commits of this role that wait for a synchronous standby, longer than any request of ours does. Whoever sent them has
 * been told 503 and is gone, but their server processes stay until a standby is back: neither a lost connection nor
 * statement_timeout ends that wait. Each new writer would leave one more there, up to max_connections.
 */
export const abandonedSql = `(select count(*)::int from pg_stat_activity
  where usename = current_user and wait_event = 'SyncRep' and query_start < clock_timestamp() - interval '5 s')`

/** Whether the server has Citus, so that this database is, or will be, one of a cluster's. */
export const isClusterSql = `exists (select from pg_extension where extname = 'citus')`

const settingsSql = `select count(set_config(name, value, false)),
    pg_is_in_recovery() or current_setting('transaction_read_only') = 'on' as is_read_only, ${abandonedSql} as abandoned,
    ${isClusterSql} as is_cluster
  from unnest($1::text[], $2::text[]) as s (name, value)`

/** What it is to be where there is a cluster. */
type Role = 'coordinator' | 'node'

async function openOn(
  server: ClientConfig,
  options: ClientOptions,
  mustTakeWrites: boolean,
  role: Role = 'coordinator',
): Promise<OpenClient> {
  const { name, settings, connectWithinMs = 2_000, maxAbandoned = 30, pipeline = false } = options
  const driver = new Client({
    ...server,
    pipeline,
    application_name: name,
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
  })
  const client = watched(driver, options)
  const given = Object.entries({ ...ownSettings, ...settings })
  const work = async () => {
    await driver.connect().catch((error: unknown) => {
      throw sqlState(error) === undefined ? awayFor(error) : error
    })
    const { rows } = await client.query<{ is_read_only: boolean; abandoned: number; is_cluster: boolean }>(
      settingsSql,
      [given.map(([setting]) => setting), given.map(([, value]) => value)],
    )
    const { is_read_only: isReadOnly, abandoned, is_cluster: isCluster } = one(rows)
    if (mustTakeWrites && isReadOnly) throw new DatabaseUnavailable('it takes no writes')
    if (abandoned > maxAbandoned) throw new DatabaseUnavailable('its commits wait for a standby')
    if (!isCluster && role === 'node') throw new DatabaseUnavailable('it is no node of the cluster')
    if (isCluster) await client.meetCluster(role)
    return client
  }
  try {
    return await within(client, connectWithinMs, work())
  } catch (error) {
    client.destroy()
    throw error
  }
}

/** The coordinator's group is 0. Another node knows the ledger once the tables that a batch writes were made known to it. */
const groupSql = `select groupid, to_regclass('public.positions') is not null as has_ledger from pg_dist_local_group`

type Watched = OpenClient & {
  /** From here on, statements that have a text for a cluster are asked with it. */
  readonly meetCluster: (role: Role) => Promise<void>
}

/** The driver's client, which tells a lost connection from a refused statement. */
function watched(driver: Client, { onLost, onWarning }: ClientOptions): Watched {
  let isLost = false
  let isCluster = false
  let isInDoubt = false
  const lose = () => {
    if (isLost) return
    isLost = true
    onLost?.()
  }
  const destroy = () => {
    lose()
    ;(driver as unknown as { connection: { stream: { destroy(): void } } }).connection.stream.destroy()
  }
  // Without a listener a broken connection would end the process.
  driver.on('error', lose)
  driver.on('end', lose)
  driver.on('notice', ({ code, routine }) => {
    // Plain notices have the code 00000.
    if (code !== '00000') onWarning?.()
    // A commit stopped waiting for its synchronous standby, and counts as done here alone. The routine is not translated.
    if (routine !== 'SyncRepWaitForLSN' || onWarning) return
    isInDoubt = true
    destroy()
  })
  // Of the driver's many ways to ask, the one that returns a promise.
  const ask = (...call: Parameters<Client['query']>): Promise<unknown> => {
    const [asked] = call as unknown as [string | QueryConfig]
    if (!isCluster || typeof asked === 'string' || asked.onCluster === undefined)
      return driver.query(...call) as unknown as Promise<unknown>
    return driver.query({ ...asked, text: asked.onCluster })
  }
  const query = async (...call: Parameters<Client['query']>): Promise<unknown> => {
    let result: unknown
    try {
      result = await ask(...call)
    } catch (error) {
      if (isCluster) readNodeFault(error)
      throw sqlState(error) === undefined && (isLost || isSystemError(error)) ? awayFor(error) : error
    }
    if (isInDoubt) throw new DatabaseUnavailable('the commit may not have reached the standby')
    return result
  }
  const typedQuery = query as ClientBase['query']
  return {
    query: typedQuery,
    get processId() {
      return (driver as unknown as { processID: number | null }).processID
    },
    meetCluster: async (role) => {
      const { rows } = await typedQuery<{ groupid: number; has_ledger: boolean }>(groupSql)
      const { groupid: group, has_ledger: hasLedger } = one(rows)
      // People and apps are on the coordinator alone, and so are the locks that all processes meet at.
      if (group !== 0 && role === 'coordinator')
        throw new DatabaseUnavailable('it is a worker of its cluster: name the coordinator')
      if (!hasLedger && role === 'node')
        throw new DatabaseUnavailable('it does not know the ledger: npx billfold distribute')
      isCluster = true
    },
    isLost: () => isLost,
    isCluster: () => isCluster,
    isInTransaction: () => driver.getTransactionStatus() !== 'I',
    end: async () => {
      const timer = setTimeout(destroy, 500)
      await driver.end().catch(() => {})
      clearTimeout(timer)
    },
    destroy,
  }
}

function isSystemError(error: unknown): boolean {
  return error instanceof Error && 'syscall' in error
}

function awayFor(cause: unknown): DatabaseUnavailable {
  return new DatabaseUnavailable(cause instanceof Error ? cause.message : String(cause), { cause })
}

/** When the time is up the connection is destroyed, and with it ends whatever waits for it. */
export async function within<T>(
  client: Pick<OpenClient, 'destroy'>,
  limitMs: number,
  work: PromiseLike<T>,
): Promise<T> {
  let isLate = false
  const callOff = limitTime(limitMs, () => {
    isLate = true
    client.destroy()
  })
  try {
    return await work
  } catch (error) {
    throw isLate ? new DatabaseUnavailable(`no answer within ${limitMs} ms`, { cause: error }) : error
  } finally {
    callOff()
  }
}

/** A timer that comes later than this was held up by its own process. */
const heldUpMs = 200
const momentMs = 1_000

/**
 * Gives up when the time is over, unless that is called off before. Time in which this process stood still itself, as on a
 * machine that was suspended, is not the server's: the answer may lie here unread, so it gets a moment more.
 */
export function limitTime(limitMs: number, giveUp: () => void): () => void {
  const endsAt = performance.now() + limitMs
  let timer = setTimeout(() => {
    if (performance.now() - endsAt < heldUpMs) giveUp()
    else timer = setTimeout(giveUp, Math.min(limitMs, momentMs))
  }, limitMs)
  return () => clearTimeout(timer)
}
