/** One process: config → database → app → listen → drain. The only file that knows the process and the runtime. */
import { startJobs } from './actions/jobs.ts'
import { closeService, openService } from './actions/service.ts'
import { buildApp } from './app.ts'
import { ConfigError, parseConfig, type Config } from './config.ts'
import { faultFields, openLog } from './log.ts'
import { openMetrics } from './metrics.ts'
import { openDatabase } from './store/database.ts'
import { prepareDatabase } from './store/prepare.ts'

const config = readConfig()
const log = openLog(config.logLevel, openOutput())
const stopping = Promise.withResolvers<void>()
let signals = 0
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.on(signal, () => {
    // The second Ctrl-C is from someone who does not want to wait; what was in flight is safe to send again.
    if (++signals > 1) process.exit(130)
    stopping.resolve()
  })
}

await run(config).catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`)
  process.exitCode = 1
})
process.exit()

async function run(config: Config): Promise<void> {
  const prepared = await prepareDatabase(config, (message) => log.info(message))
  const db = openDatabase(prepared.connection)
  const service = openService({ config, db, log, metrics: openMetrics(), now: () => new Date() })
  const app = buildApp(service)
  const stopJobs = startJobs(service)
  const server = Bun.serve({
    hostname: config.host,
    port: config.port,
    reusePort: config.workers > 1,
    idleTimeout: 30,
    maxRequestBodySize: Number.MAX_SAFE_INTEGER,
    fetch: (request, server) => app.fetch(request, server.requestIP(request)?.address),
    error: (error) => {
      log.error('a request failed', faultFields(error))
      return new Response('{"error":"Something unexpected happened.","code":"INTERNAL"}', {
        status: 500,
        headers: { 'content-type': 'application/json' },
      })
    },
  })
  process.stdout.write(`billfold ready on ${publicAddress(server.url)}\n`)

  await stopping.promise
  app.readiness.isDraining = true
  log.info('draining')
  // Streams have no end of their own, and the server waits for every answer under way.
  service.live.close()
  await server.stop()
  await stopJobs()
  await closeService(service)
  await db.pool.end()
  await prepared.release()
}

function publicAddress(url: URL): string {
  return config.port === 0 ? url.origin : config.publicUrl
}

function readConfig(): Config {
  try {
    return parseConfig(process.env)
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    process.stderr.write(`${error.message}\n`)
    process.exit(1)
  }
}

/** Lines are collected and written together: a write for each would cost more than the request it tells about. */
function openOutput(): (text: string) => void {
  let held = ''
  const flush = () => {
    if (held === '') return
    process.stdout.write(held)
    held = ''
  }
  setInterval(flush, 100).unref()
  process.on('exit', flush)
  return (text) => {
    held += text
    if (held.length > 65_536) flush()
  }
}
