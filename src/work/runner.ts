/**
 * Runs the queue. Every process runs every kind, each in separate lanes, so that a slow or failing kind never delays another.
 * A lane claims pieces, runs them, records their ends, and repeats until nothing is due.
 */
import type { Service } from '../actions/service.ts'
import { inTime } from '../platform/in-time.ts'
import { faultFields, faultText } from '../platform/log.ts'
import type { WorkResult } from '../platform/metrics.ts'
import { longRunning } from '../store/connection/database.ts'
import {
  claimWork,
  findDueKinds,
  finishWork,
  giveUpWork,
  retryWork,
  type Piece,
  type WorkKind,
} from '../store/work/work.ts'
import type { Ended, Kind } from './kind.ts'

const stopWithinMs = 5_000

/** Returns a function that stops the queue, and waits up to five seconds for the current runs. */
export function startWork(
  service: Service,
  kinds: readonly Kind[],
  { isPolling = true }: { isPolling?: boolean } = {},
): () => Promise<void> {
  const lanes = new Map(kinds.map((kind) => [kind.name, openLanes(service, kind)]))
  for (const [name, { wake }] of lanes) service.wakeUps.onWake(name, wake)
  const polled = Map.groupBy(isPolling ? kinds : [], ({ pollMs }) => pollMs)
  const timers = Array.from(polled, ([everyMs, together]) => {
    const names = together.map(({ name }) => name)
    return startPolling(service, names, everyMs, (name) => lanes.get(name)?.wake())
  })
  return async () => {
    for (const timer of timers) clearInterval(timer)
    for (const { close } of lanes.values()) close()
    await inTime(Promise.all(Array.from(lanes.values(), ({ idle }) => idle())), stopWithinMs).catch(() => {})
  }
}

/** One statement asks for all kinds with the same interval. The random delay spreads the first polls of several processes. */
function startPolling(
  having: Service,
  names: readonly WorkKind[],
  everyMs: number,
  wake: (name: WorkKind) => void,
): ReturnType<typeof setInterval> {
  const service = longRunning(having)
  let isAsking = false
  async function poll(): Promise<void> {
    if (isAsking) return
    isAsking = true
    try {
      for (const name of await findDueKinds(service.db.pool, names)) wake(name)
    } catch (error) {
      service.log.warn('work could not be found', { kinds: names.join(' '), ...faultFields(error) })
    }
    isAsking = false
  }
  setTimeout(() => void poll(), Math.random() * Math.min(everyMs, 1_000))
  return setInterval(() => void poll(), everyMs)
}

/** Runs the due work of a kind, until nothing is due or a dependency does not answer. */
export async function runDue(service: Service, kind: Kind): Promise<void> {
  const lanes = openLanes(service, kind)
  lanes.wake()
  await lanes.idle()
}

function openLanes(having: Service, kind: Kind) {
  const service = longRunning(having)
  const { name, concurrency, batch, leaseMs, isAtMostOnce, exceptOf = () => [] } = kind
  let running = 0
  let isClosed = false
  let isAway = false
  let idle = Promise.withResolvers<void>()

  const mayRun = () => !isClosed && !isAway

  function startLane(): void {
    if (running >= concurrency || !mayRun()) return
    if (running++ === 0) idle = Promise.withResolvers()
    void lane()
  }

  async function lane(): Promise<void> {
    try {
      while (mayRun()) {
        const claim = { kind: name, limit: batch, leaseMs, isAtMostOnce, exceptOf: exceptOf() }
        const pieces = await claimWork(service.db.pool, claim)
        if (pieces.length === 0) break
        const ending = runAndEnd(service, kind, pieces)
        // More may be due: start the next lane, up to `concurrency`. Its claim knows of the run that has begun.
        startLane()
        if (await ending) isAway = true
      }
    } catch (error) {
      service.log.warn('work could not be claimed or ended', { kind: name, ...faultFields(error) })
    }
    if (--running === 0) idle.resolve()
  }

  return {
    wake: () => {
      isAway = false
      startLane()
    },
    close: () => void (isClosed = true),
    idle: async () => (running === 0 ? undefined : await idle.promise),
  }
}

/** True when a dependency of the work does not answer. */
async function runAndEnd(service: Service, kind: Kind, pieces: readonly Piece[]): Promise<boolean> {
  const ends = await inTime(kind.run(service, pieces), kind.withinMs).catch((error: unknown) => {
    service.log.warn('work failed', { kind: kind.name, attempts: pieces[0]!.attempts, ...faultFields(error) })
    return pieces.map((piece) => endOfFault(kind, piece, error))
  })
  const { pool } = service.db
  const ended = pieces.map((piece, index) => ({ piece, end: ends[index]! }))
  for (const { end } of ended) service.metrics.work(kind.name, resultOf(end))
  await finishWork(
    pool,
    ended.flatMap(({ piece, end }) => (end.kind === 'done' ? [piece] : [])),
  )
  await retryWork(
    pool,
    ended.flatMap(({ piece, end }) => (end.kind === 'again' ? [{ ...end, piece }] : [])),
  )
  for (const { piece, end } of ended) if (end.kind === 'given-up') await giveUpWork(pool, piece, end.error)
  return ends.some((end) => end.kind === 'again' && end.isAway === true)
}

function endOfFault({ isAtMostOnce, retryAfterMs }: Kind, { attempts }: Piece, fault: unknown): Ended {
  const error = faultText(fault)
  return isAtMostOnce ? { kind: 'given-up', error } : { kind: 'again', afterMs: retryAfterMs(attempts), error }
}

function resultOf(end: Ended): WorkResult {
  return end.kind === 'again' ? (end.error === undefined ? 'again' : 'failed') : end.kind
}
