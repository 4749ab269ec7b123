/**
 * The lane of nearly every debit, credit, new hold and capture. Postings that arrive while batches are under way form the next batch, which
 * one statement writes. Postings the statement left undecided, and every posting of a failed batch, are retried in the
 * careful lane.
 */
import type { ClosedReferences } from '../closing/closed-references.ts'
import { setTimeout as sleep } from 'node:timers/promises'
import { postCarefully, type CarefulLane, type LaneEvents } from './careful-lane.ts'
import { isUnavailable, type Connection } from '../connection/database.ts'
import { writeOnNodes, type NodeChoice } from '../cluster/lane-nodes.ts'
import { confirmSql, InDoubt, openWriterClient, type WriterClient } from './connection.ts'
import type { FastAnswers } from './fast-statement.ts'
import { postWithCaptures } from './fast-captures.ts'
import { newGuess, postGuessing } from './guess-new.ts'
import { isShared, runInTurn, seeApp } from './turns.ts'
import { enqueue, newFairQueue, putBack, standingOf, takeInTurn, type Offer } from './fair-queue.ts'
import { countHolds } from './hold-counts.ts'
import {
  findAhead,
  isSameLink,
  longestWaitMs,
  newBatch,
  shareOf,
  shareResult,
  type Batch,
  type LaneQueue,
  type PendingPosting,
} from './posting.ts'

export type FastLane = LaneQueue & {
  readonly connection: Connection
  readonly careful: CarefulLane
  /** For new holds and captures that the statements left undecided. */
  readonly holds: CarefulLane
  readonly events: LaneEvents
  /** The posting under way of each reference. Its repeats wait for its outcome, and share it. */
  readonly references: Map<string, PendingPosting>
  writer: Promise<BatchWriter> | undefined
  isWaiting: boolean
  /** How many batches under way are written, and are being answered. */
  answering: number
  /** Set once the first connection is open. */
  limits: Limits
  readonly node: NodeChoice
  readonly closed: ClosedReferences
  /** The time that one batch takes, without its wait behind the previous one: an average that the latest batches dominate. */
  batchMs: number
  lastEndedAt: number
  /** The apps that had many postings in one of the last batches, and how long that counts. */
  crowd: { readonly apps: ReadonlySet<string>; until: number }
}

/** Posts the batches of a lane: on one server, or on the nodes of a cluster (`cluster/lane-nodes`). */
export type BatchWriter = {
  readonly limits: Limits
  /** The connection that commits the batch. */
  readonly writerOf: (batch: readonly PendingPosting[]) => WriterClient
  readonly post: (batch: readonly PendingPosting[]) => Promise<FastAnswers>
  /** Whether new connections are needed after this error, although the current one works. */
  readonly isFaulty: (error: unknown) => boolean
  readonly end: () => Promise<void>
  readonly destroy: () => void
}

export type Limits = { readonly batch: number; readonly underWay: number }

/** One batch is being written, and a large one waits behind it. */
const usualLimits: Limits = { batch: 512, underWay: 2 }
/** Until the first connection is open: two batches on a connection to a cluster would share a transaction. */
const firstLimits: Limits = { batch: 512, underWay: 1 }
/**
 * The fewest postings that are sent behind a batch that is being written; fewer wait for its end. A batch costs the database 750 µs and
 * each of its postings 40 µs: 128 connections make batches of 64 instead of 43, and a debit costs the database 6 µs less. It
 * waits for one batch ahead instead of two. The database is idle only while the result of a batch is on its way here.
 */
const fewestBehind = 256
/**
 * A locked wallet row must not delay the rest of its batch. Two processes that share a busy wallet wait a few
 * milliseconds for each other's commit; after this time the batch fails and the careful lane skips the locked row.
 */
const lockTimeoutMs = 200

/**
 * The most places of one app in a batch while several apps call: another app waits for the batches under way, in the lane or for a
 * processor, and each place takes about 60 µs of the database and 10 µs of the event loop. Batches of this size post about a tenth less than full ones.
 */
const mostOfSharedBatch = 128

/** An app with so many postings in a batch crowds the lane. Fewer take the database about a millisecond, which other apps can wait. */
const fewestOfCrowd = 32
const crowdMs = 1_000

export function openFastLane(
  connection: Connection,
  { careful, holds, closed }: Pick<FastLane, 'careful' | 'holds' | 'closed'>,
  events: LaneEvents,
  node: NodeChoice,
): FastLane {
  const lane: FastLane = {
    connection,
    careful,
    holds,
    closed,
    events,
    waiting: newFairQueue(),
    underWay: new Map(),
    disconnect: () => disconnect(lane),
    references: new Map(),
    writer: undefined,
    isWaiting: false,
    answering: 0,
    limits: firstLimits,
    node,
    batchMs: 0,
    lastEndedAt: 0,
    crowd: { apps: new Set(), until: 0 },
  }
  return lane
}

export function addToFastLane(lane: FastLane, pending: PendingPosting): void {
  const app = shareOf(pending)
  seeApp(app)
  enqueue(lane.waiting, app, pending)
  if (lane.isWaiting || isBusy(lane)) return
  // Wait one tick of the event loop, so that requests of the same tick share a batch.
  lane.isWaiting = true
  setImmediate(() => {
    lane.isWaiting = false
    send(lane)
  })
}

/** How long that many further postings of the app would take: the batches they need at its share of the places, behind those under way. */
export function estimateLaneMs(
  { waiting, limits, underWay, batchMs }: FastLane,
  clientId: string,
  count: number,
): number {
  const standing = standingOf(waiting, clientId)
  const places = standing.apps > 1 || isShared() ? mostOfSharedBatch : limits.batch
  const batches = Math.ceil((standing.waiting + count) / Math.min(places, limits.batch / standing.apps))
  return (batches + underWay.size) * batchMs
}

/** True once the lane has a connection; otherwise begins to open one. */
export function isOpen(lane: FastLane): boolean {
  if (lane.limits !== firstLimits) return true
  lane.writer ??= connect(lane)
  lane.writer.then(
    ({ limits }) => (lane.limits = limits),
    () => {},
  )
  return false
}

export async function closeFastLane(lane: FastLane): Promise<void> {
  while (lane.waiting.size > 0 || lane.underWay.size > 0) await sleep(5)
  await lane.writer?.then((writer) => writer.end()).catch(() => {})
  lane.writer = undefined
}

/** A batch that is written, and whose callers get their answers, keeps no other batch waiting. */
function isBusy({ waiting, underWay, answering, limits }: FastLane): boolean {
  return underWay.size - answering >= (waiting.size < fewestBehind ? 1 : limits.underWay)
}

function send(lane: FastLane): void {
  if (isBusy(lane)) return
  const batch = takeBatch(lane)
  if (batch.postings.length > 0) void runBatch(lane, batch)
}

function takeBatch(lane: FastLane): Batch {
  const batch = newBatch()
  const mostPerApp = isShared() ? mostOfSharedBatch : lane.limits.batch
  takeInTurn(lane.waiting, lane.limits.batch, (pending) => offer(lane, batch, pending), mostPerApp)
  return batch
}

/**
 * Whether other apps crowd the lane, with many postings in a batch now or within the last second. Never while the lane has postings of the app: those of
 * one link, and repeats of a reference, stay in one lane. A cluster pays for each batch, so its lanes are never crowded.
 */
export function isCrowded({ waiting, underWay, limits, crowd }: FastLane, app: string): boolean {
  if (limits.underWay === 1 || crowd.apps.has(app) || waiting.lines.has(app) || performance.now() > crowd.until)
    return false
  for (const { apps } of underWay.keys()) if (apps.has(app)) return false
  return true
}

/** In the queue, and behind a batch, a posting is always behind its predecessors: a batch is offered them first. */
function offer(lane: FastLane, batch: Batch, pending: PendingPosting): Offer {
  const app = shareOf(pending)
  batch.apps.set(app, (batch.apps.get(app) ?? 0) + 1)
  const ahead = pending.predecessor && findAhead(pending, batch)
  if (ahead) return followAhead(lane, batch, pending, ahead)
  const first = lane.references.get(pending.referenceKey)
  if (first?.takenIn) {
    pending.repeats = first
    // Postings behind it may join too: when its link stays undecided, all of them are retried together, in order.
    if (first.takenIn === batch && isSameLink(first, pending)) pending.takenIn = batch
    // Takes no place in the batch: a thousand repeats of one reference cost one posting.
    return waitFor(first.takenIn, pending)
  }
  lane.references.set(pending.referenceKey, pending)
  pending.takenIn = batch
  batch.postings.push(pending)
  return 'taken'
}

/** Out of the queue until the one ahead is decided, so that no later batch has to step over it. */
function followAhead(lane: FastLane, batch: Batch, pending: PendingPosting, ahead: PendingPosting): Offer {
  if (ahead.isInCarefulLane) {
    postCarefully(lane.careful, [pending])
    return 'moved'
  }
  const awaited = ahead.waitsFor ?? ahead.takenIn
  return awaited && (awaited === batch || lane.underWay.has(awaited)) ? waitFor(awaited, pending) : 'stays'
}

function waitFor(batch: Batch, pending: PendingPosting): Offer {
  pending.waitsFor = batch
  batch.behind.push(pending)
  return 'moved'
}

async function runBatch(lane: FastLane, batch: Batch): Promise<void> {
  const { postings } = batch
  const startedAt = performance.now()
  const waitedMs = longestWaitMs(postings)
  lane.underWay.set(batch, startedAt)
  const greedy = [...batch.apps].filter(([, count]) => count >= fewestOfCrowd).map(([app]) => app)
  const crowd = { apps: new Set(greedy), until: Infinity }
  if (greedy.length > 0) lane.crowd = crowd
  const opening = (lane.writer ??= connect(lane))
  let writer: BatchWriter | undefined
  try {
    writer = await opening
    lane.limits = writer.limits
    await answerBatch(lane, writer, postings)
  } catch (error) {
    // A commit of unknown fate, a reference that another process used first, a locked row, a fault: the careful lane resolves each.
    lane.events.fault('fast', error)
    if (lane.writer === opening && (isUnavailable(error) || writer?.isFaulty(error))) disconnect(lane)
  }
  lane.underWay.delete(batch)
  for (const pending of postings) lane.references.delete(pending.referenceKey)
  const endedAt = performance.now()
  lane.batchMs += (endedAt - Math.max(startedAt, lane.lastEndedAt) - lane.batchMs) / 8
  lane.lastEndedAt = endedAt
  crowd.until = endedAt + crowdMs
  lane.events.batch('fast', postings.length, endedAt - startedAt, waitedMs)
  retryUndecided(lane, batch)
  send(lane)
}

function retryUndecided(lane: FastLane, { postings, behind }: Batch): void {
  const undecided = postings.filter((pending) => !pending.isAnswered)
  const waiting: PendingPosting[] = []
  for (const pending of behind) {
    if (pending.isAnswered || shareResult(pending)) continue
    // A repeat does not go to the careful lane ahead of its predecessors.
    const isReady = pending.repeats && !findAhead(pending)
    ;(isReady ? undecided : waiting).push(pending)
    pending.repeats = undefined
    pending.waitsFor = undefined
  }
  // No list has a hold, so the two lanes need not keep an order.
  const holds = undecided.filter(({ hold }) => hold)
  const others = holds.length > 0 ? undecided.filter(({ hold }) => !hold) : undecided
  if (holds.length > 0) postCarefully(lane.holds, holds)
  if (others.length > 0) postCarefully(lane.careful, others)
  if (waiting.length > 0) putBack(lane.waiting, waiting, shareOf)
}

async function answerBatch(lane: FastLane, writer: BatchWriter, batch: readonly PendingPosting[]): Promise<void> {
  const { client, doubts } = writer.writerOf(batch)
  const doubtsBefore = doubts()
  const { answers, hasWritten, hasStandby, holdSteps, fault } = await writer.post(batch)
  // A commit that wrote has reached the standby, and everything read before it too. A batch that only read proves nothing.
  if (hasStandby && !hasWritten) await client.query(confirmSql)
  if (doubts() !== doubtsBefore) throw new InDoubt('a commit may not have reached the standby')
  countHolds(lane.events.hold, answers, holdSteps)
  await answerInTurns(lane, answers)
  if (fault !== undefined) throw fault
}

/** Leaves the event loop to other requests between the answers of a large batch. The database works on the next batches meanwhile. */
async function answerInTurns(lane: FastLane, answers: FastAnswers['answers']): Promise<void> {
  lane.answering++
  send(lane)
  const { promise, resolve } = Promise.withResolvers<void>()
  let left = answers.length
  for (const [pending, result] of answers)
    runInTurn(shareOf(pending), () => {
      pending.answer(result)
      if (--left === 0) resolve()
    })
  if (left > 0) await promise
  lane.answering--
}

function connect(lane: FastLane): Promise<BatchWriter> {
  const forget = () => {
    if (lane.writer === opening) disconnect(lane)
  }
  const open = async () => {
    const home = await openWriterClient(lane.connection, lockTimeoutMs, forget)
    if (!home.client.isCluster()) return writeOn(home, lane.closed)
    const { connection, node, events, careful } = lane
    const { outage } = careful
    return await writeOnNodes(home, {
      connection,
      node,
      outage,
      closed: lane.closed,
      lockTimeoutMs,
      onLost: forget,
      onNodeFault: events.nodeFault,
    })
  }
  const opening = open()
  opening.catch(forget)
  return opening
}

function writeOn(writer: WriterClient, closed: ClosedReferences): BatchWriter {
  const { client } = writer
  const guess = newGuess()
  return {
    limits: usualLimits,
    writerOf: () => writer,
    post: (batch) => postWithCaptures(writer, batch, (others) => postGuessing(writer, guess, closed, others)),
    isFaulty: () => false,
    end: client.end,
    destroy: client.destroy,
  }
}

function disconnect(lane: FastLane): void {
  lane.writer?.then((writer) => writer.destroy()).catch(() => {})
  lane.writer = undefined
}
