/**
 * `npm run bench -- events`: what events cost debits, how soon they are in the feed and at an endpoint, how many a second, and what dead
 * endpoints cost the others. Ratios are of rounds in turn.
 */
import { randomBytes } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { createApp, setAppEvents } from '../src/actions/apps/manage-apps.ts'
import { closeService, openService, type Service } from '../src/actions/service.ts'
import { addEndpoint } from '../src/actions/webhooks/manage-endpoints.ts'
import { parseConfig } from '../src/config.ts'
import { openLog } from '../src/platform/log.ts'
import { openMetrics } from '../src/platform/metrics.ts'
import { openDatabase } from '../src/store/connection/database.ts'
import { journalPing } from '../src/store/events/journal.ts'
import {
  creditEvenly,
  followFeed,
  lastNumber,
  percentile,
  readWholeFeed,
  startReceiver,
  startSilent,
  until,
  type Receiver,
} from './event-arrivals.ts'
import { measureDebits } from './event-debits.ts'
import { checkExactness } from './exactness.ts'
import { figureTable, toFigure, type Figure } from './figures.ts'
import type { Job, Result } from './job.ts'
import { busyText, rateTable } from './report.ts'
import { costsOf, median, takeTurns, type Round } from './rounds.ts'
import { onStage, resultsDir, runRound, type Site, type Stage } from './stage.ts'
import { serviceCpuSeconds } from './usage.ts'

const actor = { name: 'bench', address: null }
const SECRETS_KEY = randomBytes(32).toString('base64')

type Run = {
  readonly stage: Stage
  readonly seconds: number
  readonly cycles: number
  /** Credits a second, where the time of each event counts. */
  readonly rate: number
  readonly users: readonly string[]
}

/** True if the books are exact; the verdicts are for people. */
export async function measureEvents(args: readonly string[]): Promise<boolean> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      seconds: { type: 'string', default: '2' },
      cycles: { type: 'string', default: '7' },
      users: { type: 'string', default: '20000' },
      rate: { type: 'string', default: '200' },
      dead: { type: 'string', default: '100' },
      before: { type: 'string' },
      // Only what events cost debits.
      debits: { type: 'boolean', default: false },
    },
  })
  return await onStage(async (stage) => {
    const seeding = { users: Number(values.users), transfersPerUser: 1 }
    const env = { SECRETS_KEY }
    const off = await stage.openSite('events_off', seeding, { env })
    const on = await stage.openSite('events_on', seeding, { env })
    const before =
      values.before === undefined ? undefined : await stage.openSite('before_events', seeding, { dir: values.before })
    const service = openManager(on)
    await setAppEvents(service, actor, on.target.clientId, true)
    const users = (await readFile(on.target.usersFile, 'utf8')).trim().split('\n')
    const run: Run = {
      stage,
      seconds: Number(values.seconds),
      cycles: Number(values.cycles),
      rate: Number(values.rate),
      users,
    }
    const debits = await measureDebits({ off, on, before }, run.cycles, (name, site) => debit(run, name, site))
    const further = values.debits ? [] : await measureEventsOf(run, on, service, Number(values.dead))
    const figures = [...debits.figures, ...further]
    await closeService(service)
    await service.db.pool.end()
    console.log(`\n${figureTable(figures)}\n\n${rateTable(debits.rounds)}\n`)
    for (const text of busyText(debits.rounds)) console.log(text)
    // The credits at an even rate are not counted, so only the books without events can be compared.
    const { faults } = await checkExactness(off.database, off.acknowledged, off.seededTransfers)
    for (const fault of faults) console.log(fault)
    await writeFile(
      join(resultsDir, 'events.json'),
      `${JSON.stringify({ figures, rounds: debits.rounds, faults }, null, 2)}\n`,
    )
    return faults.length === 0
  })
}

async function measureEventsOf(run: Run, on: Site, service: Service, dead: number): Promise<Figure[]> {
  const receiver = startReceiver()
  const figures = [
    ...(await measureFeed(run, on)),
    ...(await measureDeliveries(run, on, service, receiver)),
    ...(await measureDead(run, on, service, receiver, dead)),
  ]
  receiver.stop()
  return figures
}

/** Only to manage apps and endpoints: the measured service is another process. */
function openManager({ database }: Site): Service {
  const config = parseConfig({ DEMO: '0', SECRETS_KEY, DATABASE_URL: database.url })
  const db = openDatabase({ connectionString: database.url }, 8)
  const log = openLog('error', (text) => process.stderr.write(text))
  return openService({ config, db, log, metrics: openMetrics(), now: () => new Date() })
}

const debitJob = ({ target }: Site, seconds: number): Omit<Job, 'mark'> => ({
  target,
  call: 'debit',
  users: Infinity,
  connections: 128,
  seconds,
  refused: 0,
  replayed: 0,
})

function debit({ stage, seconds }: Run, name: string, site: Site): Promise<Round & Result> {
  return runRound(stage, name, site.server, debitJob(site, seconds), site.acknowledged)
}

/** Prints the processor time of each event, which says more than a rate on a busy machine. */
async function withTime<T>(
  { stage }: Run,
  { server }: Site,
  what: string,
  work: () => Promise<[T, number]>,
): Promise<T> {
  const read = () => [serviceCpuSeconds(server.pid), stage.cluster.cpuSeconds()] as const
  const before = read()
  const [result, count] = await work()
  const micros = read().map((seconds, i) => ((seconds - before[i]!) / count) * 1e6)
  console.log(
    `${what}: ${micros[0]!.toFixed(0)} µs of the service and ${micros[1]!.toFixed(0)} µs of the database each`,
  )
  return result
}

async function measureFeed(run: Run, on: Site): Promise<Figure[]> {
  const { users, rate, seconds, cycles } = run
  const { target } = on
  // The first reads are those of a service that has just started: they compile.
  await readWholeFeed(target)
  const last = await lastNumber(target)
  const rates = await withTime(run, on, 'events from the feed', async () => {
    const measured: number[] = []
    for (let i = 0; i < cycles; i++) measured.push(await readWholeFeed(target))
    return [measured, cycles * last]
  })
  const { arrivals, stop } = await followFeed(target)
  const times: number[][] = []
  for (let i = 0; i < cycles; i++) times.push(await creditEvenly(target, users, { perSecond: rate, seconds }, arrivals))
  await stop()
  return [
    toFigure('events a second from the feed', rates),
    toFigure(
      'answer → feed, p50',
      times.map((each) => percentile(each, 0.5)),
    ),
    toFigure(
      'answer → feed, p99',
      times.map((each) => percentile(each, 0.99)),
    ),
  ]
}

/** A new endpoint begins with the app's next event. */
async function addTo(service: Service, clientId: string, url: string): Promise<void> {
  const added = await addEndpoint(service, actor, clientId, { url, types: null })
  if (added.kind !== 'added') throw new Error(`the endpoint was not added: ${added.kind}`)
}

const disabledSql = `disabled_at = now(), disabled_for = 'operator', lease = null, leased_until = null`
const dueSql = `disabled_at = null, disabled_for = null, failing_since = null, failed_events = 0, probes = 0,
  considered_up_to = delivered_up_to, lease = null, leased_until = null, next_attempt_at = now()`

async function measureDeliveries(run: Run, on: Site, service: Service, receiver: Receiver): Promise<Figure[]> {
  const { target, database } = on
  await addTo(service, target.clientId, receiver.url)
  const rates: number[] = []
  // The first round is that of a service that has just started.
  for (let i = -1; i < run.cycles; i++) {
    await database.query(`update endpoints set ${disabledSql}`)
    const first = await lastNumber(target)
    const { posted } = await debit(run, 'backlog', on)
    await until(async () => (await lastNumber(target)) >= first + posted)
    const before = receiver.count()
    const startedAt = performance.now()
    await withTime(run, on, i < 0 ? 'the first deliveries' : 'deliveries', async () => {
      await database.query(`update endpoints set ${dueSql}`)
      await until(() => receiver.count() >= before + posted)
      return [undefined, posted]
    })
    if (i >= 0) rates.push((posted / (performance.now() - startedAt)) * 1000)
  }
  return [toFigure('deliveries a second', rates)]
}

const endpointsPerApp = 5

/** Dead endpoints are those of apps with no other events than these. */
async function addDead(service: Service, url: string, count: number): Promise<string[]> {
  const apps: string[] = []
  for (let i = 0; i < count / endpointsPerApp; i++) {
    const { clientId } = await createApp(service, actor, {
      name: `Dead ${i + 1}`,
      allowedOrigins: [],
      allowedIframeParents: [],
      scopes: ['wallet:read'],
      strictReferences: false,
      accentColor: null,
      logoUrl: null,
      maxOperations: null,
    })
    await setAppEvents(service, actor, clientId, true)
    for (let j = 0; j < endpointsPerApp; j++) await addTo(service, clientId, url)
    apps.push(clientId)
  }
  return apps
}

async function measureDead(run: Run, on: Site, service: Service, receiver: Receiver, count: number): Promise<Figure[]> {
  const silent = await startSilent()
  const dead = await addDead(service, silent.url, count)
  const setDead = (sql: string) =>
    on.database.query(`update endpoints set ${sql} where client_id = any($1::text[])`, [dead])
  const alone = async <T>(measure: () => Promise<T>) => {
    await setDead(disabledSql)
    return await measure()
  }
  /** Each dead endpoint has events to try, and is due. */
  const beside = async <T>(measure: () => Promise<T>) => {
    for (const clientId of dead) for (let i = 0; i < 8; i++) await journalPing(service.db.pool, clientId)
    await setDead(dueSql)
    return await measure()
  }
  const p99 = async () =>
    percentile(
      await creditEvenly(on.target, run.users, { perSecond: run.rate, seconds: run.seconds }, receiver.arrivals),
      0.99,
    )
  const [ratios, all]: [number[], number[]] = [[], []]
  let before = await alone(p99)
  for (let i = 0; i < run.cycles; i++) {
    const during = await beside(p99)
    const after = await alone(p99)
    ratios.push(during / ((before + after) / 2))
    all.push(before)
    before = after
  }
  const debits = await takeTurns(
    { name: 'alone', measure: () => alone(() => debit(run, 'alone', on)) },
    [{ name: 'beside', measure: () => beside(() => debit(run, 'beside', on)) }],
    run.cycles,
    () => {},
  )
  await setDead(disabledSql)
  silent.stop()
  const cost = (name: string) => median(costsOf(debits.rounds, name))
  return [
    toFigure('answer → endpoint, p99', all),
    toFigure('answer → endpoint, p99 beside dead endpoints ÷ alone', ratios),
    toFigure('debits beside dead endpoints ÷ alone', debits.comparisons[0]!.overBase),
    toFigure('processor time of a debit, alone ÷ beside dead endpoints', [cost('alone') / cost('beside')]),
  ]
}
