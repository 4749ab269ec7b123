/**
 * Delivers to every endpoint that has something due. Each endpoint has a separate run, in one process at a time. Endpoints that are not
 * known to work begin a few at a time, leave room for the others, and share one turn at the database: a hundred dead or silent ones
 * cost the others nothing.
 */
import { inTime } from '../../platform/in-time.ts'
import { faultFields } from '../../platform/log.ts'
import { longRunning } from '../../store/connection/database.ts'
import { claimEndpoints, claimEndpointsOf, isProven, type ClaimedEndpoint } from '../../store/events/endpoints.ts'
import type { Elsewhere } from '../public-fetch.ts'
import type { Service } from '../service.ts'
import { deliverTo, type Delivering } from './run-endpoint.ts'
import { openReceiver } from './post-event.ts'

export type Deliverer = {
  /** Events of these apps have got their numbers. */
  readonly wake: (clientIds: readonly string[]) => void
  /** Ends the runs: no new attempts, and a short wait for those under way. */
  readonly stop: () => Promise<void>
}

const pollMs = 500
/** Runs of one process. A run is a few hundred kilobytes at most, and eight connections. */
const maxRuns = 500
/** Of these, the runs of endpoints that are not known to work. A silent one takes 45 seconds, and later 15 for each probe. */
const maxUnproven = 200
/**
 * So many of them begin at a time, with the timer only and not with each event. Each costs 4 ms of the service and the database, so six a
 * second leave 97 % of one processor to the others, and are 21,600 probes an hour.
 */
const unprovenAtOnce = 3
/** Longer than an attempt may take would delay the drain; what is cut off is sent again. */
const stopWithinMs = 3_000

export function startDeliverer(having: Service, elsewhere: Elsewhere = {}, everyMs = pollMs): Deliverer {
  const service = { ...longRunning(having), oneAtATime: openTurns() }
  const runs = new Set<Promise<void>>()
  let unproven = 0
  let isEnding = false
  let isClaiming = false
  let isTimerDue = false
  /** Apps whose endpoints are claimed before the timer is due. */
  const woken = new Set<string>()

  const isOver = () => isEnding

  /** All due endpoints with the timer; between two of its ticks those of the woken apps alone, however many others there are. */
  async function claimNext(): Promise<readonly ClaimedEndpoint[]> {
    const proven = maxRuns - maxUnproven - (runs.size - unproven)
    const clientIds = [...woken]
    woken.clear()
    if (!isTimerDue) return await claimEndpointsOf(service.db.pool, clientIds, proven)
    isTimerDue = false
    const limits = { proven, unproven: Math.min(unprovenAtOnce, maxUnproven - unproven) }
    return await claimEndpoints(service.db.pool, limits)
  }

  function begin(endpoint: ClaimedEndpoint): void {
    const isCounted = !isProven(endpoint)
    if (isCounted) unproven++
    const run = runOne(service, endpoint, elsewhere, isOver).finally(() => {
      runs.delete(run)
      if (isCounted) unproven--
    })
    runs.add(run)
  }

  async function claim(): Promise<void> {
    if (isClaiming) return
    isClaiming = true
    try {
      while ((isTimerDue || woken.size > 0) && !isOver()) for (const endpoint of await claimNext()) begin(endpoint)
    } catch (error) {
      service.log.warn('endpoints could not be claimed', faultFields(error))
    }
    isClaiming = false
  }

  const timer = setInterval(() => {
    isTimerDue = true
    void claim()
  }, everyMs)
  return {
    wake: (clientIds) => {
      for (const clientId of clientIds) woken.add(clientId)
      void claim()
    },
    stop: async () => {
      isEnding = true
      clearInterval(timer)
      await inTime(Promise.all(runs), stopWithinMs).catch(() => {})
    },
  }
}

/** Claims what is due and delivers it, once. */
export async function deliverDue(having: Service, elsewhere: Elsewhere = {}): Promise<number> {
  const service = { ...longRunning(having), oneAtATime: openTurns() }
  const claimed = await claimEndpoints(service.db.pool, { proven: maxRuns, unproven: maxRuns })
  await Promise.all(claimed.map((endpoint) => runOne(service, endpoint, elsewhere, () => false)))
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
  isEnding: () => boolean,
): Promise<void> {
  try {
    const receiver = await openReceiver(service, endpoint, elsewhere)
    try {
      await deliverTo(service, endpoint, receiver, isEnding)
    } finally {
      receiver.close()
    }
  } catch (error) {
    // The lease ends by itself, and another run follows.
    service.log.warn('events could not be delivered', { endpoint: endpoint.id, ...faultFields(error) })
  }
}
