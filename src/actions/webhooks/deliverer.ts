/**
 * Delivers to every endpoint that has something due. Each endpoint has a separate run, in one process at a time. Endpoints that are not
 * known to work begin one at a time, leave room for the others, and share one turn at the database: a hundred dead or silent ones
 * cost the others nothing.
 */
import { inTime } from '../../platform/in-time.ts'
import { faultFields } from '../../platform/log.ts'
import { longRunning } from '../../store/connection/database.ts'
import { claimEndpoints, claimEndpointsOf, isProven, type ClaimedEndpoint } from '../../store/events/endpoints.ts'
import type { Elsewhere } from '../public-fetch.ts'
import type { Service } from '../service.ts'
import { deliverTo, type Delivering, type Signals } from './run-endpoint.ts'
import { openReceiver } from './post-event.ts'

export type Deliverer = {
  /** Events of these apps have got their numbers. */
  readonly wake: (clientIds: readonly string[]) => void
  /** Ends the runs: no new attempts, and a short wait for those under way. */
  readonly stop: () => Promise<void>
}

/**
 * One endpoint that is not known to work begins at each tick, and not with each event. Each costs 4 ms of the service and the database, so
 * six a second leave 97 % of one processor to the others, and are 21,600 probes an hour. Several at once would delay the others' events.
 */
const tickMs = 167
/** All due endpoints are claimed at each third tick. Between them the service asks only while further ones that are not known to work are due. */
const ticksPerPoll = 3
/** Runs of one process. A run is a few hundred kilobytes at most, and eight connections. */
const maxRuns = 500
/** Of these, the runs of endpoints that are not known to work. A silent one takes 45 seconds, and later 15 for each probe. */
const maxUnproven = 200
/** Longer than an attempt may take would delay the drain; what is cut off is sent again. */
const stopWithinMs = 3_000

type Running = { readonly endpoint: ClaimedEndpoint; hasNews: boolean }

export function startDeliverer(
  having: Service,
  elsewhere: Elsewhere = {},
  { everyMs = tickMs, endWithinMs = stopWithinMs }: { readonly everyMs?: number; readonly endWithinMs?: number } = {},
): Deliverer {
  const service = { ...longRunning(having), oneAtATime: openTurns() }
  const runs = new Map<Running, Promise<void>>()
  let unproven = 0
  let isEnding = false
  let isClaiming = false
  let claiming = Promise.resolve()
  let ticks = 0
  let due: 'all' | 'unproven' | undefined
  /** The last claim found as many as it could take. */
  let hasMoreUnproven = false
  /** Apps whose endpoints are claimed before the timer is due. */
  const woken = new Set<string>()

  const isOver = () => isEnding

  /** All due endpoints at a poll; between two polls those of the woken apps alone, however many others there are, and the next unproven one. */
  async function claimNext(): Promise<readonly ClaimedEndpoint[]> {
    const free = maxRuns - maxUnproven - (runs.size - unproven)
    if (due !== 'all' && woken.size > 0) {
      const clientIds = [...woken]
      woken.clear()
      return await claimEndpointsOf(service.db.pool, clientIds, free)
    }
    const limits = { proven: due === 'all' ? free : 0, unproven: Math.min(1, maxUnproven - unproven) }
    if (due === 'all') woken.clear()
    due = undefined
    const claimed = await claimEndpoints(service.db.pool, limits)
    hasMoreUnproven = claimed.some((endpoint) => !isProven(endpoint))
    return claimed
  }

  function begin(endpoint: ClaimedEndpoint): void {
    const isCounted = !isProven(endpoint)
    if (isCounted) unproven++
    const running: Running = { endpoint, hasNews: false }
    const takeNews = () => {
      const { hasNews } = running
      running.hasNews = false
      return hasNews
    }
    const run = runOne(service, endpoint, elsewhere, { isEnding: isOver, takeNews }).finally(() => {
      runs.delete(running)
      if (isCounted) unproven--
      // It came after the run's last read.
      if (takeNews()) wake([endpoint.clientId])
    })
    runs.set(running, run)
  }

  function claim(): void {
    if (isClaiming) return
    isClaiming = true
    claiming = claimAll()
  }

  async function claimAll(): Promise<void> {
    try {
      while ((due || woken.size > 0) && !isOver()) for (const endpoint of await claimNext()) begin(endpoint)
    } catch (error) {
      service.log.warn('endpoints could not be claimed', faultFields(error))
    }
    isClaiming = false
  }

  /** A claim under way may still lease endpoints. Their runs end at once, and return them to the other processes. */
  async function endRuns(): Promise<void> {
    await claiming
    await Promise.all(runs.values())
  }

  function wake(clientIds: readonly string[]): void {
    for (const clientId of clientIds) woken.add(clientId)
    // A claim passes over an endpoint that has a run.
    for (const running of runs.keys()) if (woken.has(running.endpoint.clientId)) running.hasNews = true
    claim()
  }

  const timer = setInterval(() => {
    if (ticks++ % ticksPerPoll === 0) due = 'all'
    else if (hasMoreUnproven) due ??= 'unproven'
    claim()
  }, everyMs)
  return {
    wake,
    stop: async () => {
      isEnding = true
      clearInterval(timer)
      await inTime(endRuns(), endWithinMs).catch(() => {})
    },
  }
}

/** Claims what is due and delivers it, once. */
export async function deliverDue(having: Service, elsewhere: Elsewhere = {}): Promise<number> {
  const service = { ...longRunning(having), oneAtATime: openTurns() }
  const claimed = await claimEndpoints(service.db.pool, { proven: maxRuns, unproven: maxRuns })
  await Promise.all(
    claimed.map((endpoint) => runOne(service, endpoint, elsewhere, { isEnding: () => false, takeNews: () => false })),
  )
  return claimed.length
}

/** Each piece of work begins when the one before it has ended. */
function openTurns(): Delivering['oneAtATime'] {
  let last: Promise<unknown> = Promise.resolve()
  return (work) => {
    const result = last.then(work)
    last = result.catch(() => {})
    return result
  }
}

async function runOne(
  service: Service & Delivering,
  endpoint: ClaimedEndpoint,
  elsewhere: Elsewhere,
  signals: Signals,
): Promise<void> {
  try {
    const receiver = await openReceiver(service, endpoint, elsewhere)
    try {
      await deliverTo(service, endpoint, receiver, signals)
    } finally {
      receiver.close()
    }
  } catch (error) {
    // The lease ends by itself, and another run follows.
    service.log.warn('events could not be delivered', { endpoint: endpoint.id, ...faultFields(error) })
  }
}
