/**
 * One connection to one PostgreSQL server: opened within a time limit, and with a limit for every answer. `servers` chooses the
 * server.
 */
import { Client, types, type ClientBase, type ClientConfig, type QueryConfig } from 'pg'
import { DatabaseUnavailable, sqlState, StandbyLost } from './database-unavailable.ts'
import { checkCoordinator, isClusterSql, type CheckRole } from '../cluster/membership.ts'
import { restoreNodeFault } from '../cluster/node-fault.ts'
import { one } from './rows.ts'

types.setTypeParser(types.builtins.INT8, BigInt)
types.setTypeParser(types.builtins.NUMERIC, BigInt)
types.setTypeParser(types.builtins.DATE, (text) => text)

/** The address of the database. `others` are further servers of the same database; the one that accepts writes is used. */
export type Connection = ClientConfig & { readonly others?: readonly ClientConfig[] }

export type Queryable = Pick<ClientBase, 'query'>

declare module 'pg' {
  interface QueryConfig {
    /** The text for a cluster, where it would refuse `text` or read far too much for it. The values are the same. */
    onCluster?: string
  }
}

export type OpenClient = Queryable & {
  /** The pid of the server process, as reported when the connection was opened. */
  readonly processId: number | null
  readonly isLost: () => boolean
  /** Whether it leads to a cluster. */
  readonly isCluster: () => boolean
  readonly isInTransaction: () => boolean
  /** When an answer arrived last, or the connection was opened. */
  readonly lastAnswerAt: () => number
  readonly isBusy: () => boolean
  /** Closes it politely, with a short limit. */
  readonly end: () => Promise<void>
  /** Closes it at once, for a connection that hangs. Its pending queries fail with DatabaseUnavailable. */
  readonly destroy: () => void
}

export type ClientOptions = {
  /** Shown in pg_stat_activity. */
  readonly name: string
  /** Sent in a statement, because PgBouncer refuses most settings in the start-up message. */
  readonly settings?: Readonly<Record<string, string>>
  /** Per server that is tried. */
  readonly connectWithinMs?: number
  /** The most abandoned commits the server may have. Above that no connection is opened, because each can add one. */
  readonly maxAbandoned?: number
  /** Sends a query without waiting for the answer of the one before. */
  readonly pipeline?: boolean
  /** While it is lost, statements that write are refused: each would leave a server process waiting. */
  readonly standby?: { readonly isLost: boolean }
  readonly onLost?: () => void
  /** It was destroyed after a long wait for an answer; `since`: when that wait began. */
  readonly onSilent?: (since: number) => void
  /** Called for every warning of the server. Without it, a warning that makes a commit doubtful ends the connection. */
  readonly onWarning?: () => void
}

/** For a start and for commands, which no caller waits for: a busy server may need seconds to open a connection. */
export const commandConnectMs = 5_000

const ownSettings = {
  // No connection may hold a row lock while idle.
  idle_in_transaction_session_timeout: '10s',
  // The server drops a connection that the network has lost after a minute, not after two hours.
  tcp_keepalives_idle: '30',
  tcp_keepalives_interval: '10',
  tcp_keepalives_count: '3',
}

/**
 * Commits of this role that have waited for a synchronous standby longer than any request does. Their callers got a 503, but the
 * server processes stay until a standby returns: neither a lost connection nor statement_timeout ends that wait. Each new writer
 * would add one, up to max_connections.
 */
export const abandonedSql = `(select count(*)::int from pg_stat_activity
  where usename = current_user and wait_event = 'SyncRep' and query_start < clock_timestamp() - interval '3.5 s')`

const settingsSql = `select count(set_config(name, value, false)),
    pg_is_in_recovery() or current_setting('transaction_read_only') = 'on' as is_read_only, ${abandonedSql} as abandoned,
    ${isClusterSql} as is_cluster
  from unnest($1::text[], $2::text[]) as s (name, value)`

export async function openOn(
  server: ClientConfig,
  options: ClientOptions,
  mustTakeWrites: boolean,
  checkRole: CheckRole = checkCoordinator,
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
      throw sqlState(error) === undefined ? asUnavailable(error) : error
    })
    const { rows } = await client.query<{ is_read_only: boolean; abandoned: number; is_cluster: boolean }>(
      settingsSql,
      [given.map(([setting]) => setting), given.map(([, value]) => value)],
    )
    const { is_read_only: isReadOnly, abandoned, is_cluster: isCluster } = one(rows)
    if (mustTakeWrites && isReadOnly) throw new DatabaseUnavailable('it takes no writes')
    if (abandoned > maxAbandoned) throw new DatabaseUnavailable('its commits wait for a standby')
    await checkRole(client, isCluster)
    if (isCluster) client.useClusterTexts()
    return client
  }
  try {
    return await within(client, connectWithinMs, work())
  } catch (error) {
    client.destroy()
    throw error
  }
}

/**
 * A request's statement ends on the server before this, so an answer that takes longer means that the connection is dead, not
 * that the server is slow.
 */
const silentForMs = 3_100

type Watched = OpenClient & {
  /** From now on, statements use their `onCluster` text if they have one. */
  readonly useClusterTexts: () => void
}

/** Wraps the driver's client, and distinguishes a lost connection from a refused statement. */
function watched(driver: Client, { standby, onLost, onSilent, onWarning }: ClientOptions): Watched {
  let isLost = false
  let isCluster = false
  let isInDoubt = false
  let pending = 0
  let lastAnswerAt = performance.now()
  /** Since when it waits for the next answer. */
  let waitsSince = lastAnswerAt
  const lose = () => {
    if (isLost) return
    isLost = true
    onLost?.()
  }
  const destroy = () => {
    const isSilent = !isLost && pending > 0 && performance.now() - waitsSince > silentForMs
    lose()
    ;(driver as unknown as { connection: { stream: { destroy(): void } } }).connection.stream.destroy()
    if (isSilent) onSilent?.(waitsSince)
  }
  // Without a listener a broken connection would end the process.
  driver.on('error', lose)
  driver.on('end', lose)
  driver.on('notice', ({ code, routine }) => {
    // Plain notices have the code 00000.
    if (code !== '00000') onWarning?.()
    // A commit stopped waiting for its synchronous standby, and is only on this server. The routine's name is not translated.
    if (routine !== 'SyncRepWaitForLSN' || onWarning) return
    isInDoubt = true
    destroy()
  })
  // The overload of the driver's query that returns a promise.
  const ask = (...call: Parameters<Client['query']>): Promise<unknown> => {
    const [asked] = call as unknown as [string | QueryConfig]
    if (!isCluster || typeof asked === 'string' || asked.onCluster === undefined)
      return driver.query(...call) as unknown as Promise<unknown>
    return driver.query({ ...asked, text: asked.onCluster })
  }
  const query = async (...call: Parameters<Client['query']>): Promise<unknown> => {
    let result: unknown
    if (standby?.isLost && isWrite(call)) throw new StandbyLost('no standby confirms commits')
    if (pending++ === 0) waitsSince = performance.now()
    try {
      result = await ask(...call)
    } catch (error) {
      if (isCluster) restoreNodeFault(error)
      throw sqlState(error) === undefined && (isLost || isSystemError(error)) ? asUnavailable(error) : error
    } finally {
      pending--
      if (!isLost) waitsSince = lastAnswerAt = performance.now()
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
    useClusterTexts: () => {
      isCluster = true
    },
    isLost: () => isLost,
    isCluster: () => isCluster,
    isInTransaction: () => driver.getTransactionStatus() !== 'I',
    lastAnswerAt: () => lastAnswerAt,
    isBusy: () => pending > 0,
    end: async () => {
      const timer = setTimeout(destroy, 500)
      await driver.end().catch(() => {})
      clearTimeout(timer)
    },
    destroy,
  }
}

const writes = /\b(insert\s+into|update|delete\s+from|create|pg_logical_emit_message)\b/i

function isWrite([asked]: Parameters<Client['query']>): boolean {
  const statement = asked as unknown as string | QueryConfig
  return writes.test(typeof statement === 'string' ? statement : statement.text)
}

function isSystemError(error: unknown): boolean {
  return error instanceof Error && 'syscall' in error
}

function asUnavailable(cause: unknown): DatabaseUnavailable {
  return new DatabaseUnavailable(cause instanceof Error ? cause.message : String(cause), { cause })
}

/** Destroys the connection after the limit, which fails everything that waits for it. */
export async function within<T>(
  client: Pick<OpenClient, 'destroy'>,
  limitMs: number,
  work: PromiseLike<T>,
): Promise<T> {
  let isLate = false
  const cancel = limitTime(limitMs, () => {
    isLate = true
    client.destroy()
  })
  try {
    return await work
  } catch (error) {
    throw isLate ? new DatabaseUnavailable(`no answer within ${limitMs} ms`, { cause: error }) : error
  } finally {
    cancel()
  }
}

/** A timer that fires later than this was delayed by this process itself. */
const delayedMs = 200
const graceMs = 1_000

/**
 * Calls `giveUp` after the limit, unless cancelled before. When this process itself stood still, as on a suspended machine, the
 * answer may have arrived unread: then it gets one more second.
 */
export function limitTime(limitMs: number, giveUp: () => void): () => void {
  const endsAt = performance.now() + limitMs
  let timer = setTimeout(() => {
    if (performance.now() - endsAt < delayedMs) giveUp()
    else timer = setTimeout(giveUp, Math.min(limitMs, graceMs))
  }, limitMs)
  return () => clearTimeout(timer)
}
