/** One process: config → database → app → listen → drain. The only file that knows the process and the runtime. */
import { startJobs } from './actions/jobs.ts'
import { closeService, openService } from './actions/service.ts'
import { buildApp, type App } from './app.ts'
import { ConfigError, parseConfig, type Config } from './config.ts'
import { faultFields, openLog } from './log.ts'
import { openMetrics } from './metrics.ts'
import { openDatabase } from './store/database.ts'
import { prepareDatabase } from './store/prepare.ts'
import { joinParent, startWorkers } from './workers.ts'

/** One of several on a port: its parent says when to end, and tells people what there is to tell. */
const isWorker = process.argv.includes('--worker')
const config = readConfig()
const log = openLog(config.logLevel, openOutput())
const stopping = Promise.withResolvers<void>()

listenForTheEnd()
await (config.workers > 1 && !isWorker ? supervise() : serve()).catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`)
  process.exitCode = 1
})
process.exit()

async function serve(): Promise<void> {
  const prepared = await prepareDatabase(config, (message) => log.info(message))
  const db = openDatabase(prepared.connection)
  const metrics = openMetrics()
  const service = openService({ config, db, log, metrics, now: () => new Date() })
  const app = buildApp(service)
  const server = listen(app)
  service.sandbox?.setOrigin(server.url.origin)
  const stopJobs = startJobs(service)
  if (isWorker) metrics.render = joinParent(metrics.registry)
  else process.stdout.write(`billfold ready on ${config.port === 0 ? server.url.origin : config.publicUrl}\n`)

  await stopping.promise
  log.info('draining')
  app.readiness.isDraining = true
  // Streams have no end of their own.
  service.live.close()
  // Long enough for whoever watches /readyz to see it, and as long as anything is under way.
  for (let waited = 0; waited < 250 || (app.readiness.inFlight > 0 && waited < 10_000); waited += 25)
    await Bun.sleep(25)
  await server.stop(true)
  await stopJobs()
  await closeService(service)
  await db.pool.end()
  await prepared.release()
}

function listen(app: App) {
  return Bun.serve({
    hostname: config.host,
    port: config.port,
    reusePort: isWorker,
    idleTimeout: 30,
    // Bodies are bounded where they are read, with an answer in JSON.
    maxRequestBodySize: Number.MAX_SAFE_INTEGER,
    fetch: (request, server) => app.fetch(request, () => server.requestIP(request)?.address),
    error: (error) => {
      log.error('a request failed', faultFields(error))
      return new Response('{"error":"Something unexpected happened.","code":"INTERNAL"}', {
        status: 500,
        headers: { 'content-type': 'application/json' },
      })
    },
  })
}

async function supervise(): Promise<void> {
  const prepared = await prepareDatabase(config, (message) => log.info(message))
  const command = [process.execPath, import.meta.path, '--worker']
  const workers = await startWorkers(config.workers, command, (code) =>
    log.error('a worker ended and is started again', { code }),
  )
  process.stdout.write(`billfold ready on ${config.publicUrl}\n`)
  await stopping.promise
  await workers.stop()
  await prepared.release()
}

function listenForTheEnd(): void {
  let signals = 0
  const stop = () => {
    // The second Ctrl-C is from someone who does not want to wait; what was in flight is safe to send again.
    if (++signals > 1) process.exit(130)
    stopping.resolve()
  }
  process.on('SIGTERM', stop)
  // A terminal sends Ctrl-C to the workers too; theirs is to wait for the parent, and to go when it is gone.
  process.on('SIGINT', isWorker ? () => {} : stop)
  if (isWorker) process.on('disconnect', stop)
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
