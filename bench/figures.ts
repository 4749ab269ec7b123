/** The figures and their goals, and whether they are met. */
import { median } from './rounds.ts'

export type Figure = {
  readonly name: string
  readonly goal: string
  /** The median, and the lowest and highest single measurement. */
  readonly value: number
  readonly lowest: number
  readonly highest: number
  readonly isMet: boolean
  readonly unit: '' | 'MB' | 'ms' | 'B'
  /** The value measured earlier: on the first machine of bench/README.md, or when first required; with 512 connections, not 1,024. */
  readonly former: number | undefined
}

type Goal = {
  readonly least?: number
  readonly most?: number
  readonly unit?: 'MB' | 'ms' | 'B'
  readonly former?: number
}

const goals = {
  'processor time, debit ÷ TPC-B': { most: 0.2, former: 0.28 },
  'processor time, debit at 1,024 connections ÷ TPC-B': { most: 0.16 },
  'debits ÷ TPC-B': { least: 5, former: 3.61 },
  'debits, 1,024 connections ÷ TPC-B': { least: 6, former: 4.5 },
  'debits, a worker on each processor ÷ TPC-B': { least: 5, former: 3.86 },
  'without planner statistics ÷ with': { least: 0.9, former: 1.03 },
  'one hot wallet ÷ 100,000 wallets': { least: 0.95, former: 1.31 },
  'debits ÷ bare JSON echo': { least: 0.6, former: 0.43 },
  '10 % refused ÷ none': { least: 0.8, former: 1.01 },
  '10 % replays ÷ none': { least: 0.95, former: 0.95 },
  'with 10 million transfers ÷ empty': { least: 0.9, former: 0.89 },
  'debits, grown ÷ empty': { least: 0.9 },
  'check-balance, grown ÷ debits on the empty one': { least: 1.2 },
  'check-balance ÷ debits': { least: 1.2, former: 1.52 },
  'debits, 100 in a request ÷ one': { least: 1.7 },
  'p99 ÷ p50 at 128 connections': { most: 2, former: 2.03 },
  'memory after the load': { most: 150, unit: 'MB', former: 130 },
  'memory at the end ÷ at one third': { most: 1.1, former: 1 },
  'processor time a second, after a load': { most: 300, unit: 'ms' },
  'processor time a second, idle service': { most: 60, unit: 'ms' },
  'debits, events on ÷ off': { least: 0.97 },
  'processor time of a debit, events off ÷ on': { least: 0.97 },
  'write-ahead log that events add to a debit': { most: 40, unit: 'B' },
  'debits, events off ÷ before': { least: 0.99 },
  'processor time of a debit, before ÷ events off': { least: 0.99 },
  'events a second from the feed': { least: 20_000 },
  'answer → feed, p50': { most: 150, unit: 'ms' },
  'answer → feed, p99': { most: 1_000, unit: 'ms' },
  'deliveries a second': { least: 2_000 },
  'answer → endpoint, p99': { most: 1_500, unit: 'ms' },
  'answer → endpoint, p99 beside dead endpoints ÷ alone': { most: 1.2 },
  'debits beside dead endpoints ÷ alone': { least: 0.97 },
  'processor time of a debit, alone ÷ beside dead endpoints': { least: 0.97 },
  'debits ÷ before holds': { least: 0.98 },
  'processor time of a debit, before holds ÷ now': { least: 0.98 },
  'debits on wallets with a hold ÷ without': { least: 0.95 },
  'processor time of a debit, without a hold ÷ with one': { least: 0.95 },
  'holds ÷ debits': { least: 0.9 },
  'processor time, debit ÷ hold': { least: 0.9 },
  'captures ÷ debits': { least: 0.4 },
  'processor time, debit ÷ capture': { least: 0.4 },
  'expiry of a few holds, latest': { most: 2_000, unit: 'ms' },
  'many holds expire in one second, gone after': { most: 60_000, unit: 'ms' },
  'debits beside these expiries ÷ alone': { least: 0.8 },
  'processor time of a debit ÷ with its sealing': { least: 0.97 },
  'bytes of an entry in the trees': { most: 15, unit: 'B' },
  'bytes of a wallet’s state in the log': { most: 150, unit: 'B' },
  'proof, bytes': { most: 4_096, unit: 'B' },
  'new entry → proof': { most: 2_000, unit: 'ms' },
  'offline check of a proof': { most: 50, unit: 'ms' },
  'sealed behind at full load, longest': { most: 660_000, unit: 'ms' },
  'new entry → proof, at full load': { most: 2_000, unit: 'ms' },
} as const satisfies Record<string, Goal>

export type FigureName = keyof typeof goals

export function toFigure(name: FigureName, values: readonly number[]): Figure {
  const goal: Goal = goals[name]
  const value = median(values)
  const { least = -Infinity, most = Infinity, unit = '' } = goal
  return {
    name,
    goal: goal.least === undefined ? `≤ ${most}${unit && ` ${unit}`}` : `≥ ${least}`,
    value,
    lowest: Math.min(...values),
    highest: Math.max(...values),
    isMet: value >= least && value <= most,
    unit,
    former: goal.former,
  }
}

export function figureTable(figures: readonly Figure[]): string {
  const rows = figures.map(({ name, goal, value, lowest, highest, isMet, unit, former }) => [
    name,
    goal,
    shown(value) + (unit && ` ${unit}`),
    `${shown(lowest)} … ${shown(highest)}`,
    former === undefined ? '' : shown(former) + (unit && ` ${unit}`),
    isMet ? 'met' : 'missed',
  ])
  return table(['figure', 'goal', 'median', 'single rounds', 'former', 'verdict'], rows)
}

export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((title, i) => Math.max(title.length, ...rows.map((row) => row[i]!.length)))
  const line = (cells: readonly string[]) =>
    cells
      .map((cell, i) => cell.padEnd(widths[i]!))
      .join('  ')
      .trimEnd()
  return [line(head), line(widths.map((width) => '─'.repeat(width))), ...rows.map(line)].join('\n')
}

function shown(value: number): string {
  return value >= 100 ? value.toFixed(0) : value >= 10 ? value.toFixed(1) : value.toFixed(2)
}
