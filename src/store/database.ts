/** Connections to PostgreSQL, and what is true of all of them. */
import { Pool, types, type ClientBase, type ClientConfig } from 'pg'

types.setTypeParser(types.builtins.INT8, BigInt)
types.setTypeParser(types.builtins.NUMERIC, BigInt)
types.setTypeParser(types.builtins.DATE, (text) => text)

export type Connection = ClientConfig
export type Queryable = Pick<ClientBase, 'query'>

/** A function that takes this holds its locks until the transaction ends; it cannot be called outside of one. */
export type Transaction = Queryable & { readonly [inTransaction]: true }
declare const inTransaction: unique symbol

export type Database = {
  readonly connection: Connection
  readonly pool: Pool
}

export function openDatabase(connection: Connection, maxConnections = 10): Database {
  const pool = new Pool({
    ...connection,
    max: maxConnections,
    connectionTimeoutMillis: 5_000,
    idleTimeoutMillis: 60_000,
    statement_timeout: 30_000,
    application_name: 'billfold',
  })
  // An idle connection that breaks is replaced by the pool; without a listener it would end the process.
  pool.on('error', () => {})
  return { connection, pool }
}

export async function transact<T>(db: Database, work: (tx: Transaction) => Promise<T>): Promise<T> {
  const client = await db.pool.connect()
  let isBroken = false
  try {
    await client.query('begin')
    const result = await work(client as unknown as Transaction)
    await client.query('commit')
    return result
  } catch (error) {
    await client.query('rollback').catch(() => (isBroken = true))
    throw error
  } finally {
    client.release(isBroken)
  }
}

/** PostgreSQL's five-letter code of an error, if it is one of PostgreSQL's. */
export function sqlState(error: unknown): string | undefined {
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  // Every one of them has a digit, which tells them from the system's own EPIPE.
  return typeof code === 'string' && /^(?=.*\d)[0-9A-Z]{5}$/.test(code) ? code : undefined
}

export const uniqueViolation = '23505'

/** Faults of the connection or the server, not of what was asked: asking again may well work. */
export function isUnavailable(error: unknown): boolean {
  const state = sqlState(error)
  // 08: connection; 53: resources; 57: operator intervention (shutdown, cancelled, timeout); 58: system; 25006: read-only.
  if (state !== undefined) return /^(08|53|57|58|25006)/.test(state)
  if (!(error instanceof Error)) return false
  const code = 'code' in error && typeof error.code === 'string' ? error.code : ''
  return (
    /^E(CONN|PIPE|TIMEDOUT|NOENT|HOST|NET|AI_AGAIN)/.test(code) ||
    /connection|timeout|terminated|closed|not queryable|socket/i.test(error.message)
  )
}

/** Two transactions met: 40001 serialization failure, 40P01 deadlock, 55P03 lock not available. */
export function isContention(error: unknown): boolean {
  return ['40001', '40P01', '55P03'].includes(sqlState(error) ?? '')
}
