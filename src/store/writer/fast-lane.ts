/**
 * Where nearly every debit and credit goes: whatever arrived while the last batches were under way is the next, in one
 * statement. Whom that statement gives no answer, and all of a batch that fails, goes to the careful lane.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { postCarefully, type CarefulLane, type LaneEvents } from './careful-lane.ts'
import {
  commit,
  isContention,
  isUnavailable,
  sqlState,
  uniqueViolation,
  type Connection,
} from '../connection/database.ts'
import { readIdentity, refuseStranger } from '../cluster.ts'
import { isCoordinatorsTurn, within, type OpenClient } from '../connection/open-client.ts'
import {
  afterBegin,
  begin,
  beginElsewhere,
  confirmSql,
  InDoubt,
  openWriterClient,
  standBy,
  type WriterClient,
} from './connection.ts'
import { postFast, type FastAnswers } from './fast-statement.ts'
import { findPlaces } from './places.ts'
import { isTurnOf, longestWaitMs, type LaneQueue, type PendingPosting } from './posting.ts'

export type FastLane = LaneQueue & {
  readonly connection: Connection
  readonly careful: CarefulLane
  readonly events: LaneEvents
  /** References under way. One that comes again waits until the first has its outcome. */
  readonly references: Set<string>
  writer: Promise<FastWriter> | undefined
  isWaiting: boolean
  /** Known with its first connection. */
  limits: Limits
  /** Which of the nodes that are named is to coordinate the batches of a cluster, and which one does after faults of others. */
  readonly ownTurn: number
  turn: number
}

type FastWriter = {
  /** To the server that takes writes; where there is a cluster, to its coordinator. */
  readonly home: WriterClient
  /** To another node of the cluster, which then coordinates the batches. */
  elsewhere: WriterClient | undefined
}

type Limits = { readonly batch: number; readonly underWay: number }

/** One that is written and one that waits behind it: the database is never without the next. */
const usualLimits: Limits = { batch: 512, underWay: 2 }
/** Until it is known whether there is a cluster, of which one connection would mix up the transactions of two. */
const firstLimits: Limits = { batch: 512, underWay: 1 }
/** The work of a cluster is for each batch, and hardly for each posting: the next is all that came while one was written. */
const clusterLimits: Limits = { batch: 2_048, underWay: 1 }
/**
 * A wallet row that somebody holds must not hold up the others for long. Two processes that share a busy wallet wait for
 * each other's commit, a few milliseconds; whoever holds a row for longer than this is skipped by the careful lane.
 */
const lockTimeoutMs = 200

export function openFastLane(connection: Connection, careful: CarefulLane, events: LaneEvents, turn: number): FastLane {
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
    limits: firstLimits,
    ownTurn: turn,
    turn,
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
  await lane.writer?.then((writer) => Promise.all(clientsOf(writer).map((client) => client.end()))).catch(() => {})
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
  let writer: FastWriter | undefined
  try {
    writer = await opening
    lane.limits = writer.home.client.isCluster() ? clusterLimits : usualLimits
    await answerBatch(writer, batch)
  } catch (error) {
    // A commit of unknown fate, a reference that another process used first, a held row, a fault: the careful lane finds out.
    lane.events.fault('fast', error)
    if (lane.writer === opening && (isUnavailable(error) || isNodesFault(writer, error))) disconnect(lane)
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

async function answerBatch(writer: FastWriter, batch: readonly PendingPosting[]): Promise<void> {
  const used = writer.elsewhere ?? writer.home
  const { client, number, doubts } = used
  const doubtsBefore = doubts()
  const posting = client.isCluster() ? postOnNodes(used, writer.home.client, batch) : postFast(client, batch, number)
  const { answers, hasWritten, hasStandby } = await posting
  // What was written here has passed the standby, and with it all that was read; a batch that only read has proved nothing.
  if (hasStandby && !hasWritten) await client.query(confirmSql)
  if (doubts() !== doubtsBefore) throw new InDoubt('a commit may not have reached the standby')
  for (const [pending, result] of answers) pending.answer(result)
}

/**
 * In a transaction, which brings its settings to the nodes. The links are read on the coordinator, in a transaction that is open
 * until the batch is committed, whichever node writes it.
 */
async function postOnNodes(
  { client, number }: WriterClient,
  home: OpenClient,
  batch: readonly PendingPosting[],
): Promise<FastAnswers> {
  const isElsewhere = client !== home
  try {
    const places = await afterBegin(isElsewhere ? standBy(home) : begin(home), findPlaces(home, batch))
    const [, answers] = await Promise.all([
      isElsewhere && beginElsewhere(client),
      postFast(client, batch, number, places),
      commit(client),
    ])
    return answers
  } finally {
    // It wrote nothing itself, unless the batch was written there: then it has ended already.
    if (home.isInTransaction()) await home.query('rollback').catch(() => {})
  }
}

function connect(lane: FastLane): Promise<FastWriter> {
  const forget = () => {
    if (lane.writer === opening) disconnect(lane)
  }
  const open = async () => {
    const home = await openWriterClient(lane.connection, lockTimeoutMs, forget)
    const writer: FastWriter = { home, elsewhere: undefined }
    if (home.client.isCluster()) void moveElsewhere(lane, writer, await readIdentity(home.client), forget)
    return writer
  }
  const opening = open()
  opening.catch(forget)
  return opening
}

const moveAgainAfterMs = 30_000
const identifyWithinMs = 2_500

/** Beside the batches, which the coordinator writes until another node has answered. */
async function moveElsewhere(lane: FastLane, writer: FastWriter, identity: string, forget: () => void): Promise<void> {
  // One that is lost before it is used is nobody's loss.
  const forgetUsed = (lost: OpenClient | undefined) => {
    if (lost && lost === writer.elsewhere?.client) forget()
  }
  while (!writer.home.client.isLost()) {
    if (isCoordinatorsTurn(lane.connection, lane.turn)) {
      if (lane.turn === lane.ownTurn) return
      // It was moved on to here by faults of the others, which may be well again.
      await sleep(moveAgainAfterMs, undefined, { ref: false })
      if (!writer.home.client.isLost()) lane.turn = lane.ownTurn
      continue
    }
    let elsewhere: WriterClient | undefined
    try {
      elsewhere = await openWriterClient(lane.connection, lockTimeoutMs, forgetUsed, lane.turn)
      await within(elsewhere.client, identifyWithinMs, refuseStranger(elsewhere.client, identity))
      writer.elsewhere = elsewhere
      if (writer.home.client.isLost()) elsewhere.client.destroy()
      return
    } catch (error) {
      elsewhere?.client.destroy()
      lane.events.nodeFault(error)
      lane.turn++
      await sleep(moveAgainAfterMs, undefined, { ref: false })
    }
  }
}

/** What a node cannot do, such as reach the others, another one may. Who was first with a reference, or holds a row, is no fault of it. */
function isNodesFault(writer: FastWriter | undefined, error: unknown): boolean {
  return writer?.elsewhere !== undefined && !isContention(error) && sqlState(error) !== uniqueViolation
}

function disconnect(lane: FastLane): void {
  lane.writer
    ?.then((writer) => {
      // The next one may do better.
      if (writer.elsewhere) lane.turn++
      for (const client of clientsOf(writer)) client.destroy()
    })
    .catch(() => {})
  lane.writer = undefined
}

function clientsOf({ home, elsewhere }: FastWriter): readonly OpenClient[] {
  return elsewhere ? [home.client, elsewhere.client] : [home.client]
}
