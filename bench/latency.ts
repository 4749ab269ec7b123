/**
 * `npm run bench -- latency`: the time of an answer, by the number of connections, at half of the highest rate, beside other work of
 * the database, and under three times too much load. Ends with the exact count, like every run.
 */
import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { checkExactness } from './exactness.ts'
import { table } from './figures.ts'
import type { Job, Result } from './job.ts'
import { projectDir } from './processes.ts'
import { busyText } from './report.ts'
import { median, type Round } from './rounds.ts'
import { onStage, resultsDir, runRound, type Site } from './stage.ts'
import { usageOf } from './usage.ts'

type Taken = Round & Result
type Row = readonly [name: string, rounds: readonly Taken[]]

/** False if the books are not exact. */
export async function measureLatency(args: readonly string[]): Promise<boolean> {
  const { values } = parseArgs({
    args: [...args],
    options: { seconds: { type: 'string', default: '4' }, cycles: { type: 'string', default: '3' } },
  })
  const [seconds, cycles] = [Number(values.seconds), Number(values.cycles)]
  return await onStage(async (stage) => {
    const site = await stage.openSite('latency', { users: 100_000, transfersPerUser: 1 })
    const run = (change: Partial<Job>): Promise<Taken> =>
      runRound(stage, 'debits', site.server, { ...usual(site, seconds), ...change }, site.acknowledged)
    for (let i = 0; i < 3; i++) await run({ seconds: 1 })
    const byConnections = await inTurn([1, 16, 128, 512, 1024], cycles, (connections) => run({ connections }))
    const highest = Math.max(...byConnections.map(([, rounds]) => median(rounds.map((round) => round.perSecond))))
    const half = { perSecond: highest / 2, connections: 256 }
    const beside = await inTurn(Object.keys(besides), cycles, (name) =>
      loadBeside(besides[name]!(site), () => run(half)),
    )
    const rows = [...byConnections.map(([n, rounds]) => [`${n} connections`, rounds] as Row), ...beside]
    console.log(latencyTable(rows))
    const overload = await measureOverload(site, run)
    console.log(`\n${overload.text}`)
    const { faults, acknowledged } = await checkExactness(site.database, site.acknowledged, site.seededTransfers)
    for (const fault of faults) console.log(fault)
    if (faults.length === 0) console.log(`the books agree with every answer: ${acknowledged.posted} posted`)
    const rounds = rows.flatMap(([, rounds]) => rounds)
    for (const text of busyText(rounds)) console.log(text)
    await writeFile(
      join(resultsDir, 'latency.json'),
      `${JSON.stringify({ rows, overload: overload.facts, faults }, null, 2)}\n`,
    )
    return faults.length === 0
  })
}

function usual({ target }: Site, seconds: number): Omit<Job, 'mark'> {
  return { target, call: 'debit', users: Infinity, connections: 128, seconds, refused: 0, replayed: 0 }
}

/** Runs all cases in turn, several times, so that noise of the machine affects all of them. */
async function inTurn<T extends string | number>(
  cases: readonly T[],
  cycles: number,
  measure: (one: T) => Promise<Taken>,
): Promise<[string, Taken[]][]> {
  const rows = cases.map((one): [T, Taken[]] => [one, []])
  for (let cycle = 0; cycle < cycles; cycle++) for (const [one, rounds] of rows) rounds.push(await measure(one))
  return rows.map(([one, rounds]) => [String(one), rounds])
}

/** Work beside a load of half the highest rate. Each starts with the load, which does not wait for its end. */
const besides: Record<string, (site: Site) => () => Promise<unknown>> = {
  'half the highest rate': () => async () => {},
  '… and a checkpoint':
    ({ database }) =>
    () =>
      database.query('checkpoint'),
  '… and verify with one job': (site) => () => runCli(site, ['verify', '--json', '--jobs', '1']),
  '… and verify': (site) => () => runCli(site, ['verify', '--json']),
  '… and export': (site) => async () => {
    const file = `${site.target.usersFile}.export`
    await runCli(site, ['export', file])
    await rm(file)
  },
}

async function loadBeside(work: () => Promise<unknown>, load: () => Promise<Taken>): Promise<Taken> {
  const [round] = await Promise.all([load(), work()])
  return round
}

async function runCli({ database }: Site, args: string[]): Promise<void> {
  const child = Bun.spawn([process.execPath, 'src/cli.ts', ...args], {
    cwd: projectDir,
    env: { ...process.env, DATABASE_URL: database.url },
    stdout: 'ignore',
    stderr: 'pipe',
  })
  if ((await child.exited) !== 0) throw new Error(`${args.join(' ')}: ${await new Response(child.stderr).text()}`)
}

function latencyTable(rows: readonly Row[]): string {
  const lines = rows.map(([name, rounds]) => {
    const of = (read: (round: Taken) => number, digits = 1) => median(rounds.map(read)).toFixed(digits)
    return [
      name,
      of((round) => round.perSecond, 0),
      of((round) => round.latencyMs.p50),
      of((round) => round.latencyMs.p99),
      of((round) => round.latencyMs.p999),
      of((round) => round.latencyMs.max),
      of((round) => round.latencyMs.p99 / round.latencyMs.p50),
      of((round) => (round.serverCores / round.perSecond) * 1e6, 0),
      of((round) => (round.databaseCores / round.perSecond) * 1e6, 0),
    ]
  })
  const head = [
    'medians',
    'per second',
    'p50 ms',
    'p99',
    'p99.9',
    'longest',
    'p99 ÷ p50',
    'µs of service',
    'of database',
  ]
  return table(head, lines)
}

/**
 * More debits at once than the queues hold, for ten seconds: a hundred in each request of 600 connections. A refused request is
 * repeated after a second. Then the usual load, at once.
 */
async function measureOverload({ server }: Site, run: (change: Partial<Job>) => Promise<Taken>) {
  const memoryMb = () => Math.round(usageOf(server.pid).rssBytes / 1e6)
  const before = await run({ seconds: 2 })
  const fill = await run({ call: 'bulk', connections: 100, seconds: 4, isPatient: true })
  const samplesMb: number[] = []
  const timer = setInterval(() => samplesMb.push(memoryMb()), 500)
  const over = await run({ call: 'bulk', connections: 600, seconds: 10, isPatient: true }).finally(() =>
    clearInterval(timer),
  )
  const after = await run({ seconds: 2 })
  const third = Math.floor(samplesMb.length / 3)
  const facts = {
    perSecondAtFullQueues: fill.perSecond,
    perSecondUnderOverload: over.perSecond,
    requestsToldToComeAgain: over.busy,
    longestMs: over.latencyMs.max,
    memoryMb: {
      after: memoryMb(),
      thirds: [0, 1, 2].map((i) => Math.max(...samplesMb.slice(i * third, (i + 1) * third))),
    },
    afterOverBefore: after.perSecond / before.perSecond,
  }
  return {
    facts,
    text: [
      `60,000 debits at once: ${over.perSecond.toFixed(0)} a second (10,000 at once: ${fill.perSecond.toFixed(0)}), ${over.busy} requests were refused and repeated, ` +
        `and all were done in the end, the last after ${(over.latencyMs.max / 1000).toFixed(1)} s.`,
      `Memory, the most of each third: ${facts.memoryMb.thirds.join(', ')} MB; right after: the usual load does ${facts.afterOverBefore.toFixed(2)} of before.`,
    ].join('\n'),
  }
}
