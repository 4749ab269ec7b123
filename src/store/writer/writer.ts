/** Every debit and credit of this process goes through the writer, in batches. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Connection } from '../connection/database.ts'
import { askStandby, standbyOf } from '../connection/standby.ts'
import { closeCarefulLane, isQuarantined, openCarefulLane, postCarefully, type LaneEvents } from './careful-lane.ts'
import { chooseNodes } from '../cluster/lane-nodes.ts'
import { openOutage, type Outage } from '../cluster/outage.ts'
import { openClosedReferences } from '../closing/closed-references.ts'
import { isFull, standingOf } from './fair-queue.ts'
import {
  addToFastLane,
  closeFastLane,
  estimateLaneMs,
  isCrowded,
  isOpen,
  openFastLane,
  type FastLane,
} from './fast-lane.ts'
import {
  depthOf,
  expire,
  newPending,
  shareOf,
  Unavailable,
  type HoldPosting,
  type HoldResult,
  type Lane,
  type PendingPosting,
  type Posting,
  type PostingResult,
} from './posting.ts'

export type Writer = {
  /** `arrivedAt`, by performance.now(), is when the request arrived: time spent before the writer counts towards the deadline. */
  readonly post: (posting: Posting, arrivedAt?: number) => Promise<PostingResult>
  /** Reserves, captures, voids, extends or expires. */
  readonly postHold: (posting: HoldPosting, arrivedAt?: number) => Promise<HoldResult>
  /** Returns `post` for a list. Each posting is posted on its own; those of one link are decided in the order of the calls. */
  readonly openList: (arrivedAt?: number) => (posting: Posting) => Promise<PostingResult>
  /** How long that many further postings of the app would take, by its queue, its share of a batch, and the latest batches. */
  readonly estimateMs: (clientId: string, count: number) => number
  /** Which nodes of a cluster are away. */
  readonly outage: Outage
  /** Number of postings that wait or are under way. */
  readonly depths: () => Record<Lane, number>
  /** Returns once every posting has its answer. */
  readonly close: () => Promise<void>
}

const maxWaiting = 20_000

/** An app with more waiting goes to its usual lane, and stays there while it has any in it. */
const mostInExpress = 16

/** A posting without a hold gets no result of a hold. */
type Resolve = (result: HoldResult) => void

export function openWriter(connection: Connection, laneCount: number, events: LaneEvents): Writer {
  const outage = openOutage(connection, events.outage)
  const careful = openCarefulLane(connection, events, outage)
  const holds = openCarefulLane(connection, events, outage, 'holds')
  const closed = openClosedReferences(connection, (error) => events.fault('fast', error))
  const fast = chooseNodes(laneCount).map((node) => openFastLane(connection, { careful, holds, closed }, events, node))
  const express = openFastLane(connection, { careful, holds, closed }, events, chooseNodes(1)[0]!)
  const lanes = [...fast, express, careful, holds]
  const depths = () => ({
    fast: [...fast, express].reduce((sum, lane) => sum + depthOf(lane), 0),
    careful: depthOf(careful),
    holds: depthOf(holds),
  })
  const watch = setInterval(() => lanes.forEach(expire), 200)
  watch.unref()
  const slowLaneFor = ({ hold }: Posting) => (hold ? holds : careful)
  /** The fast lane of the link, or of the wallet; undefined means a careful lane, which has the captures that are reported to an app. */
  const laneFor = (posting: Posting) => {
    const { by, hold, hasEvents } = posting
    if ((hold?.kind === 'capture' && hasEvents) || isQuarantined(slowLaneFor(posting), posting)) return undefined
    if ('walletId' in by) return hold?.kind === 'capture' ? fast[laneOf(by.walletId, laneCount)] : undefined
    return hold && hold.kind !== 'reserve' ? undefined : fast[laneOf(by.serviceUserId, laneCount)]
  }
  /** An app with few postings does not wait for the batches of an app with many. */
  const unlessCrowded = (lane: FastLane | undefined, posting: Posting) => {
    const app = shareOf(posting)
    // No caller waits for the express lane's first connection.
    if (!lane || !isCrowded(lane, app) || !isOpen(express)) return lane
    return standingOf(express.waiting, app).waiting < mostInExpress ? express : lane
  }
  const standby = standbyOf(connection)
  const add = (lane: FastLane | undefined, pending: PendingPosting) => {
    const slow = slowLaneFor(pending)
    if (standby.isLost) addIfBack(lane, pending)
    else if (isFull((lane ?? slow).waiting, shareOf(pending), maxWaiting))
      pending.fail(new Unavailable('too many postings are waiting'))
    else if (lane) addToFastLane(lane, pending)
    else postCarefully(slow, [pending])
  }
  const asking = new Set<PendingPosting>()
  const addIfBack = (lane: FastLane | undefined, pending: PendingPosting) => {
    if (asking.size >= maxWaiting) return pending.fail(new Unavailable('no standby confirms commits'))
    asking.add(pending)
    askStandby(connection, () => {
      asking.delete(pending)
      if (standby.isLost) pending.fail(new Unavailable('no standby confirms commits'))
      else add(lane, pending)
    })
  }
  return {
    outage,
    depths,
    post: (posting, arrivedAt = performance.now()) =>
      new Promise((resolve, reject) =>
        add(
          unlessCrowded(laneFor(posting), posting),
          newPending(posting, arrivedAt, undefined, resolve as Resolve, reject),
        ),
      ),
    postHold: (posting, arrivedAt = performance.now()) =>
      new Promise((resolve, reject) =>
        add(unlessCrowded(laneFor(posting), posting), newPending(posting, arrivedAt, undefined, resolve, reject)),
      ),
    openList: (arrivedAt = performance.now()) => {
      const last = new Map<string, { lane: FastLane | undefined; pending: PendingPosting }>()
      return (posting) => {
        const { promise, resolve, reject } = Promise.withResolvers<PostingResult>()
        const key =
          'walletId' in posting.by ? posting.by.walletId : `${posting.by.clientId} ${posting.by.serviceUserId}`
        const before = last.get(key)
        // All postings of a link take one lane: two lanes would not keep their order.
        const lane = before ? before.lane : laneFor(posting)
        const pending = newPending(posting, arrivedAt, before?.pending, resolve as Resolve, reject)
        last.set(key, { lane, pending })
        add(lane, pending)
        return promise
      }
    },
    estimateMs: (clientId, count) =>
      Math.max(...fast.map((lane) => estimateLaneMs(lane, clientId, Math.ceil(count / laneCount)))),
    close: async () => {
      while (asking.size > 0 || lanes.some((lane) => depthOf(lane) > 0)) await sleep(5)
      clearInterval(watch)
      outage.close()
      closed.close()
      await Promise.all([...[...fast, express].map(closeFastLane), closeCarefulLane(careful), closeCarefulLane(holds)])
    },
  }
}

/**
 * A link always takes the same lane, so a process rarely waits for its own row locks. A wallet that two links reach at
 * the same time may be in two lanes; the row lock keeps it exact.
 */
function laneOf(id: string, count: number): number {
  let hash = 0
  for (let i = id.length - 8; i < id.length; i++) hash = (hash * 31 + id.charCodeAt(i)) | 0
  return Math.abs(hash) % count
}
