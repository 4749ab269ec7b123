/**
 * Delivers to every endpoint that has something due. Each endpoint has a separate run, in one process at a time, so a dead or silent
 * one costs the others nothing.
 */
import { inTime } from '../../platform/in-time.ts'
import { faultFields } from '../../platform/log.ts'
import { longRunning } from '../../store/connection/database.ts'
import { claimEndpoints, type ClaimedEndpoint } from '../../store/events/endpoints.ts'
import type { Elsewhere } from '../public-fetch.ts'
import type { Service } from '../service.ts'
import { deliverTo } from './run-endpoint.ts'
import { openReceiver } from './post-event.ts'

export type Deliverer = {
  /** Events have got their numbers. */
  readonly wake: () => void
  /** Ends the runs: no new attempts, and a short wait for those under way. */
  readonly stop: () => Promise<void>
}

const pollMs = 500
/** Runs of one process. A run is a few hundred kilobytes at most, and eight connections. */
const maxRuns = 500
/** Longer than an attempt may take would delay the drain; what is cut off is sent again. */
const stopWithinMs = 3_000

export function startDeliverer(having: Service, elsewhere: Elsewhere = {}, everyMs = pollMs): Deliverer {
  const service = longRunning(having)
  const runs = new Set<Promise<void>>()
  let isEnding = false
  let isClaiming = false
  let isWanted = false

  const isOver = () => isEnding

  async function claim(): Promise<void> {
    isWanted = true
    if (isClaiming) return
    isClaiming = true
    try {
      while (isWanted && !isOver()) {
        isWanted = false
        const claimed = runs.size < maxRuns ? await claimEndpoints(service.db.pool, maxRuns - runs.size) : []
        for (const endpoint of claimed) {
          const run = runOne(service, endpoint, elsewhere, isOver).finally(() => runs.delete(run))
          runs.add(run)
        }
      }
    } catch (error) {
      service.log.warn('endpoints could not be claimed', faultFields(error))
    }
    isClaiming = false
  }

  const timer = setInterval(() => void claim(), everyMs)
  return {
    wake: () => void claim(),
    stop: async () => {
      isEnding = true
      clearInterval(timer)
      await inTime(Promise.all(runs), stopWithinMs).catch(() => {})
    },
  }
}

/** Claims what is due and delivers it, once. */
export async function deliverDue(having: Service, elsewhere: Elsewhere = {}): Promise<number> {
  const service = longRunning(having)
  const claimed = await claimEndpoints(service.db.pool, maxRuns)
  await Promise.all(claimed.map((endpoint) => runOne(service, endpoint, elsewhere, () => false)))
  return claimed.length
}

async function runOne(
  service: Service,
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
