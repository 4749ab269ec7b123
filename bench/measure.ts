/** One run, from an empty folder to figures. */
import { availableParallelism } from 'node:os'
import { checkExactness } from './exactness.ts'
import { toFigure, type Figure, type FigureName } from './figures.ts'
import { measureIdle } from './idle.ts'
import type { Job } from './job.ts'
import { describeMachine } from './machine.ts'
import { watchMemory, type Memory } from './memory.ts'
import type { Options } from './options.ts'
import { pgbenchMissing } from './pgbench.ts'
import { costsOf, median, takeTurns, type Contender, type Measured, type Round } from './rounds.ts'
import { runRound, type Site, type Stage } from './stage.ts'

export type Report = Awaited<ReturnType<typeof measure>>

export async function measure(options: Options, stage: Stage, log: (text: string) => void) {
  const startedAt = new Date().toISOString()
  log('starting the service with 100,000 wallets')
  const site = await stage.openSite('spread', { users: 100_000, transfersPerUser: 1 })
  log('preparing pgbench')
  const pgbench = await stage.openPgbench()
  if (!pgbench) log(pgbenchMissing)
  const base = debits(options, stage, 'debits', site)
  const ofPgbench = pgbench ? [{ name: 'pgbench', measure: () => pgbench.measure(options.roundSeconds) }] : []
  const alone = await alternate(options, log, base, [...ofPgbench, ...(await openContenders(options, stage, site))])
  log(`load for ${options.memorySeconds} s, watching memory`)
  const memory = await watchMemory(stage, site, jobOn(options, site, { seconds: options.memorySeconds }))
  const idle = options.isQuick ? [] : await measureIdleSite(options, stage, log)
  // Only from here on do several services run: each of them uses the processor without a load, too.
  const others = await openOtherSites(options, stage, log)
  const beside = await alternate(options, log, base, [...ofPgbench, ...others.map(({ contender }) => contender)])
  log('checking the books')
  const sites = [site, ...others.map((other) => other.site)]
  const checks = await Promise.all(sites.map((s) => checkExactness(s.database, s.acknowledged, s.seededTransfers)))
  return {
    startedAt,
    machine: await describeMachine(site.database, pgbench),
    options,
    figures: [...toFigures(alone, beside, memory), ...idle],
    basePerSecond: alone.basePerSecond,
    comparisons: [...alone.comparisons, ...beside.comparisons.filter(({ name }) => name !== 'pgbench')],
    memory,
    acknowledged: checks.map((check) => check.acknowledged),
    faults: checks.flatMap((check) => check.faults),
    rounds: [...alone.rounds, ...beside.rounds.filter(({ name }) => name !== 'pgbench' && name !== 'debits')],
  }
}

async function alternate(
  options: Options,
  log: (text: string) => void,
  base: Contender,
  contenders: readonly Contender[],
): Promise<Measured> {
  log('warming up')
  for (const contender of [base, ...contenders]) await contender.measure()
  return await takeTurns(base, contenders, options.cycles, (round, done, of) =>
    log(`${String(done).padStart(3)}/${of}  ${roundText(round)}`),
  )
}

type OtherSite = { readonly site: Site; readonly contender: Contender }

async function openOtherSites(options: Options, stage: Stage, log: (text: string) => void): Promise<OtherSite[]> {
  log('starting the service with a worker on each processor')
  const env = { WORKERS: String(availableParallelism()) }
  const workers = await stage.openSite('workers', { users: 100_000, transfersPerUser: 1 }, { env })
  // Twice the connections, so that the batches of each worker are as large as those of the one process.
  const connections = options.connections * 2
  const others = [{ site: workers, contender: debits(options, stage, 'workers', workers, { connections }) }]
  log('starting the service with 20,000 wallets that were never analysed')
  const unanalysed = await stage.openSite('unanalysed', { users: 20_000, transfersPerUser: 1, isUnanalysed: true })
  others.push({ site: unanalysed, contender: debits(options, stage, 'unanalysed', unanalysed) })
  if (options.isLarge) {
    log('making 1,000,000 wallets and 10,000,000 transfers; this takes minutes')
    const large = await stage.openSite('large', { users: 1_000_000, transfersPerUser: 10 })
    others.push({ site: large, contender: debits(options, stage, 'large', large) })
  }
  return others
}

async function measureIdleSite(options: Options, stage: Stage, log: (text: string) => void): Promise<Figure[]> {
  log('starting the service with 20,000 wallets that is left alone after a short load')
  const site = await stage.openSite('idle', { users: 20_000, transfersPerUser: 1 })
  const figures = await measureIdle(stage, site, jobOn(options, site, {}), log)
  await site.server.stop()
  return figures
}

async function openContenders(options: Options, stage: Stage, site: Site): Promise<Contender[]> {
  const echo = await stage.openEcho()
  const echoTarget = { ...site.target, port: echo.port }
  return [
    debits(options, stage, 'hot', site, { users: 1 }),
    {
      name: 'echo',
      measure: () => runRound(stage, 'echo', echo, jobOn(options, site, { target: echoTarget })),
    },
    debits(options, stage, 'refused', site, { refused: 0.1 }),
    debits(options, stage, 'replays', site, { replayed: 0.1 }),
    debits(options, stage, 'check-balance', site, { call: 'check-balance' }),
    debits(options, stage, 'bulk', site, { call: 'bulk', connections: bulkConnections }),
    debits(options, stage, 'many', site, { connections: 1024 }),
  ]
}

function debits(options: Options, stage: Stage, name: string, site: Site, change: Partial<Job> = {}): Contender {
  return { name, measure: () => runRound(stage, name, site.server, jobOn(options, site, change), site.acknowledged) }
}

function jobOn(options: Options, { target }: Site, change: Partial<Job>): Omit<Job, 'mark'> {
  const { connections, roundSeconds: seconds } = options
  return { target, call: 'debit', users: Infinity, connections, seconds, refused: 0, replayed: 0, ...change }
}

/** With a hundred operations in each request, this many requests fill the batches. */
const bulkConnections = 16

const figureOf = {
  pgbench: { name: 'debits ÷ TPC-B', isInverse: true },
  unanalysed: { name: 'without planner statistics ÷ with', isInverse: false },
  hot: { name: 'one hot wallet ÷ 100,000 wallets', isInverse: false },
  echo: { name: 'debits ÷ bare JSON echo', isInverse: true },
  refused: { name: '10 % refused ÷ none', isInverse: false },
  replays: { name: '10 % replays ÷ none', isInverse: false },
  'check-balance': { name: 'check-balance ÷ debits', isInverse: false },
  bulk: { name: 'debits, 100 in a request ÷ one', isInverse: false },
  large: { name: 'with 10 million transfers ÷ empty', isInverse: false },
} as const satisfies Record<string, { name: FigureName; isInverse: boolean }>

function toFigures(alone: Measured, beside: Measured, memory: Memory): Figure[] {
  const ratios = [...alone.comparisons, ...beside.comparisons.filter(({ name }) => name !== 'pgbench')].flatMap(
    ({ name, overBase }) => {
      const figure = figureOf[name as keyof typeof figureOf] as (typeof figureOf)[keyof typeof figureOf] | undefined
      if (!figure) return []
      return toFigure(figure.name, figure.isInverse ? overBase.map((ratio) => 1 / ratio) : overBase)
    },
  )
  const latencies = alone.rounds.flatMap(({ name, latencyMs }) => (name === 'debits' && latencyMs ? [latencyMs] : []))
  return [
    ...overPgbenchCost(alone.rounds),
    ...ratios,
    ...overPgbench('debits, 1,024 connections ÷ TPC-B', alone, 'many'),
    ...overPgbench('debits, a worker on each processor ÷ TPC-B', beside, 'workers'),
    toFigure(
      'p99 ÷ p50 at 128 connections',
      latencies.map(({ p50, p99 }) => p99 / p50),
    ),
    toFigure('memory after the load', [memory.endMb]),
    toFigure('memory at the end ÷ at one third', [memory.growth]),
  ]
}

/** Compared with pgbench in the same cycle, not with the usual load. */
function overPgbench(figure: FigureName, { comparisons }: Measured, wanted: string): Figure[] {
  const overBaseOf = (name: string) => comparisons.find((comparison) => comparison.name === name)?.overBase
  const pgbench = overBaseOf('pgbench')
  const contender = overBaseOf(wanted)
  if (!pgbench || !contender) return []
  return [
    toFigure(
      figure,
      contender.map((ratio, i) => ratio / pgbench[i]!),
    ),
  ]
}

/** Rates move with the machine's disk, and the processor time of an operation hardly does. */
function overPgbenchCost(rounds: readonly Round[]): Figure[] {
  const pgbench = costsOf(rounds, 'pgbench')
  if (pgbench.length === 0) return []
  const overCost = (name: string) => costsOf(rounds, name).map((cost) => cost / median(pgbench))
  return [
    toFigure('processor time, debit ÷ TPC-B', overCost('debits')),
    toFigure('processor time, debit at 1,024 connections ÷ TPC-B', overCost('many')),
  ]
}

function roundText({ name, perSecond, latencyMs }: Round): string {
  const rate = `${name.padEnd(14)} ${perSecond.toFixed(0).padStart(7)}/s`
  return latencyMs ? `${rate}  p50 ${latencyMs.p50.toFixed(1)} ms  p99 ${latencyMs.p99.toFixed(1)} ms` : rate
}
