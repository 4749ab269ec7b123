/** The database for the service: a pool for each audience, transactions, and the meaning of its errors. */
import type { Config } from '../../config.ts'
import { commandConnectMs, within, type Connection, type Queryable } from './open-client.ts'
import { openClient, type OpenOptions } from './servers.ts'
import { DatabaseUnavailable, sqlState, StandbyLost } from './database-unavailable.ts'
import { nodesOf } from '../cluster/guarded-read.ts'
import { openPool, type Pool, type PooledClient } from './pool.ts'
import { one } from './rows.ts'

export type { Connection, Queryable } from './open-client.ts'
export { sqlState } from './database-unavailable.ts'

/** A function that takes this holds its locks until the transaction ends, and cannot be called outside a transaction. */
export type Transaction = Queryable & { readonly isCluster: () => boolean; readonly [inTransaction]: true }
declare const inTransaction: unique symbol

export type Database = {
  readonly connection: Connection
  /** For the calls of apps, which are answered within eight seconds in every case. */
  readonly pool: Pool
  /** The same for the calls and pages of the widget: many open widgets do not keep apps waiting. */
  readonly widget: Database
  /** The same database for work that may take half a minute: jobs, commands, operators' pages. */
  readonly longRunning: Database
}

/** The server's limit for a statement is shorter than the limit for its answer, so that no statement outlives its connection. */
export type Limits = {
  /** For each server that is tried, and for the state of one among several. Without it each has its own limit. */
  readonly connectMs?: number
  /** For a free connection. */
  readonly waitMs: number
  readonly statementMs: number
  readonly answerMs: number
}

/** A request waits at most 2.6 s for the apps' directory and 1.5 times the limit of an answer for its next query: less than its eight seconds. */
const requestLimits: Limits = { waitMs: 3_500, statementMs: 3_000, answerMs: 3_500 }
const longRunningLimits: Limits = { waitMs: 5_000, statementMs: 30_000, answerMs: 35_000 }
/** For a start and for commands, which no caller waits for. */
export const commandLimits = { ...longRunningLimits, connectMs: commandConnectMs }

/** What the writer's lanes, with the express lane, the careful one and that of holds, and the apps' directory leave of a process's connections. */
export function poolConnections(config: Pick<Config, 'databaseConnections' | 'writerLanes'>): number {
  return config.databaseConnections - config.writerLanes - 4
}

/**
 * Connections are opened on demand, together at most that many. Closing the pool closes the others too. Where one connection is left
 * for requests, apps and widgets share it. `limits`: the same for every audience, instead of each one's own.
 */
export function openDatabase(connection: Connection, maxConnections = 16, limits?: Limits): Database {
  const nodes = () => nodesOf(connection)
  const openWith = ({ connectMs, waitMs, statementMs, answerMs }: Limits, max: number, beside?: Pool) => {
    const options: OpenOptions = {
      name: 'billfold',
      settings: { statement_timeout: String(statementMs) },
      isPatient: statementMs >= longRunningLimits.statementMs,
      ...(connectMs && { connectWithinMs: connectMs }),
    }
    return openPool(() => openClient(connection, options), max, answerMs, { waitMs, ...(beside && { beside }), nodes })
  }
  const longRunningConnections = Math.min(3, Math.ceil(maxConnections / 4))
  const slow = openWith(limits ?? longRunningLimits, longRunningConnections)
  const requests = Math.max(1, maxConnections - longRunningConnections)
  const quickLimits = limits ?? requestLimits
  const widgets = requests > 1 ? openWith(quickLimits, requests >> 1, slow) : undefined
  const quick = openWith(quickLimits, requests - (requests >> 1), widgets ?? slow)
  const on = (pool: Pool): Database => ({
    connection,
    pool,
    get widget() {
      return widget
    },
    get longRunning() {
      return longRunning
    },
  })
  const widget = on(widgets ?? quick)
  const longRunning = on(slow)
  return on(quick)
}

export function forWidget<T extends { readonly db: Database }>(having: T): T {
  return { ...having, db: having.db.widget }
}

export function longRunning<T extends { readonly db: Database }>(having: T): T {
  return { ...having, db: having.db.longRunning }
}

export async function transact<T>(db: Database, work: (tx: Transaction) => Promise<T>): Promise<T> {
  const client = await db.pool.connect()
  let fault: unknown
  const all = async () => {
    await client.query('begin')
    const result = await work(client as PooledClient & Transaction)
    await commit(client)
    return result
  }
  try {
    return await within(client, db.pool.limitMs, all())
  } catch (error) {
    fault = error
    if (!(error instanceof DatabaseUnavailable) || error instanceof StandbyLost)
      await client.query('rollback').catch(() => {})
    throw error
  } finally {
    client.release(fault)
  }
}

/** COMMIT of a transaction with a failed statement is not an error for the driver: it resolves with the command ROLLBACK. */
export async function commit(client: Queryable): Promise<void> {
  const { command } = await client.query('commit')
  if (command !== 'COMMIT') throw new Error(`the transaction ended in ${command}`)
}

/** Everything that expires does so by the database's clock, so that two processes never disagree. */
export async function getDatabaseTime(db: Queryable): Promise<Date> {
  const { rows } = await db.query<{ now: Date }>('select clock_timestamp() as now')
  return one(rows).now
}

/**
 * Which transactions are visible: two equal texts mean that nothing was committed in between. On a cluster no two are equal,
 * because a transaction does not become visible everywhere at once.
 */
export async function getSnapshot(db: Queryable): Promise<string> {
  const { rows } = await db.query<{ snapshot: string }>({
    text: 'select pg_current_snapshot()::text as snapshot',
    onCluster: 'select clock_timestamp()::text as snapshot',
  })
  return one(rows).snapshot
}

export const uniqueViolation = '23505'
export const diskFull = '53100'

/** Faults of the connection or the server, not of the statement: a retry may succeed. */
export function isUnavailable(error: unknown): boolean {
  if (error instanceof DatabaseUnavailable) return true
  // 08: connection; 53: resources; 57: operator intervention (shutdown, cancelled, timeout); 58: system; 25006: read-only; 25P03:
  // our transaction was idle for too long.
  return /^(08|53|57|58|25006|25P03)/.test(sqlState(error) ?? '')
}

/** Conflicts between transactions: 40001 serialization failure, 40P01 deadlock, 55P03 lock not available. */
export function isContention(error: unknown): boolean {
  return ['40001', '40P01', '55P03'].includes(sqlState(error) ?? '')
}
