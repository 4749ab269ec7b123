/** One process: config → database → app → listen → drain. The only file that knows the process and the runtime. */
import { closeSync, openSync } from 'node:fs'
import { createDemo, findUnsafeForProduction, type Demo } from './actions/demo.ts'
import { startJobs } from './actions/jobs.ts'
import { startDeliverer } from './actions/webhooks/deliverer.ts'
import { findNoWayIn } from './actions/operators/oidc/way-in.ts'
import { firstOperatorLink } from './actions/operators/manage-operators.ts'
import { passwordCost } from './actions/people/passwords.ts'
import { openSecrets } from './actions/secrets/open-secrets.ts'
import { prepareSecrets } from './actions/secrets/reseal.ts'
import { closeService, openService, type Service } from './actions/service.ts'
import { answerMetrics, buildApp, type App } from './app.ts'
import { ConfigError, findMisspelt, parseConfig, type Config } from './config.ts'
import { drain } from './process/drain.ts'
import { faultFields, openLog } from './platform/log.ts'
import { openMetrics } from './platform/metrics.ts'
import {
  commandLimits,
  openDatabase,
  longRunning,
  poolConnections,
  type Connection,
  type Database,
} from './store/connection/database.ts'
import { prepareDatabase } from './store/prepare.ts'
import { sdkAddresses } from './web/sdk-files.ts'
import { joinParent, startWorkers, type Workers } from './process/workers.ts'
import { kindsOf } from './work/kinds.ts'
import { startWork } from './work/runner.ts'

/** One of several processes on a port. Its parent ends it, and prints the messages for people. */
const isWorker = process.argv.includes('--worker')
const config = await readConfig()
const log = openLog(config.logLevel, openOutput())
const hadTerminal = hasTerminal()
const stopping = Promise.withResolvers<{ announceMs: number }>()
/** Of the parent of several workers: one holds the demo's lock, one runs long statements, one reads the apps. */
const parentConnections = 4
/** Logged when the shutdown takes too long. */
let waitingFor = 'start'

/** A replacement that was asked for before the workers serve follows when they do. */
let isReplacementDue = false
let replace = () => void (isReplacementDue = true)

handleSignals()
await start().catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`)
  process.exitCode = 1
})
process.exit()

async function start(): Promise<void> {
  // Workers share a port on purpose; for any other process a used port is a mistake.
  if (!isWorker) await refuseUsedPorts()
  if (!isWorker)
    for (const { name, meant } of findMisspelt(process.env))
      log.warn('an unknown environment variable was ignored', { name, meant })
  await withDatabase(config.workers > 1 && !isWorker ? supervise : serve)
}

/** Runs the work with a migrated database, and releases it in every case. */
async function withDatabase(work: (connection: Connection) => Promise<void>): Promise<void> {
  // The parent counts the workers' connections and its own, which it holds until all workers serve.
  const own = config.workers > 1 ? parentConnections : 1
  const connections = isWorker ? undefined : config.workers * config.databaseConnections + own
  const prepared = await prepareDatabase(config, (message) => log.info(message), connections)
  try {
    await examineDatabase(prepared.connection)
    await work(prepared.connection)
  } finally {
    await prepared.release()
  }
}

/** Runs in every process: a replacing worker may be a newer release than its parent. */
async function examineDatabase(connection: Connection): Promise<void> {
  const db = openDatabase(connection, 1, commandLimits)
  try {
    await prepareSecrets(db, openSecrets(config))
    await refuseUnsafe(db)
  } finally {
    await db.pool.end()
  }
}

async function serve(connection: Connection): Promise<void> {
  const db = openDatabase(connection, poolConnections(config))
  const metrics = openMetrics()
  const service = openService({ config, db, log, metrics, now: () => new Date() })
  const app = buildApp(service)
  const server = listen(app)
  service.sandbox?.setOrigin(server.url.origin)
  const deliverer = startDeliverer(service)
  service.eventWaits.onNumbered(deliverer.wake)
  const stops = [startJobs(service), startWork(service, kindsOf(service)), deliverer.stop]
  const stopJobs = async () => void (await Promise.all(stops.map((stop) => stop())))
  // A replaced worker can wait: new connections go to the others, and its own clients get time to send another request.
  const leave = () => stop(Math.max(config.announceMs, 2_000))
  const parent = isWorker ? joinParent(metrics.registry, config.port, leave) : undefined
  if (parent) metrics.render = parent.render
  const metricsServer = listenForMetrics(metrics.render)
  if (!parent) await welcome(service)

  const { announceMs } = await stopping.promise
  await drain({ service, app, server, stopJobs, announceMs, waitFor: (what) => (waitingFor = what) })
  await parent?.leaveCounts()
  // Stop last, so that the drain can be watched.
  await metricsServer?.stop()
}

function listen(app: App) {
  return Bun.serve({
    hostname: config.host,
    port: config.port,
    reusePort: isWorker,
    // Longer than the 60 s for which load balancers keep an idle connection by default: one that is closed on this side first may carry a request.
    idleTimeout: 75,
    // Bodies are limited where they are read, with a JSON answer.
    maxRequestBodySize: Number.MAX_SAFE_INTEGER,
    fetch: (request, server) => app.fetch(request, () => server.requestIP(request)?.address),
    error: answerFault,
  })
}

/** The parent of several workers answers while none of them serves. */
function listenInstead() {
  const body = '{"error":"The service is starting again. Try again in a second.","code":"UNAVAILABLE"}'
  const headers = { 'content-type': 'application/json', 'retry-after': '1', connection: 'close' }
  return Bun.serve({
    hostname: config.host,
    port: config.port,
    reusePort: true,
    idleTimeout: 5,
    maxRequestBodySize: 1024 * 1024,
    fetch: () => new Response(body, { status: 503, headers }),
  })
}

function answerFault(error: Error): Response {
  log.error('a request failed', faultFields(error))
  return new Response('{"error":"Something unexpected happened.","code":"INTERNAL"}', {
    status: 500,
    headers: { 'content-type': 'application/json' },
  })
}

/** With several workers only the parent listens: one port with the metrics of all of them. */
function listenForMetrics(render: () => Promise<string>) {
  const { metricsPort: port, host: hostname } = config
  if (port === undefined || isWorker) return undefined
  return Bun.serve({
    hostname,
    port,
    idleTimeout: 30,
    maxRequestBodySize: 1024,
    fetch: (request, server) => answerMetrics(config, render, request, server.requestIP(request)?.address ?? 'unknown'),
    error: answerFault,
  })
}

async function supervise(connection: Connection): Promise<void> {
  const command = [process.execPath, import.meta.path, '--worker']
  const workers = await startWorkers({
    count: config.workers,
    command,
    environment: { PORT: String(config.port) },
    leaveMs: Math.max(config.announceMs, 2_000) + 20_000,
    port: config.port,
    listenInstead,
    onRestart: (code) => log.error('a worker ended and is started again', { code }),
  })
  replace = () => void replaceWorkers(workers)
  if (isReplacementDue) replace()
  const metricsServer = listenForMetrics(workers.render)
  const db = openDatabase(connection, parentConnections - 1, commandLimits)
  const service = openService({ config, db, log, metrics: openMetrics(), now: () => new Date() })
  await welcome(service)
  await closeService(service)
  await db.pool.end()
  await stopping.promise
  waitingFor = 'workers'
  await workers.stop()
  await metricsServer?.stop()
  waitingFor = 'embedded database'
}

async function replaceWorkers(workers: Workers): Promise<void> {
  log.info('replacing the workers')
  if (await workers.replace()) log.info('the workers are replaced')
  else log.error('a new worker could not start; the old ones stay')
}

/**
 * Starts the drain, and exits after a limit even if it hangs: requests in flight are safe to repeat, and the next start adopts
 * an embedded database. The parent's limit is longer, because its workers' limits begin a little later.
 */
function stop(announceMs = config.announceMs): void {
  stopping.resolve({ announceMs })
  setTimeout(
    () => {
      log.error('the shutdown took too long and is cut off', { waitingFor })
      process.exit(1)
    },
    announceMs + (config.workers > 1 && !isWorker ? 20_000 : 15_000),
  )
}

function handleSignals(): void {
  // SIGTERM may arrive several times: from a supervisor, from npm and from the parent.
  process.on('SIGTERM', () => stop())
  // A terminal sends Ctrl-C to npm and to this process, and npm forwards its own: one press may arrive twice.
  const samePressMs = process.env['npm_lifecycle_event'] === undefined ? 0 : 1_000
  let pressedAt: number | undefined
  const interrupt = () => {
    // A second Ctrl-C exits at once; requests in flight are safe to repeat.
    if (pressedAt !== undefined && performance.now() - pressedAt >= samePressMs) process.exit(130)
    pressedAt ??= performance.now()
    stop()
  }
  // A terminal's signals reach workers too. A worker waits for its parent, and ends when the parent is gone.
  process.on('SIGINT', isWorker ? () => {} : interrupt)
  process.on('SIGHUP', () => {
    if (isWorker) return
    if (config.workers === 1 || hasHungUp()) stop()
    else replace()
  })
  if (isWorker) process.on('disconnect', () => stop())
}

/** Closing a terminal window sends SIGHUP too, which otherwise asks to replace the workers. */
function hasHungUp(): boolean {
  return hadTerminal && !hasTerminal()
}

function hasTerminal(): boolean {
  try {
    closeSync(openSync('/dev/tty', 'r'))
    return true
  } catch {
    return false
  }
}

/** Runs before the database is used. Workers share a port, so the kernel would let a second service join them. */
async function refuseUsedPorts(): Promise<void> {
  const { host: hostname } = config
  for (const [name, port] of Object.entries({ PORT: config.port, METRICS_PORT: config.metricsPort })) {
    if (port === undefined) continue
    try {
      await Bun.serve({ hostname, port, fetch: () => new Response() }).stop(true)
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && error.code === 'EADDRINUSE')) throw error
      const sentence = `Port ${port} of ${hostname} is in use: stop what listens there, or set ${name} to another.`
      throw new Error(sentence, { cause: error })
    }
  }
}

async function refuseUnsafe(db: Database): Promise<void> {
  const problems = config.isProduction ? await findUnsafeForProduction({ db, passwordCost }) : []
  if (problems.length > 0) throw new Error(`Not safe for production:\n${problems.map((p) => `  - ${p}`).join('\n')}`)
  const noWayIn = await findNoWayIn({ config, db })
  if (noWayIn) throw new Error(noWayIn)
}

/** Prints the line that scripts wait for, and in development the demo's addresses and credentials. */
async function welcome(service: Service): Promise<void> {
  const demo = config.hasDemo ? await createDemo(longRunning(service), { shopPort: config.port + 1 }) : undefined
  process.stdout.write(`billfold ready on ${config.publicUrl}\n`)
  const admin = await linkForFirstAdmin(service)
  const lines = [...(demo ? await demoLines(demo) : []), ...(admin ? [['Create the first admin, once', admin]] : [])]
  if (lines.length === 0) return
  process.stdout.write(`\n${lines.map(([what, where]) => `  ${what!.padEnd(38)}${where}`).join('\n')}\n\n`)
}

/** The service already serves. If the database refuses writes just now, the next start makes the link. */
async function linkForFirstAdmin(service: Service): Promise<string | undefined> {
  try {
    return await firstOperatorLink(longRunning(service))
  } catch (error) {
    log.warn('the link for the first admin could not be made', faultFields(error))
    return undefined
  }
}

async function demoLines(demo: Demo): Promise<string[][]> {
  const sdk = await sdkAddresses(config.publicUrl)
  return [
    ['The demo shop, with the wallet in it', await startShop(demo)],
    ['Sign in to the wallet with', `${demo.email}   ${demo.password}`],
    ['The API', `${config.publicUrl}/docs`],
    ['Its credentials', `clientId=${demo.clientId} clientSecret=${demo.clientSecret}`],
    ['', `serviceUserId=${demo.serviceUserId}`],
    ['The SDK, for a backend or a bundler', `npm install ${sdk.package}`],
    ['… for a page', `<script src="${sdk.script}"></script>`],
    ['… pinned to this version', sdk.pinned.tag],
    ['The admin area', `${config.publicUrl}/admin`],
  ]
}

/** Starts the example shop as a separate process on the next port. Returns its address, or why it did not start. */
async function startShop(demo: Demo): Promise<string> {
  const child = Bun.spawn([process.execPath, new URL('../example/server.ts', import.meta.url).pathname], {
    env: {
      ...process.env,
      PORT: String(config.port + 1),
      HOST: config.host,
      CURRENCY: config.currency.code,
      BILLFOLD_URL: config.publicUrl,
      BILLFOLD_CLIENT_ID: demo.clientId,
      BILLFOLD_CLIENT_SECRET: demo.clientSecret,
      BILLFOLD_WEBHOOK_SECRET: demo.webhookSecret ?? '',
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  process.on('exit', () => child.kill('SIGKILL'))
  const address = Promise.withResolvers<string>()
  // Read to the end: with a full pipe the shop would block.
  const read = async () => {
    for await (const chunk of child.stdout.pipeThrough(new TextDecoderStream())) {
      const url = /ready on (\S+)/.exec(chunk)?.[1]
      if (url) address.resolve(url)
    }
    address.resolve(`did not start: is port ${config.port + 1} in use?`)
  }
  void read()
  return await address.promise
}

async function readConfig(): Promise<Config> {
  try {
    const config = parseConfig(process.env)
    return config.port === 0 ? parseConfig({ ...process.env, PORT: String(await findPort(config)) }) : config
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    process.stderr.write(`${error.message}\n`)
    return process.exit(1)
  }
}

/**
 * Finds a free port before the service listens: workers share it, and mails, webhooks and links contain it. With the demo, the
 * next port must be free too, for the shop.
 */
async function findPort({ host: hostname, hasDemo }: Config): Promise<number> {
  const listenOn = (port: number) => Bun.serve({ hostname, port, fetch: () => new Response() })
  for (let tries = 1; ; tries++) {
    const found = listenOn(0)
    const port = found.port!
    try {
      if (hasDemo) await listenOn(port + 1).stop(true)
      return port
    } catch (error) {
      if (tries === 20) throw error
    } finally {
      await found.stop(true)
    }
  }
}

/** Collects lines and writes them together: one write per line costs more than the request it reports. */
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
