/**
 * `npm run bench -- tenants`: one app does too much of one thing while another app makes 20 calls a second. Prints the failures and
 * the p99 of the other app, against its p99 alone, and what the greedy app got done, against its best.
 */
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { table } from './figures.ts'
import type { Target } from './job.ts'
import { seed } from './seed.ts'
import { insertSessions } from './sessions.ts'
import { onStage, resultsDir, type Site } from './stage.ts'
import type { Greed, GreedJob, GreedResult } from './tenants-load.ts'

const callsPerSecond = 20

type Quiet = {
  readonly calls: number
  readonly failed: Readonly<Record<string, number>>
  readonly p50: number
  readonly p99: number
}

/** Each with the number of connections, and the case whose rate its own is compared with. */
const cases: readonly {
  readonly name: string
  readonly greed: Greed
  readonly connections: number
  readonly best?: string
}[] = [
  { name: 'bulk × 4', greed: 'bulk', connections: 4, best: 'bulk' },
  { name: 'bulk × 12', greed: 'bulk', connections: 12, best: 'bulk' },
  { name: 'bulk × 64', greed: 'bulk', connections: 64, best: 'bulk' },
  { name: '128 connections', greed: 'credits', connections: 128, best: 'credits' },
  { name: '512 connections', greed: 'credits', connections: 512, best: 'credits' },
  { name: 'reads × 128', greed: 'reads', connections: 128 },
  { name: 'replays, bulk × 12', greed: 'replays', connections: 12 },
  { name: 'wrong secrets × 64', greed: 'wrong secrets', connections: 64 },
  { name: 'streams reconnect', greed: 'streams', connections: 0 },
  // No service can do better than these: the load takes the processors, and asks for nothing.
  { name: '1 busy process', greed: 'processor', connections: 1 },
  { name: '2 busy processes', greed: 'processor', connections: 2 },
  { name: '3 busy processes', greed: 'processor', connections: 3 },
]

/** True if the other app had no failure. */
export async function measureTenants(args: readonly string[]): Promise<boolean> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      seconds: { type: 'string', default: '10' },
      streams: { type: 'string', default: '5000' },
      dir: { type: 'string' },
    },
  })
  const [seconds, streams] = [Number(values.seconds), Number(values.streams)]
  return await onStage(async (stage) => {
    const site = await stage.openSite(
      'tenants',
      { users: 10_000, transfersPerUser: 1 },
      values.dir === undefined ? {} : { dir: values.dir },
    )
    const usersFile = `${site.target.usersFile}.other`
    const other: Target = {
      ...(await seed(site.database, { users: 100, transfersPerUser: 1 }, { usersFile })),
      port: site.target.port,
    }
    const users = (await readFile(usersFile, 'utf8')).trim().split('\n')
    const tokens = await newSessions(site, streams)
    await callQuietly(other, users, 3)
    const alone = await callQuietly(other, users, seconds)
    console.log(`alone: p50 ${alone.p50.toFixed(1)} ms, p99 ${alone.p99.toFixed(1)} ms, ${failuresOf(alone)} failed`)
    const measured: { readonly one: (typeof cases)[number]; readonly quiet: Quiet; readonly done: GreedResult }[] = []
    for (const one of cases) {
      const count = one.greed === 'streams' ? streams : one.connections
      const job: GreedJob = {
        target: site.target,
        greed: one.greed,
        connections: count,
        seconds,
        tokens: one.greed === 'streams' ? tokens : [],
      }
      const [done, quiet] = await Promise.all([
        one.greed === 'processor' ? takeProcessors(job) : beGreedy(job),
        sleep(500).then(() => callQuietly(other, users, seconds - 1)),
      ])
      measured.push({ one, quiet, done })
      console.log(
        `${one.name}: ${failuresOf(quiet)} of ${quiet.calls} failed, p99 ${quiet.p99.toFixed(1)} ms, ${JSON.stringify(done)}`,
      )
      await sleep(1_500)
    }
    const bestOf = (best: string | undefined) =>
      Math.max(...measured.filter(({ one }) => one.best === best).map(({ done }) => done.done))
    const rows = measured.map(({ one, quiet, done }) => [
      one.greed === 'streams' ? `${streams} streams reconnect` : one.name,
      `${failuresOf(quiet)} of ${quiet.calls}`,
      quiet.p99.toFixed(1),
      (quiet.p99 / alone.p99).toFixed(1),
      one.greed === 'processor' ? '–' : (done.done / seconds).toFixed(0),
      one.best === undefined ? '–' : (done.done / bestOf(one.best)).toFixed(2),
      String(done.refused),
      String(done.failed),
    ])
    const head = ['one app does', 'the other app: failed', 'p99 ms', '÷ alone', 'done a second', '÷ best', '429', '5xx']
    console.log(`\n${table(head, rows)}`)
    await writeFile(join(resultsDir, 'tenants.json'), `${JSON.stringify({ seconds, alone, measured }, null, 2)}\n`)
    return measured.every(({ quiet }) => failuresOf(quiet) === 0)
  })
}

function failuresOf({ failed }: Quiet): number {
  return Object.values(failed).reduce((sum, count) => sum + count, 0)
}

/** Credits at an even rate, whether or not the last ones are answered. */
async function callQuietly(
  { port, clientId, clientSecret }: Target,
  users: readonly string[],
  seconds: number,
): Promise<Quiet> {
  const times: number[] = []
  const failed: Record<string, number> = {}
  const call = async (i: number) => {
    const startedAt = performance.now()
    const body = {
      clientId,
      clientSecret,
      serviceUserId: users[i % users.length],
      amount: 0.01,
      referenceType: 'QUIET',
    }
    const response = await fetch(`http://127.0.0.1:${port}/api/server/wallet/credit`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ ...body, referenceId: crypto.randomUUID() }),
    }).catch(() => undefined)
    await response?.text()
    times.push(performance.now() - startedAt)
    const status = String(response?.status ?? 'no answer')
    if (status !== '200') failed[status] = (failed[status] ?? 0) + 1
  }
  const calls: Promise<void>[] = []
  for (let i = 0; i < seconds * callsPerSecond; i++) {
    calls.push(call(i))
    await sleep(1_000 / callsPerSecond)
  }
  await Promise.all(calls)
  times.sort((a, b) => a - b)
  const at = (share: number) => times[Math.min(times.length - 1, Math.floor(times.length * share))]!
  return { calls: times.length, failed, p50: at(0.5), p99: at(0.99) }
}

/** In another process: the greedy app must not take processor time from the measurement. */
async function beGreedy(job: GreedJob): Promise<GreedResult> {
  const result = Promise.withResolvers<GreedResult>()
  const child = Bun.spawn([process.execPath, join(import.meta.dir, 'tenants-load.ts')], {
    stdio: ['ignore', 'inherit', 'inherit'],
    // By default the runtime has 256 requests in flight.
    env: { ...process.env, BUN_CONFIG_MAX_HTTP_REQUESTS: '60000' },
    ipc: (message: GreedResult) => result.resolve(message),
    onExit: () => result.reject(new Error('the load of the greedy app ended without a result')),
  })
  child.send(job)
  const done = await result.promise
  child.kill()
  await child.exited
  return done
}

/** As many processes as the job has connections. */
async function takeProcessors(job: GreedJob): Promise<GreedResult> {
  const [first] = await Promise.all(Array.from({ length: job.connections }, () => beGreedy(job)))
  return first!
}

async function newSessions(site: Site, count: number): Promise<string[]> {
  const users = (await readFile(site.target.usersFile, 'utf8')).trim().split('\n').slice(0, count)
  return await insertSessions(site, users)
}
