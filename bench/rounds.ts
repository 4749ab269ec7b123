/** Short rounds in turn, A B A C A …: noise affects both sides of a ratio, and each ratio is taken between neighbours. */
import type { Latency } from './job.ts'

export type Round = {
  readonly name: string
  readonly perSecond: number
  /** Absent for a round of pgbench, which reports no percentiles. */
  readonly latencyMs?: Latency
  /** Processors in use during the round, 1 being a whole one: by the service (or pgbench, or the echo) and the database. */
  readonly serverCores: number
  readonly databaseCores: number
  /** Of all processes outside the run. Well above zero, the figures describe the neighbours more than us. */
  readonly otherCores: number
}

export type Contender = { readonly name: string; readonly measure: () => Promise<Round> }

export type Comparison = {
  readonly name: string
  readonly perSecond: number
  /** In each cycle, the contender divided by the base; the figure is the median. */
  readonly overBase: readonly number[]
}

export type Measured = {
  readonly rounds: readonly Round[]
  readonly basePerSecond: number
  readonly comparisons: readonly Comparison[]
}

export async function takeTurns(
  base: Contender,
  contenders: readonly Contender[],
  cycles: number,
  progress: (round: Round, done: number, of: number) => void,
): Promise<Measured> {
  const rounds: Round[] = []
  const of = 1 + cycles * contenders.length * 2
  const measure = async (contender: Contender) => {
    const round = await contender.measure()
    rounds.push(round)
    progress(round, rounds.length, of)
    return round
  }
  const overBase = new Map<string, number[]>(contenders.map(({ name }) => [name, []]))
  let before = await measure(base)
  for (let cycle = 0; cycle < cycles; cycle++) {
    for (const contender of contenders) {
      const round = await measure(contender)
      const after = await measure(base)
      overBase.get(contender.name)!.push(round.perSecond / ((before.perSecond + after.perSecond) / 2))
      before = after
    }
  }
  const perSecond = (name: string) => median(rounds.filter((round) => round.name === name).map((r) => r.perSecond))
  return {
    rounds,
    basePerSecond: perSecond(base.name),
    comparisons: contenders.map(({ name }) => ({ name, perSecond: perSecond(name), overBase: overBase.get(name)! })),
  }
}

/**
 * A cycle is A B C C B A: two rounds of each, whose middle is the same instant, so what grows or drifts during a cycle affects all alike.
 * Of each name the mean rate of each cycle; a ratio is taken within a cycle.
 */
export async function takeMirrored(
  contenders: readonly Contender[],
  cycles: number,
): Promise<{ readonly rounds: readonly Round[]; readonly perSecond: ReadonlyMap<string, readonly number[]> }> {
  const rounds: Round[] = []
  const perSecond = new Map<string, number[]>(contenders.map(({ name }) => [name, []]))
  for (let cycle = 0; cycle < cycles; cycle++) {
    const ofCycle: Round[] = []
    for (const { measure } of [...contenders, ...contenders.toReversed()]) ofCycle.push(await measure())
    for (const { name } of contenders) {
      const rates = ofCycle.filter((round) => round.name === name).map((round) => round.perSecond)
      perSecond.get(name)!.push(rates.reduce((sum, rate) => sum + rate, 0) / rates.length)
    }
    rounds.push(...ofCycle)
  }
  return { rounds, perSecond }
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = sorted.length >> 1
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2
}

/** The processor time that one operation took in each round of that name, in seconds: the service (or pgbench) and the database. */
export function costsOf(rounds: readonly Round[], wanted: string): number[] {
  return rounds
    .filter(({ name }) => name === wanted)
    .map(({ serverCores, databaseCores, perSecond }) => (serverCores + databaseCores) / perSecond)
}
