/** The calls of the quiet app of `npm run bench -- tenants`, and where the time of each went. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Target } from './job.ts'

/** What the probe in the service records of one call, by `clockMs`; `usedMs` is the service's processor time from its arrival to its answer. */
export type Marks = {
  readonly arrivedAt: number
  usedMs: number
  statementAt?: number
  writtenAt?: number
  answeredAt?: number
}

export type Probed = {
  readonly marks: Readonly<Record<string, Marks>>
  readonly loopDelaysMs: readonly number[]
  /** The requests of the greedy app that the service had not answered, at each tick of its timer. */
  readonly underWay: readonly number[]
}

export const probePath = '/tenants-probe'

/** The same in all processes of the machine, with fractions of a millisecond. */
export const clockMs = () => performance.timeOrigin + performance.now()

/**
 * The milliseconds of one call: `loop` until its request begins, `queue` until its statement is sent, `statement`, and `answer` until the caller
 * has it; and the processor time that the service used meanwhile.
 */
type Phases = Record<'total' | 'loop' | 'queue' | 'statement' | 'answer' | 'used', number>

export type Quiet = {
  readonly calls: number
  readonly failed: Readonly<Record<string, number>>
  readonly p50: number
  readonly p99: number
  readonly slowest: readonly Phases[]
  /** How late a timer of the service's event loop was: the length of its turns, and waits for a processor. */
  readonly loopP99: number
  readonly loopMax: number
  /** The median and the p99 of the service's processor time between the arrival of a call and its answer. */
  readonly usedP50: number
  readonly usedP99: number
  /** The median number of requests of the greedy app under way in the service. */
  readonly underWay: number
}

export const noCalls: Quiet = {
  calls: 0,
  failed: {},
  p50: 0,
  p99: 0,
  slowest: [],
  loopP99: 0,
  loopMax: 0,
  usedP50: 0,
  usedP99: 0,
  underWay: 0,
}

const callsPerSecond = 20
let count = 0

/** Credits at an even rate, whether or not the last ones are answered. */
export async function callQuietly(target: Target, users: readonly string[], seconds: number): Promise<Quiet> {
  const made: { readonly id: string; readonly sentAt: number; readonly receivedAt: number }[] = []
  const failed: Record<string, number> = {}
  const call = async (user: string) => {
    const id = `quiet-${++count}-`
    const sentAt = clockMs()
    const response = await credit(target, user, id).catch(() => undefined)
    await response?.text()
    made.push({ id, sentAt, receivedAt: clockMs() })
    const status = String(response?.status ?? 'no answer')
    if (status !== '200') failed[status] = (failed[status] ?? 0) + 1
  }
  await takeProbed(target)
  const calls: Promise<void>[] = []
  for (let i = 0; i < seconds * callsPerSecond; i++) {
    calls.push(call(users[i % users.length]!))
    await sleep(1_000 / callsPerSecond)
  }
  await Promise.all(calls)
  const { marks, loopDelaysMs, underWay } = await takeProbed(target)
  const times = made.map(({ sentAt, receivedAt }) => receivedAt - sentAt)
  const phases = made.map(({ id, sentAt, receivedAt }) => phasesOf(sentAt, marks[id], receivedAt))
  return {
    calls: made.length,
    failed,
    p50: quantile(times, 0.5),
    p99: quantile(times, 0.99),
    usedP50: quantile(
      phases.map(({ used }) => used),
      0.5,
    ),
    usedP99: quantile(
      phases.map(({ used }) => used),
      0.99,
    ),
    underWay: quantile(underWay, 0.5),
    slowest: phases.toSorted((a, b) => b.total - a.total).slice(0, 10),
    loopP99: quantile(loopDelaysMs, 0.99),
    loopMax: quantile(loopDelaysMs, 1),
  }
}

async function credit({ port, clientId, clientSecret }: Target, serviceUserId: string, id: string): Promise<Response> {
  const body = { clientId, clientSecret, serviceUserId, amount: 0.01, referenceType: 'QUIET' }
  return await fetch(`http://127.0.0.1:${port}/api/server/wallet/credit`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-quiet-call': id },
    body: JSON.stringify({ ...body, referenceId: `${id}${crypto.randomUUID()}` }),
  })
}

/** What was recorded since the last time. */
async function takeProbed({ port }: Target): Promise<Probed> {
  const response = await fetch(`http://127.0.0.1:${port}${probePath}`)
  return (await response.json()) as Probed
}

/** A call that never reached a step has spent the rest of its time in the step before. */
function phasesOf(sentAt: number, marks: Marks | undefined, receivedAt: number): Phases {
  const { arrivedAt = receivedAt, answeredAt = receivedAt } = marks ?? {}
  const { statementAt = answeredAt, writtenAt = answeredAt } = marks ?? {}
  return {
    total: receivedAt - sentAt,
    loop: arrivedAt - sentAt,
    queue: statementAt - arrivedAt,
    statement: writtenAt - statementAt,
    answer: receivedAt - writtenAt,
    used: marks?.usedMs ?? 0,
  }
}

function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0
}

export function failuresOf({ failed }: Quiet): number {
  return Object.values(failed).reduce((sum, each) => sum + each, 0)
}

/** One line for each of the slowest calls. */
export function slowestText({ slowest }: Quiet): string {
  return slowest.map((phases) => `    ${textOf(phases)}`).join('\n')
}

function textOf(phases: Phases): string {
  return Object.entries(phases)
    .map(([name, ms]) => `${name} ${ms.toFixed(1)}`)
    .join(', ')
}
