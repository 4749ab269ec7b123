/** A run in words, for the terminal. */
import { figureTable, table } from './figures.ts'
import type { Report } from './measure.ts'

export function reportText(report: Report): string {
  const rates = [
    ['debits, 100,000 wallets', report.basePerSecond],
    ...report.comparisons.map(({ name, perSecond }) => [name, perSecond] as const),
  ].map(([name, perSecond]) => [String(name), Number(perSecond).toFixed(0)])
  const counts = report.acknowledged.map(
    ({ posted, refused, replayed }) => `${posted} posted, ${refused} refused, ${replayed} replayed`,
  )
  const books =
    report.faults.length === 0
      ? `the books agree with every answer: ${counts.join('; ')}`
      : `THE BOOKS DO NOT AGREE: ${report.faults.join('; ')}`
  return [figureTable(report.figures), table(['round', 'per second (median)'], rates), books].join('\n\n')
}
