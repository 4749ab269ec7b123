/** One run, from an empty folder to figures. */
import { availableParallelism } from 'node:os'
import { checkExactness } from './exactness.ts'
import { toFigure, type Figure, type FigureName } from './figures.ts'
import { measureIdle } from './idle.ts'
import type { Job } from './job.ts'
import { describeMachine } from './machine.ts'
import { watchMemory, type Memory } from './memory.ts'
import type { Options } from './options.ts'
import { pgbenchMissing, type Pgbench } from './pgbench.ts'
import { costsOf, median, takeTurns, type Contender, type Measured, type Round } from './rounds.ts'
import { runRound, type Site, type Stage } from './stage.ts'

export type Report = Awaited<ReturnType<typeof measure>>

export async function measure(options: Options, stage: Stage, log: (text: string) => void) {
  const startedAt = new Date().toISOString()
  log('starting the service with 100,000 wallets')
  const site = await stage.openSite('spread', { users: 100_000, transfersPerUser: 1 })
  const sites = [site]
  log('preparing pgbench')
  const pgbench = await stage.openPgbench()
  if (!pgbench) log(pgbenchMissing)
  const contenders = await openContenders(options, stage, site, pgbench)
  log('starting the service once more on the same database, with a worker on each processor')
  const workers = await stage.openBeside(site, { WORKERS: String(availableParallelism()) })
  // Twice the connections, so that the batches of each worker are as large as those of the one process.
  const connections = options.connections * 2
  contenders.push({ name: 'workers', measure: () => debits(options, stage, 'workers', workers, { connections }) })
  contenders.push({ name: 'many', measure: () => debits(options, stage, 'many', site, { connections: 1024 }) })
  log('starting the service with 20,000 wallets that were never analysed')
  const unanalysed = await stage.openSite('unanalysed', { users: 20_000, transfersPerUser: 1, isUnanalysed: true })
  sites.push(unanalysed)
  contenders.push({ name: 'unanalysed', measure: () => debits(options, stage, 'unanalysed', unanalysed) })
  if (options.isLarge) {
    log('making 1,000,000 wallets and 10,000,000 transfers; this takes minutes')
    const large = await stage.openSite('large', { users: 1_000_000, transfersPerUser: 10 })
    sites.push(large)
    contenders.push({ name: 'large', measure: () => debits(options, stage, 'large', large) })
  }
  const base = { name: 'debits', measure: () => debits(options, stage, 'debits', site) }
  log('warming up')
  for (const contender of [base, ...contenders]) await contender.measure()
  const measured = await takeTurns(base, contenders, options.cycles, (round, done, of) =>
    log(`${String(done).padStart(3)}/${of}  ${roundText(round)}`),
  )
  const idle = options.isQuick ? [] : await measureIdleSite(options, stage, log)
  log(`load for ${options.memorySeconds} s, watching memory`)
  const memory = await watchMemory(stage, site, jobOn(options, site, { seconds: options.memorySeconds }))
  log('checking the books')
  const checks = await Promise.all(sites.map((s) => checkExactness(s.database, s.acknowledged, s.seededTransfers)))
  return {
    startedAt,
    machine: await describeMachine(site.database, pgbench),
    options,
    figures: [...toFigures(measured, memory), ...idle],
    basePerSecond: measured.basePerSecond,
    comparisons: measured.comparisons,
    memory,
    acknowledged: checks.map((check) => check.acknowledged),
    faults: checks.flatMap((check) => check.faults),
    rounds: measured.rounds,
  }
}

async function measureIdleSite(options: Options, stage: Stage, log: (text: string) => void): Promise<Figure[]> {
  log('starting the service with 20,000 wallets that is left alone after a short load')
  const site = await stage.openSite('idle', { users: 20_000, transfersPerUser: 1 })
  const figures = await measureIdle(stage, site, jobOn(options, site, {}), log)
  await site.server.stop()
  return figures
}

async function openContenders(
  options: Options,
  stage: Stage,
  site: Site,
  pgbench: Pgbench | undefined,
): Promise<Contender[]> {
  const echo = await stage.openEcho()
  const echoTarget = { ...site.target, port: echo.port }
  const contenders: Contender[] = [
    { name: 'hot', measure: () => debits(options, stage, 'hot', site, { users: 1 }) },
    {
      name: 'echo',
      measure: () => runRound(stage, 'echo', echo, jobOn(options, site, { target: echoTarget })),
    },
    { name: 'refused', measure: () => debits(options, stage, 'refused', site, { refused: 0.1 }) },
    { name: 'replays', measure: () => debits(options, stage, 'replays', site, { replayed: 0.1 }) },
    { name: 'check-balance', measure: () => debits(options, stage, 'check-balance', site, { call: 'check-balance' }) },
    {
      name: 'bulk',
      measure: () => debits(options, stage, 'bulk', site, { call: 'bulk', connections: bulkConnections }),
    },
  ]
  if (pgbench) {
    contenders.unshift({ name: 'pgbench', measure: () => pgbench.measure(options.roundSeconds) })
  }
  return contenders
}

function debits(options: Options, stage: Stage, name: string, site: Site, change: Partial<Job> = {}): Promise<Round> {
  return runRound(stage, name, site.server, jobOn(options, site, change), site.acknowledged)
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

const overPgbenchOf = {
  workers: 'debits, a worker on each processor ÷ TPC-B',
  many: 'debits, 1,024 connections ÷ TPC-B',
} as const satisfies Record<string, FigureName>

function toFigures(measured: Measured, memory: Memory): Figure[] {
  const overBaseOf = (wanted: string) => measured.comparisons.find(({ name }) => name === wanted)?.overBase
  const pgbench = overBaseOf('pgbench')
  const ratios = measured.comparisons.flatMap(({ name, overBase }) => {
    // Compared with pgbench in the same cycle, not with the usual load.
    if (name === 'workers' || name === 'many') {
      const overPgbench = pgbench?.map((each, i) => overBase[i]! / each)
      return overPgbench ? [toFigure(overPgbenchOf[name], overPgbench)] : []
    }
    const figure = figureOf[name as keyof typeof figureOf]
    return toFigure(figure.name, figure.isInverse ? overBase.map((ratio) => 1 / ratio) : overBase)
  })
  const latencies = measured.rounds.flatMap(({ name, latencyMs }) =>
    name === 'debits' && latencyMs ? [latencyMs] : [],
  )
  return [
    ...overPgbenchCost(measured.rounds),
    ...ratios,
    toFigure(
      'p99 ÷ p50 at 128 connections',
      latencies.map(({ p50, p99 }) => p99 / p50),
    ),
    toFigure('memory after the load', [memory.endMb]),
    toFigure('memory at the end ÷ at one third', [memory.growth]),
  ]
}

/** Rates move with the machine's disk, and the processor time of an operation hardly does. */
function overPgbenchCost(rounds: readonly Round[]): Figure[] {
  const pgbench = costsOf(rounds, 'pgbench')
  if (pgbench.length === 0) return []
  const overPgbench = (name: string) => costsOf(rounds, name).map((cost) => cost / median(pgbench))
  return [
    toFigure('processor time, debit ÷ TPC-B', overPgbench('debits')),
    toFigure('processor time, debit at 1,024 connections ÷ TPC-B', overPgbench('many')),
  ]
}

function roundText({ name, perSecond, latencyMs }: Round): string {
  const rate = `${name.padEnd(14)} ${perSecond.toFixed(0).padStart(7)}/s`
  return latencyMs ? `${rate}  p50 ${latencyMs.p50.toFixed(1)} ms  p99 ${latencyMs.p99.toFixed(1)} ms` : rate
}
