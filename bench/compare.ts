/**
 * Is a change faster? Alternates debits on this checkout and on another one (or on this one with other settings) in one run:
 * `bun bench/compare.ts [--dir <checkout>] [--base <checkout>] [--cycles 10] [--call check-balance|bulk] [--replayed 0.01] [NAME=value …]`
 */
import { parseArgs } from 'node:util'
import { checkExactness } from './exactness.ts'
import type { Job } from './job.ts'
import { busyText } from './report.ts'
import { median, takeTurns, type Round } from './rounds.ts'
import { onStage, runRound, type Site, type Stage } from './stage.ts'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    dir: { type: 'string' },
    base: { type: 'string' },
    cycles: { type: 'string', default: '10' },
    seconds: { type: 'string', default: '1' },
    connections: { type: 'string', default: '128' },
    users: { type: 'string', default: '100000' },
    call: { type: 'string', default: 'debit' },
    replayed: { type: 'string', default: '0' },
  },
})
const env = Object.fromEntries(positionals.map((pair) => [pair.split('=')[0]!, pair.slice(pair.indexOf('=') + 1)]))
await onStage(compare)
process.exit()

async function compare(stage: Stage): Promise<void> {
  const seeding = { users: Number(values.users), transfersPerUser: 1 }
  const ours = await stage.openSite('ours', seeding, values.base === undefined ? {} : { dir: values.base })
  const other = await stage.openSite('other', seeding, values.dir === undefined ? { env } : { dir: values.dir, env })
  const base = { name: 'this', measure: () => round(stage, 'this', ours) }
  const contender = { name: 'other', measure: () => round(stage, 'other', other) }
  for (let i = 0; i < 3; i++) for (const { measure } of [base, contender]) await measure()
  const measured = await takeTurns(base, [contender], Number(values.cycles), () => {})
  const [comparison] = measured.comparisons
  for (const name of ['this', 'other']) console.log(summary(measured.rounds.filter((r) => r.name === name)))
  const ratios = comparison!.overBase.toSorted((a, b) => a - b)
  console.log(`other ÷ this: ${median(ratios).toFixed(3)}  (${ratios.map((ratio) => ratio.toFixed(2)).join(' ')})`)
  for (const text of busyText(measured.rounds)) console.log(text)
  for (const site of [ours, other]) {
    const { faults } = await checkExactness(site.database, site.acknowledged, site.seededTransfers)
    for (const fault of faults) console.log(fault)
  }
}

function round(stage: Stage, name: string, { target, server, acknowledged }: Site) {
  const job: Omit<Job, 'mark'> = {
    target,
    call: values.call === 'check-balance' || values.call === 'bulk' ? values.call : 'debit',
    users: Infinity,
    connections: Number(values.connections),
    seconds: Number(values.seconds),
    refused: 0,
    replayed: Number(values.replayed),
  }
  return runRound(stage, name, server, job, acknowledged)
}

/** The processor time of a request is the figure that noise on a shared machine affects least. */
function summary(rounds: readonly Round[]): string {
  const of = (read: (round: Round) => number) => median(rounds.map(read))
  const micros = (cores: 'serverCores' | 'databaseCores') =>
    of((round) => (round[cores] / round.perSecond) * 1e6).toFixed(1)
  return [
    `${rounds[0]!.name.padEnd(6)} ${of((round) => round.perSecond).toFixed(0)}/s`,
    `p50 ${of((round) => round.latencyMs!.p50).toFixed(1)} ms`,
    `p99 ${of((round) => round.latencyMs!.p99).toFixed(1)} ms`,
    `processor time each: service ${micros('serverCores')} µs, database ${micros('databaseCores')} µs`,
  ].join('  ')
}
