/** The heart: every debit and credit of this process goes through here, in batches. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Connection } from '../database.ts'
import { closeCarefulLane, isSuspect, openCarefulLane, postCarefully, type LaneEvents } from './careful-lane.ts'
import { addToFastLane, closeFastLane, openFastLane } from './fast-lane.ts'
import { depthOf, expire, newPending, Unavailable, type Posting, type PostingResult } from './posting.ts'

export type Writer = {
  /** `arrivedAt`, by performance.now(), is when the request came: its caller does not wait longer because we did. */
  readonly post: (posting: Posting, arrivedAt?: number) => Promise<PostingResult>
  readonly depth: () => number
  /** Everything that was posted has its answer when this returns. */
  readonly close: () => Promise<void>
}

const maxWaiting = 20_000

export function openWriter(connection: Connection, laneCount: number, events: LaneEvents): Writer {
  const careful = openCarefulLane(connection, events)
  const fast = Array.from({ length: laneCount }, () => openFastLane(connection, careful, events))
  const lanes = [...fast, careful]
  const depth = () => lanes.reduce((sum, lane) => sum + depthOf(lane), 0)
  const watch = setInterval(() => lanes.forEach(expire), 200)
  watch.unref()
  return {
    depth,
    post: (posting, arrivedAt = performance.now()) =>
      new Promise((resolve, reject) => {
        const pending = newPending(posting, arrivedAt, resolve, reject)
        const { by } = posting
        const isFast = !('walletId' in by) && !isSuspect(careful, by.serviceUserId)
        const lane = isFast ? fast[laneOf(by.serviceUserId, laneCount)] : undefined
        if ((lane ?? careful).waiting.length >= maxWaiting) reject(new Unavailable('too many postings are waiting'))
        else if (lane) addToFastLane(lane, pending)
        else postCarefully(careful, [pending])
      }),
    close: async () => {
      while (depth() > 0) await sleep(5)
      clearInterval(watch)
      await Promise.all([...fast.map(closeFastLane), closeCarefulLane(careful)])
    },
  }
}

/**
 * The same user of the same app always takes the same lane, so a process hardly ever waits for itself. (A wallet
 * reached by two links at the same moment may; the row lock keeps it exact.)
 */
function laneOf(serviceUserId: string, count: number): number {
  let hash = 0
  for (let i = serviceUserId.length - 8; i < serviceUserId.length; i++)
    hash = (hash * 31 + serviceUserId.charCodeAt(i)) | 0
  return Math.abs(hash) % count
}
