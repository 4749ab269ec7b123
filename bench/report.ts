/** The report of a run as text, for the terminal. */
import { figureTable, table } from './figures.ts'
import type { Report } from './measure.ts'
import { median, type Round } from './rounds.ts'

export function reportText(report: Report): string {
  return [figureTable(report.figures), rateTable(report.rounds), booksText(report), ...busyText(report.rounds)].join(
    '\n\n',
  )
}

/** Processor time shows the cost of a request even on a machine that is busy with other work. */
export function rateTable(rounds: readonly Round[]): string {
  const names = [...new Set(rounds.map((round) => round.name))]
  const rows = names.map((name) => {
    const these = rounds.filter((round) => round.name === name)
    const of = (read: (round: Round) => number, digits = 0) => median(these.map(read)).toFixed(digits)
    return [
      name,
      of((round) => round.perSecond),
      of((round) => round.latencyMs?.p50 ?? Number.NaN, 1),
      of((round) => round.latencyMs?.p99 ?? Number.NaN, 1),
      of((round) => (round.serverCores / round.perSecond) * 1e6),
      of((round) => (round.databaseCores / round.perSecond) * 1e6),
    ].map((cell) => cell.replace('NaN', '–'))
  })
  return table(['medians', 'per second', 'p50 ms', 'p99 ms', 'µs of service each', 'µs of database each'], rows)
}

function booksText({ faults, acknowledged }: Report): string {
  if (faults.length > 0) return `THE BOOKS DO NOT AGREE: ${faults.join('; ')}`
  const counts = acknowledged.map((a) => `${a.posted} posted, ${a.refused} refused, ${a.replayed} replayed`)
  return `the books agree with every answer: ${counts.join('; ')}`
}

export function isBusy(rounds: readonly Round[]): boolean {
  return otherCores(rounds) > 0.15
}

function otherCores(rounds: readonly Round[]): number {
  return median(rounds.map((round) => round.otherCores))
}

export function busyText(rounds: readonly Round[]): string[] {
  if (!isBusy(rounds)) return []
  return [
    `the machine was busy: something else used ${otherCores(rounds).toFixed(1)} processors, so these figures mean little; run again when it is quiet`,
  ]
}
