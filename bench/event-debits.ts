/** What events cost debits: rates, processor time and the write-ahead log, of services with events on and off. */
import { setTimeout as sleep } from 'node:timers/promises'
import { withOwnSeconds } from './backends.ts'
import { toFigure, type Figure } from './figures.ts'
import { holdChecks } from './hold-checks.ts'
import { median, takeMirrored, type Round } from './rounds.ts'
import type { Site } from './stage.ts'
import { exactCpuSeconds } from './usage.ts'
import { openLogReader, type LogBytes, type LogReader } from './wal.ts'

export type Sites = { readonly off: Site; readonly on: Site; readonly before: Site | undefined }
type Name = keyof Sites
type Posted = Round & { readonly posted: number }

/** Of one debit, in microseconds; and the bytes of the log. */
type Cost = { readonly service: number; readonly writer: number; readonly others: number; readonly log: LogBytes }

/** Events get their numbers within about half a second. Every side waits, so that each pays for all its debits. */
const settlesAfterMs = 1_000

export async function measureDebits(
  sites: Sites,
  cycles: number,
  debit: (name: string, site: Site) => Promise<Posted>,
): Promise<{ readonly figures: readonly Figure[]; readonly rounds: readonly Round[] }> {
  const named = Object.entries(sites).flatMap(([name, site]) => (site ? [{ name: name as Name, site }] : []))
  const readers = await Promise.all(named.map(({ site }) => openLogReader(site.database)))
  const costs = new Map<Name, Cost[]>(named.map(({ name }) => [name, []]))
  const contenders = named.map(({ name, site }, i) => ({
    name,
    measure: async () => {
      const { round, cost } = await withOwnCost(site, readers[i]!, () => debit(name, site))
      costs.get(name)!.push(cost)
      return round
    },
  }))
  const release = await Promise.all(named.map(({ site }) => holdChecks(site)))
  try {
    await takeMirrored(contenders, 1)
    for (const each of costs.values()) each.length = 0
    const { rounds, perSecond } = await takeMirrored(contenders, cycles)
    describeCosts(costs)
    const figures = [...onOverOff(perSecond, costs), ...(sites.before ? offOverBefore(perSecond, costs) : [])]
    return { figures, rounds }
  } finally {
    await Promise.all(release.map((each) => each()))
    await Promise.all(readers.map((reader) => reader.close()))
  }
}

async function withOwnCost(
  { server, database }: Site,
  reader: LogReader,
  work: () => Promise<Posted>,
): Promise<{ readonly round: Posted; readonly cost: Cost }> {
  const [from, serviceFrom] = [await reader.position(), exactCpuSeconds(server.pid)]
  const { result: round, own } = await withOwnSeconds(database, async () => {
    const posted = await work()
    await sleep(settlesAfterMs)
    return posted
  })
  const microsOf = (seconds: number) => (seconds / round.posted) * 1e6
  const service = microsOf(exactCpuSeconds(server.pid) - serviceFrom)
  const bytes = await reader.bytesSince(from)
  const log = { all: bytes.all / round.posted, events: bytes.events / round.posted }
  return { round, cost: { service, writer: microsOf(own.writer), others: microsOf(own.others), log } }
}

type Costs = ReadonlyMap<Name, readonly Cost[]>
type PerSecond = ReadonlyMap<string, readonly number[]>

const onOverOff = (perSecond: PerSecond, costs: Costs) => [
  toFigure('debits, events on ÷ off', zip(perSecond.get('on')!, perSecond.get('off')!, ratio)),
  toFigure(
    'processor time of a debit, events off ÷ on',
    zip(inPairs(costs, 'off', all), inPairs(costs, 'on', all), ratio),
  ),
  // Not the difference of the two logs: pages of the ledger's indexes split at different times, which is up to 100 B of a debit.
  toFigure(
    'write-ahead log that events add to a debit',
    inPairs(costs, 'on', ({ log }) => log.events),
  ),
]

// Sealing is newer than events, and runs on the other connections.
const offOverBefore = (perSecond: PerSecond, costs: Costs) => [
  toFigure('debits, events off ÷ before', zip(perSecond.get('off')!, perSecond.get('before')!, ratio)),
  toFigure(
    'processor time of a debit, before ÷ events off',
    zip(inPairs(costs, 'before', debiting), inPairs(costs, 'off', debiting), ratio),
  ),
]

const debiting = ({ service, writer }: Cost) => service + writer
const all = (cost: Cost) => debiting(cost) + cost.others

const ratio = (a: number, b: number) => a / b
const zip = (a: readonly number[], b: readonly number[], join: (a: number, b: number) => number) =>
  a.map((value, i) => join(value, b[i]!))

/** A cycle has two rounds of each side. */
function inPairs(costs: Costs, name: Name, of: (cost: Cost) => number): number[] {
  const values = costs.get(name)!.map(of)
  return values.flatMap((value, i) => (i % 2 === 0 ? [(value + values[i + 1]!) / 2] : []))
}

function describeCosts(costs: Costs): void {
  for (const [name, of] of costs) {
    const middle = (part: (cost: Cost) => number) => median(of.map(part)).toFixed(1)
    const times = `${middle((c) => c.service)} µs of the service, ${middle((c) => c.writer)} µs of the writer's connection, ${middle((c) => c.others)} µs of the others`
    const log = `${middle((c) => c.log.all)} B of the log, ${middle((c) => c.log.events)} B of them for events`
    console.log(`a debit, ${name}: ${times}, ${log}`)
  }
}
