/**
 * `npm run bench -- tenants`: one app does too much of one thing while another app makes 20 calls a second. Prints the failures and
 * the p99 of the other app, against its p99 alone, and what the greedy app got done, against its best.
 */
import { existsSync, writeFileSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { constants, setPriority } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { table } from './figures.ts'
import type { Job, Result, Target } from './job.ts'
import { seed } from './seed.ts'
import { insertSessions } from './sessions.ts'
import { onStage, resultsDir, type Site, type Stage } from './stage.ts'
import { callQuietly, failuresOf, noCalls, slowestText, type Quiet } from './tenants-calls.ts'
import type { Greed, GreedJob, GreedResult } from './tenants-load.ts'

/** Each with the number of connections, and the case whose rate its own is compared with. */
const cases: readonly {
  readonly name: string
  readonly greed: Greed | 'debits'
  readonly connections: number
  readonly best?: string
}[] = [
  { name: 'bulk × 4', greed: 'bulk', connections: 4, best: 'bulk' },
  { name: 'bulk × 12', greed: 'bulk', connections: 12, best: 'bulk' },
  { name: 'bulk × 64', greed: 'bulk', connections: 64, best: 'bulk' },
  { name: '128 connections', greed: 'debits', connections: 128, best: 'debits' },
  { name: '512 connections', greed: 'debits', connections: 512, best: 'debits' },
  { name: 'reads × 128', greed: 'reads', connections: 128 },
  { name: 'replays, bulk × 12', greed: 'replays', connections: 12 },
  { name: 'wrong secrets × 64', greed: 'wrong secrets', connections: 64 },
  { name: 'streams reconnect', greed: 'streams', connections: 0 },
  // No service can do better than these: the load takes the processors, and asks for nothing.
  { name: '1 busy process', greed: 'processor', connections: 1 },
  { name: '2 busy processes', greed: 'processor', connections: 2 },
  { name: '3 busy processes', greed: 'processor', connections: 3 },
]

type Measured = { readonly one: (typeof cases)[number]; readonly quiet: Quiet; readonly done: GreedResult }

/** A service with both apps, and what was measured on it. */
type Place = {
  readonly name: string
  readonly site: Site
  readonly other: Target
  readonly users: readonly string[]
  alone: Quiet
  readonly measured: Measured[]
}

type Options = { readonly seconds: number; readonly streams: number }

/** True if the other app had no failure. `--beside` measures another checkout too, in turn with this one. */
export async function measureTenants(args: readonly string[]): Promise<boolean> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      seconds: { type: 'string', default: '20' },
      streams: { type: 'string', default: '5000' },
      only: { type: 'string', default: '' },
      beside: { type: 'string' },
    },
  })
  const options: Options = { seconds: Number(values.seconds), streams: Number(values.streams) }
  const chosen = cases.filter(({ name }) => name.includes(values.only))
  return await onStage(async (stage) => {
    const places = [await openPlace(stage, 'this', undefined)]
    if (values.beside !== undefined) places.push(await openPlace(stage, 'beside', values.beside))
    for (const place of places) {
      await callQuietly(place.other, place.users, 3)
      place.alone = await callQuietly(place.other, place.users, options.seconds)
      print(place, 'alone', place.alone)
    }
    for (const one of chosen) for (const place of places) await measureCase(place, one, options)
    for (const { name, alone, measured } of places) {
      console.log(`\n${name}: alone, p99 ${alone.p99.toFixed(1)} ms`)
      console.log(table(head, rowsOf(alone, measured, options)))
    }
    const [{ alone, measured }] = places as [Place]
    await writeFile(join(resultsDir, 'tenants.json'), `${JSON.stringify({ ...options, alone, measured }, null, 2)}\n`)
    return places.every((place) => place.measured.every(({ quiet }) => failuresOf(quiet) === 0))
  })
}

async function openPlace(stage: Stage, name: string, dir: string | undefined): Promise<Place> {
  const preload = join(import.meta.dir, 'tenants-probe.ts')
  const site = await stage.openSite(
    `tenants_${name}`,
    { users: 10_000, transfersPerUser: 1 },
    dir === undefined ? { preload } : { preload, dir },
  )
  const usersFile = `${site.target.usersFile}.other`
  const seeded = await seed(site.database, { users: 100, transfersPerUser: 1 }, { usersFile })
  const users = (await readFile(usersFile, 'utf8')).trim().split('\n')
  return { name, site, other: { ...seeded, port: site.target.port }, users, alone: noCalls, measured: [] }
}

async function measureCase(place: Place, one: (typeof cases)[number], { seconds, streams }: Options): Promise<void> {
  const { site, other, users, measured } = place
  const [done, quiet] = await Promise.all([
    beGreedy(site, one, { seconds, streams }),
    sleep(500).then(() => callQuietly(other, users, seconds - 1)),
  ])
  measured.push({ one, quiet, done })
  print(place, one.name, quiet, done)
  await sleep(1_500)
}

function print({ name }: Place, what: string, quiet: Quiet, done?: GreedResult): void {
  const { calls, p50, p99, loopP99, loopMax, usedP50, usedP99, underWay } = quiet
  const figures = [
    `${failuresOf(quiet)} of ${calls} failed`,
    `p50 ${p50.toFixed(1)} ms, p99 ${p99.toFixed(1)} ms`,
    `event loop late by ${loopP99} ms (p99), ${loopMax} (max)`,
    `the service used ${usedP50.toFixed(1)} ms (p50), ${usedP99.toFixed(1)} (p99) during a call`,
    `${underWay} requests of the greedy app under way`,
  ].join(', ')
  console.log(`${name}, ${what}: ${figures} ${done ? JSON.stringify(done) : ''}`)
  console.log(slowestText(quiet))
}

const head = [
  'one app does',
  'the other app: failed',
  'p99 ms',
  '÷ alone',
  'done a second',
  '÷ best',
  'waiting',
  '429',
  '5xx',
]

function rowsOf(alone: Quiet, measured: readonly Measured[], { seconds, streams }: Options): string[][] {
  const bestOf = (best: string | undefined) =>
    Math.max(...measured.filter(({ one }) => one.best === best).map(({ done }) => done.done))
  return measured.map(({ one, quiet, done }) => [
    one.greed === 'streams' ? `${streams} streams reconnect` : one.name,
    `${failuresOf(quiet)} of ${quiet.calls}`,
    quiet.p99.toFixed(1),
    (quiet.p99 / alone.p99).toFixed(1),
    one.greed === 'processor' ? '–' : (done.done / seconds).toFixed(0),
    one.best === undefined ? '–' : (done.done / bestOf(one.best)).toFixed(2),
    String(quiet.underWay),
    String(done.refused),
    String(done.failed),
  ])
}

async function beGreedy(site: Site, one: (typeof cases)[number], options: Options): Promise<GreedResult> {
  const { greed, connections } = one
  const { seconds } = options
  const { target } = site
  if (greed === 'debits') return await sendDebits(target, connections, seconds)
  if (greed === 'streams') {
    const tokens = await newSessions(site, options.streams)
    return await runApart<GreedResult>('tenants-load.ts', { target, greed, connections: 0, seconds, tokens })
  }
  const job: GreedJob = { target, greed, connections, seconds, tokens: [] }
  if (greed !== 'processor') return await runApart<GreedResult>('tenants-load.ts', job)
  // Only the processors: as many processes as the case has connections.
  const all = Array.from({ length: connections }, () => runApart<GreedResult>('tenants-load.ts', job))
  return (await Promise.all(all))[0]!
}

/** With the load of the other benchmarks: a request costs it far less than it costs the service, so they wait in the service. */
async function sendDebits(target: Target, connections: number, seconds: number): Promise<GreedResult> {
  const job: Job = {
    target,
    call: 'debit',
    users: Infinity,
    connections,
    seconds,
    refused: 0,
    replayed: 0,
    isPatient: true,
    mark: crypto.randomUUID(),
  }
  const { posted, busy, wrong } = await runApart<Result>('load.ts', job)
  return { done: posted, refused: busy, failed: Object.values(wrong).reduce((sum, each) => sum + each, 0) }
}

/**
 * In another process, with the lowest priority: outside of a benchmark the callers of the greedy app are on other machines, and take no processor
 * time from the service, the database and the other app.
 */
async function runApart<T extends object>(file: string, job: GreedJob | Job): Promise<T> {
  const result = Promise.withResolvers<T>()
  const child = Bun.spawn([process.execPath, join(import.meta.dir, file)], {
    stdio: ['ignore', 'inherit', 'inherit'],
    detached: true,
    // By default the runtime has 256 requests in flight.
    env: { ...process.env, BUN_CONFIG_MAX_HTTP_REQUESTS: '60000' },
    ipc: (message: T | { readonly fault: string }) => {
      if ('fault' in message) result.reject(new Error(`the load failed: ${message.fault}`))
      else result.resolve(message)
    },
    onExit: () => result.reject(new Error('the load of the greedy app ended without a result')),
  })
  yieldProcessors(child.pid)
  child.send(job)
  const done = await result.promise
  child.kill()
  await child.exited
  return done
}

/** Linux may schedule each session as a group, and then compares the priorities of groups; `detached` has made a session. */
function yieldProcessors(pid: number): void {
  setPriority(pid, constants.priority.PRIORITY_LOW)
  const group = `/proc/${pid}/autogroup`
  if (existsSync(group)) writeFileSync(group, String(constants.priority.PRIORITY_LOW))
}

async function newSessions(site: Site, count: number): Promise<string[]> {
  const users = (await readFile(site.target.usersFile, 'utf8')).trim().split('\n').slice(0, count)
  return await insertSessions(site, users)
}
