/** Opens the database of the service for a command, in the way that the command declares. */
import { closeService, openService, type Service } from '../actions/service.ts'
import { parseConfig, type Config } from '../config.ts'
import { openLog } from '../platform/log.ts'
import { openMetrics } from '../platform/metrics.ts'
import { commandLimits, openDatabase, type Connection, type Database } from '../store/connection/database.ts'
import { openAsIs, openForReading, prepareDatabase, type Prepared } from '../store/prepare.ts'
import type { DatabaseUse, Invocation } from './command.ts'

export type Data = {
  readonly config: Config
  readonly connection: Connection
  /** The migrations that were applied for this command. */
  readonly applied: readonly string[]
}

/** Stops an embedded server that this command started, also after Ctrl-C. */
export async function withData<T>({ io, database }: Invocation, work: (data: Data) => Promise<T>): Promise<T> {
  const config = parseConfig(io.environment)
  const prepared = await openIn(config, database)
  try {
    const { connection, applied } = prepared
    return await unlessAborted(io.signal, work({ config, connection, applied }))
  } finally {
    await prepared.release()
  }
}

async function openIn(config: Config, use: DatabaseUse): Promise<Prepared> {
  if (use === 'reads') return { ...(await openForReading(config)), applied: [] }
  if (use === 'restores') return { ...(await openAsIs(config)), applied: [] }
  return await prepareDatabase(config, () => {})
}

/** `maxConnections`: one for a command that only makes a short read. */
export function openForCommand(connection: Connection, maxConnections?: number): Database {
  return openDatabase(connection, maxConnections, commandLimits)
}

export async function withService<T>(invocation: Invocation, work: (service: Service) => Promise<T>): Promise<T> {
  return await withData(invocation, async ({ config, connection }) => {
    const db = openForCommand(connection).longRunning
    const log = openLog('warn', (text) => invocation.io.errors.write(text))
    const service = openService({ config, db, log, metrics: openMetrics(), now: () => new Date() })
    try {
      return await work(service)
    } finally {
      await closeService(service)
      await db.pool.end()
    }
  })
}

async function unlessAborted<T>(signal: AbortSignal, work: Promise<T>): Promise<T> {
  const aborted = Promise.withResolvers<never>()
  const abort = () => aborted.reject(signal.reason as Error)
  if (signal.aborted) abort()
  signal.addEventListener('abort', abort)
  return await Promise.race([work, aborted.promise]).finally(() => signal.removeEventListener('abort', abort))
}
