/** The heart: every debit and credit of this process goes through here, in batches. */
import type { PostRequest } from './batch.ts'
import type { Connection } from './database.ts'
import { closeLane, enqueue, openLane, type LaneEvents } from './lane.ts'
import type { PostResult } from './settle.ts'

export type Writer = {
  readonly post: (request: PostRequest) => Promise<PostResult>
  readonly depth: () => number
  readonly close: () => Promise<void>
}

export function openWriter(connection: Connection, laneCount: number, events: LaneEvents): Writer {
  const lanes = Array.from({ length: laneCount }, () => openLane(connection, events))
  return {
    post: (request) => enqueue(lanes[laneOf(request, lanes.length)]!, request),
    depth: () => lanes.reduce((sum, lane) => sum + lane.queue.length + lane.current.length, 0),
    close: async () => {
      await Promise.all(lanes.map(closeLane))
    },
  }
}

/**
 * The same user of the same app always takes the same lane, so a process hardly ever waits for itself. (A wallet
 * reached by two links at the same moment may; the row lock keeps it exact.)
 */
function laneOf({ by }: PostRequest, count: number): number {
  const key = 'walletId' in by ? by.walletId : by.serviceUserId
  let hash = 0
  for (let i = key.length - 8; i < key.length; i++) hash = (hash * 31 + key.charCodeAt(i)) | 0
  return Math.abs(hash) % count
}
