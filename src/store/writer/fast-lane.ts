/**
 * Where nearly every debit and credit goes: whatever arrived while the last batches were under way is the next, in one
 * statement. Whom that statement gives no answer, and all of a batch that fails, goes to the careful lane.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { postCarefully, type CarefulLane, type LaneEvents } from './careful-lane.ts'
import { commit, isUnavailable, type Connection } from '../database.ts'
import type { OpenClient } from '../open-client.ts'
import { begin, confirmSql, InDoubt, openWriterClient, type WriterClient } from './connection.ts'
import { postFast, type FastAnswers } from './fast-statement.ts'
import { isTurnOf, longestWaitMs, type LaneQueue, type PendingPosting } from './posting.ts'

export type FastLane = LaneQueue & {
  readonly connection: Connection
  readonly careful: CarefulLane
  readonly events: LaneEvents
  /** References under way. One that comes again waits until the first has its outcome. */
  readonly references: Set<string>
  writer: Promise<WriterClient> | undefined
  isWaiting: boolean
  /** Known with its first connection. */
  limits: Limits
}

type Limits = { readonly batch: number; readonly underWay: number }

/** One that is written and one that waits behind it: the database is never without the next. */
const usualLimits: Limits = { batch: 512, underWay: 2 }
/** The work of a cluster is for each batch, and hardly for each posting: the next is all that came while one was written. */
const clusterLimits: Limits = { batch: 2_048, underWay: 1 }
/**
 * A wallet row that somebody holds must not hold up the others for long. Two processes that share a busy wallet wait for
 * each other's commit, a few milliseconds; whoever holds a row for longer than this is skipped by the careful lane.
 */
const lockTimeoutMs = 200

export function openFastLane(connection: Connection, careful: CarefulLane, events: LaneEvents): FastLane {
  const lane: FastLane = {
    connection,
    careful,
    events,
    waiting: [],
    underWay: new Map(),
    disconnect: () => disconnect(lane),
    references: new Set(),
    writer: undefined,
    isWaiting: false,
    limits: usualLimits,
  }
  return lane
}

export function addToFastLane(lane: FastLane, pending: PendingPosting): void {
  lane.waiting.push(pending)
  if (lane.isWaiting || lane.underWay.size >= lane.limits.underWay) return
  // One tick of the event loop, so that requests of the same moment share a batch.
  lane.isWaiting = true
  setImmediate(() => {
    lane.isWaiting = false
    send(lane)
  })
}

export async function closeFastLane(lane: FastLane): Promise<void> {
  while (lane.waiting.length > 0 || lane.underWay.size > 0) await sleep(5)
  await lane.writer?.then(({ client }) => client.end()).catch(() => {})
  lane.writer = undefined
}

function send(lane: FastLane): void {
  if (lane.underWay.size >= lane.limits.underWay) return
  const batch = takeBatch(lane)
  if (batch.length > 0) void runBatch(lane, batch)
}

function takeBatch(lane: FastLane): PendingPosting[] {
  const batch: PendingPosting[] = []
  const left: PendingPosting[] = []
  for (const pending of lane.waiting) {
    const isLate = batch.length === lane.limits.batch || lane.references.has(pending.referenceKey)
    if (isLate || !isTurnOf(pending, batch)) left.push(pending)
    else {
      lane.references.add(pending.referenceKey)
      pending.takenIn = batch
      batch.push(pending)
    }
  }
  lane.waiting = left
  return batch
}

async function runBatch(lane: FastLane, batch: readonly PendingPosting[]): Promise<void> {
  const startedAt = performance.now()
  // Those that wait do so in the order in which they came.
  const waitedMs = longestWaitMs(batch.slice(0, 1))
  lane.underWay.set(batch, startedAt)
  const opening = (lane.writer ??= connect(lane))
  try {
    const writer = await opening
    lane.limits = writer.client.isCluster() ? clusterLimits : usualLimits
    await answerBatch(writer, batch)
  } catch (error) {
    // A commit of unknown fate, a reference that another process used first, a held row, a fault: the careful lane finds out.
    lane.events.fault('fast', error)
    if (isUnavailable(error) && lane.writer === opening) disconnect(lane)
  }
  lane.underWay.delete(batch)
  for (const pending of batch) lane.references.delete(pending.referenceKey)
  lane.events.batch('fast', batch.length, performance.now() - startedAt, waitedMs)
  const left = batch.filter((pending) => !pending.isAnswered)
  if (left.length > 0) postCarefully(lane.careful, [...left, ...takeFollowers(lane, left)])
  send(lane)
}

/** Those that must be decided after one of these: they go the same way, behind it. */
function takeFollowers(lane: FastLane, ahead: readonly PendingPosting[]): PendingPosting[] {
  const chain = new Set(ahead)
  const followers: PendingPosting[] = []
  lane.waiting = lane.waiting.filter((pending) => {
    if (!pending.after || !chain.has(pending.after)) return true
    chain.add(pending)
    followers.push(pending)
    return false
  })
  return followers
}

async function answerBatch({ client, number, doubts }: WriterClient, batch: readonly PendingPosting[]): Promise<void> {
  const doubtsBefore = doubts()
  const post = client.isCluster() ? postOnNodes : postFast
  const { answers, hasWritten, hasStandby } = await post(client, batch, number)
  // What was written here has passed the standby, and with it all that was read; a batch that only read has proved nothing.
  if (hasStandby && !hasWritten) await client.query(confirmSql)
  if (doubts() !== doubtsBefore) throw new InDoubt('a commit may not have reached the standby')
  for (const [pending, result] of answers) pending.answer(result)
}

/** In a transaction, which brings its settings to the nodes. All of it is one flight: the connection is in pipeline mode. */
async function postOnNodes(client: OpenClient, batch: readonly PendingPosting[], writer: number): Promise<FastAnswers> {
  const [, answers] = await Promise.all([begin(client), postFast(client, batch, writer), commit(client)])
  return answers
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
  lane.writer?.then(({ client }) => client.destroy()).catch(() => {})
  lane.writer = undefined
}
