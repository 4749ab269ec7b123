/**
 * Where nearly every debit and credit goes: whatever arrived while the last batches were under way is the next, in one
 * statement. Whom that statement leaves without a result, and all of a batch that fails, goes to the careful lane.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { postCarefully, type CarefulLane, type LaneEvents } from './careful-lane.ts'
import { isUnavailable, type Connection } from '../database.ts'
import type { Entry, Line } from './entry.ts'
import { postAtOnce } from './fast-statement.ts'
import { destroyClient, openWriterClient, type WriterClient } from './writer-client.ts'

export type FastLane = Line & {
  readonly connection: Connection
  readonly careful: CarefulLane
  readonly events: LaneEvents
  /** References under way. One that comes again waits until the first has its outcome. */
  readonly references: Set<string>
  writer: Promise<WriterClient> | undefined
  isWaiting: boolean
}

const maxBatch = 512
/** One that is written and one that waits behind it: the database is never without the next. */
const maxUnderWay = 2
/** A wallet that somebody holds must not hold up the others for long. */
const lockTimeoutMs = 500

export function openFastLane(connection: Connection, careful: CarefulLane, events: LaneEvents): FastLane {
  const lane: FastLane = {
    connection,
    careful,
    events,
    queue: [],
    underWay: new Set(),
    giveUp: () => disconnect(lane),
    references: new Set(),
    writer: undefined,
    isWaiting: false,
  }
  return lane
}

export function postFast(lane: FastLane, entry: Entry): void {
  lane.queue.push(entry)
  if (lane.isWaiting || lane.underWay.size >= maxUnderWay) return
  // One turn of the event loop, so that requests of the same moment share a batch.
  lane.isWaiting = true
  setImmediate(() => {
    lane.isWaiting = false
    send(lane)
  })
}

export async function closeFastLane(lane: FastLane): Promise<void> {
  while (lane.queue.length > 0 || lane.underWay.size > 0) await sleep(5)
  await lane.writer?.then(({ client }) => client.end()).catch(() => {})
  lane.writer = undefined
}

function send(lane: FastLane): void {
  if (lane.underWay.size >= maxUnderWay) return
  const batch = takeBatch(lane)
  if (batch.length > 0) void runBatch(lane, batch)
}

function takeBatch(lane: FastLane): Entry[] {
  const batch: Entry[] = []
  const left: Entry[] = []
  for (const entry of lane.queue) {
    if (batch.length === maxBatch || lane.references.has(entry.referenceKey)) left.push(entry)
    else {
      lane.references.add(entry.referenceKey)
      batch.push(entry)
    }
  }
  lane.queue = left
  return batch
}

async function runBatch(lane: FastLane, batch: readonly Entry[]): Promise<void> {
  const startedAt = performance.now()
  lane.underWay.add(batch)
  const opening = (lane.writer ??= connect(lane))
  try {
    const { client, number } = await opening
    await postAtOnce(client, batch, number)
  } catch (error) {
    // A commit of unknown fate, a reference that another process used first, a fault: the careful lane finds out.
    if (isUnavailable(error) && lane.writer === opening) disconnect(lane)
  }
  lane.underWay.delete(batch)
  for (const entry of batch) lane.references.delete(entry.referenceKey)
  lane.events.batch(batch.length, false, performance.now() - startedAt)
  const left = batch.filter((entry) => !entry.isSettled)
  if (left.length > 0) postCarefully(lane.careful, left)
  send(lane)
}

function connect(lane: FastLane): Promise<WriterClient> {
  const forget = () => {
    if (lane.writer === opening) lane.writer = undefined
  }
  const opening = openWriterClient(lane.connection, lockTimeoutMs, forget)
  opening.catch(forget)
  return opening
}

function disconnect(lane: FastLane): void {
  lane.writer?.then(({ client }) => destroyClient(client)).catch(() => {})
  lane.writer = undefined
}
