/** The heart: every debit and credit of this process goes through here, in batches. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { PostRequest } from './careful-statement.ts'
import { closeCarefulLane, openCarefulLane, postCarefully, type LaneEvents } from './careful-lane.ts'
import type { Connection } from '../database.ts'
import { depthOf, expire, newEntry, Unavailable } from './entry.ts'
import { closeFastLane, openFastLane, postFast } from './fast-lane.ts'
import type { PostResult } from './settle.ts'

export type Writer = {
  readonly post: (request: PostRequest) => Promise<PostResult>
  readonly depth: () => number
  /** Everything that was posted has its answer when this returns. */
  readonly close: () => Promise<void>
}

const maxWaiting = 20_000

export function openWriter(connection: Connection, laneCount: number, events: LaneEvents): Writer {
  const careful = openCarefulLane(connection, events)
  const fast = Array.from({ length: laneCount }, () => openFastLane(connection, careful, events))
  const lines = [...fast, careful]
  const depth = () => lines.reduce((sum, line) => sum + depthOf(line), 0)
  const watch = setInterval(() => lines.forEach(expire), 200)
  watch.unref()
  return {
    depth,
    post: (request) =>
      new Promise((resolve, reject) => {
        const entry = newEntry(request, resolve, reject)
        const { by } = request
        const lane = 'walletId' in by ? undefined : fast[laneOf(by.serviceUserId, laneCount)]!
        if ((lane ?? careful).queue.length >= maxWaiting) entry.fail(new Unavailable('too many operations are waiting'))
        else if (lane) postFast(lane, entry)
        else postCarefully(careful, [entry])
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
