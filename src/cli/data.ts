/** Opens the database of the service for a command, and prepares it as the service does. */
import { closeService, openService, type Service } from '../actions/service.ts'
import { parseConfig, type Config } from '../config.ts'
import { openLog } from '../platform/log.ts'
import { openMetrics } from '../platform/metrics.ts'
import { openDatabase, type Connection } from '../store/connection/database.ts'
import { prepareDatabase } from '../store/prepare.ts'
import type { Invocation } from './command.ts'

export type Data = { readonly config: Config; readonly connection: Connection; readonly applied: readonly string[] }

/** Stops an embedded server that this command started, also after Ctrl-C. */
export async function withData<T>({ io }: Invocation, work: (data: Data) => Promise<T>): Promise<T> {
  const config = parseConfig(io.environment)
  const prepared = await prepareDatabase(config, () => {})
  try {
    const { connection, applied } = prepared
    return await unlessAborted(io.signal, work({ config, connection, applied }))
  } finally {
    await prepared.release()
  }
}

export async function withService<T>(invocation: Invocation, work: (service: Service) => Promise<T>): Promise<T> {
  return await withData(invocation, async ({ config, connection }) => {
    const db = openDatabase(connection).longRunning
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
