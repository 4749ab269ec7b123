/**
 * The lane of nearly every debit and credit. Postings that arrive while batches are under way form the next batch, which
 * one statement writes. Postings the statement left undecided, and every posting of a failed batch, are retried in the
 * careful lane.
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
import { readIdentity, refuseForeignNode } from '../cluster.ts'
import { isCoordinator, within, type OpenClient } from '../connection/open-client.ts'
import {
  afterBegin,
  begin,
  beginOnOtherNode,
  confirmSql,
  InDoubt,
  openWriterClient,
  beginIdle,
  type WriterClient,
} from './connection.ts'
import { postFast, type FastAnswers } from './fast-statement.ts'
import { resolveLinks } from './resolve-links.ts'
import { canJoinBatch, longestWaitMs, type LaneQueue, type PendingPosting } from './posting.ts'

export type FastLane = LaneQueue & {
  readonly connection: Connection
  readonly careful: CarefulLane
  readonly events: LaneEvents
  /** References under way. A repeat waits until the first use has its outcome. */
  readonly references: Set<string>
  writer: Promise<FastWriter> | undefined
  isWaiting: boolean
  /** Set once the first connection is open. */
  limits: Limits
  /** The configured node that this lane prefers as coordinator of its batches, and the one in use after faults of others. */
  readonly ownNodeIndex: number
  nodeIndex: number
}

type FastWriter = {
  /** The server that takes writes; on a cluster, its coordinator. */
  readonly home: WriterClient
  /** Another node of the cluster, which coordinates the batches in place of `home`. */
  otherNode: WriterClient | undefined
}

type Limits = { readonly batch: number; readonly underWay: number }

/** One batch is being written and one waits behind it, so that the database is never idle. */
const usualLimits: Limits = { batch: 512, underWay: 2 }
/** Until the lane knows whether it talks to a cluster: there, two batches on one connection would share a transaction. */
const firstLimits: Limits = { batch: 512, underWay: 1 }
/** On a cluster the cost is per batch and hardly per posting, so the next batch is everything that arrived meanwhile. */
const clusterLimits: Limits = { batch: 2_048, underWay: 1 }
/**
 * A locked wallet row must not delay the rest of its batch. Two processes that share a busy wallet wait a few
 * milliseconds for each other's commit; after this time the batch fails and the careful lane skips the locked row.
 */
const lockTimeoutMs = 200

export function openFastLane(
  connection: Connection,
  careful: CarefulLane,
  events: LaneEvents,
  nodeIndex: number,
): FastLane {
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
    ownNodeIndex: nodeIndex,
    nodeIndex,
  }
  return lane
}

export function addToFastLane(lane: FastLane, pending: PendingPosting): void {
  lane.waiting.push(pending)
  if (lane.isWaiting || lane.underWay.size >= lane.limits.underWay) return
  // Wait one tick of the event loop, so that requests of the same tick share a batch.
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
    if (isLate || !canJoinBatch(pending, batch)) left.push(pending)
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
  // The queue is in order of arrival, so the first posting has waited longest.
  const waitedMs = longestWaitMs(batch.slice(0, 1))
  lane.underWay.set(batch, startedAt)
  const opening = (lane.writer ??= connect(lane))
  let writer: FastWriter | undefined
  try {
    writer = await opening
    lane.limits = writer.home.client.isCluster() ? clusterLimits : usualLimits
    await answerBatch(writer, batch)
  } catch (error) {
    // A commit of unknown fate, a reference that another process used first, a locked row, a fault: the careful lane resolves each.
    lane.events.fault('fast', error)
    if (lane.writer === opening && (isUnavailable(error) || isNodeFault(writer, error))) disconnect(lane)
  }
  lane.underWay.delete(batch)
  for (const pending of batch) lane.references.delete(pending.referenceKey)
  lane.events.batch('fast', batch.length, performance.now() - startedAt, waitedMs)
  const left = batch.filter((pending) => !pending.isAnswered)
  if (left.length > 0) postCarefully(lane.careful, [...left, ...takeFollowers(lane, left)])
  send(lane)
}

/** Removes the postings that must be decided after one of these from the queue: they follow it into the careful lane. */
function takeFollowers(lane: FastLane, ahead: readonly PendingPosting[]): PendingPosting[] {
  const chain = new Set(ahead)
  const followers: PendingPosting[] = []
  lane.waiting = lane.waiting.filter((pending) => {
    if (!isBehind(pending, chain)) return true
    chain.add(pending)
    followers.push(pending)
    return false
  })
  return followers
}

/** Behind one of the chain, with nothing but answered postings between them. */
function isBehind({ predecessor }: PendingPosting, chain: ReadonlySet<PendingPosting>): boolean {
  let ahead = predecessor
  while (ahead?.isAnswered) ahead = ahead.predecessor
  return ahead !== undefined && chain.has(ahead)
}

async function answerBatch(writer: FastWriter, batch: readonly PendingPosting[]): Promise<void> {
  const used = writer.otherNode ?? writer.home
  const { client, number, doubts } = used
  const doubtsBefore = doubts()
  const posting = client.isCluster() ? postOnNodes(used, writer.home.client, batch) : postFast(client, batch, number)
  const { answers, hasWritten, hasStandby } = await posting
  // A commit that wrote has reached the standby, and everything read before it too. A batch that only read proves nothing.
  if (hasStandby && !hasWritten) await client.query(confirmSql)
  if (doubts() !== doubtsBefore) throw new InDoubt('a commit may not have reached the standby')
  for (const [pending, result] of answers) pending.answer(result)
}

/**
 * On a cluster settings reach the nodes only with a transaction. The coordinator reads the links, in a transaction that
 * stays open until the batch is committed, whichever node writes it.
 */
async function postOnNodes(
  { client, number }: WriterClient,
  home: OpenClient,
  batch: readonly PendingPosting[],
): Promise<FastAnswers> {
  const isOtherNode = client !== home
  try {
    const links = await afterBegin(isOtherNode ? beginIdle(home) : begin(home), resolveLinks(home, batch))
    const [, answers] = await Promise.all([
      isOtherNode && beginOnOtherNode(client),
      postFast(client, batch, number, links),
      commit(client),
    ])
    return answers
  } finally {
    // An open transaction here only read: when `home` wrote the batch, its transaction has ended.
    if (home.isInTransaction()) await home.query('rollback').catch(() => {})
  }
}

function connect(lane: FastLane): Promise<FastWriter> {
  const forget = () => {
    if (lane.writer === opening) disconnect(lane)
  }
  const open = async () => {
    const home = await openWriterClient(lane.connection, lockTimeoutMs, forget)
    const writer: FastWriter = { home, otherNode: undefined }
    if (home.client.isCluster()) void moveToOtherNode(lane, writer, await readIdentity(home.client), forget)
    return writer
  }
  const opening = open()
  opening.catch(forget)
  return opening
}

const retryNodeAfterMs = 30_000
const identifyWithinMs = 2_500

/** Runs in the background; the coordinator writes the batches until another node is connected. */
async function moveToOtherNode(
  lane: FastLane,
  writer: FastWriter,
  identity: string,
  forget: () => void,
): Promise<void> {
  // A connection lost before its first use needs no action.
  const forgetUsed = (lost: OpenClient | undefined) => {
    if (lost && lost === writer.otherNode?.client) forget()
  }
  while (!writer.home.client.isLost()) {
    if (isCoordinator(lane.connection, lane.nodeIndex)) {
      if (lane.nodeIndex === lane.ownNodeIndex) return
      // Faults of other nodes moved the lane here; those nodes may have recovered.
      await sleep(retryNodeAfterMs, undefined, { ref: false })
      if (!writer.home.client.isLost()) lane.nodeIndex = lane.ownNodeIndex
      continue
    }
    let otherNode: WriterClient | undefined
    try {
      otherNode = await openWriterClient(lane.connection, lockTimeoutMs, forgetUsed, lane.nodeIndex)
      await within(otherNode.client, identifyWithinMs, refuseForeignNode(otherNode.client, identity))
      writer.otherNode = otherNode
      if (writer.home.client.isLost()) otherNode.client.destroy()
      return
    } catch (error) {
      otherNode?.client.destroy()
      lane.events.nodeFault(error)
      lane.nodeIndex++
      await sleep(retryNodeAfterMs, undefined, { ref: false })
    }
  }
}

/** A fault of the node itself, such as losing sight of the others. A lost race for a reference or a locked row is none. */
function isNodeFault(writer: FastWriter | undefined, error: unknown): boolean {
  return writer?.otherNode !== undefined && !isContention(error) && sqlState(error) !== uniqueViolation
}

function disconnect(lane: FastLane): void {
  lane.writer
    ?.then((writer) => {
      // Try the next node.
      if (writer.otherNode) lane.nodeIndex++
      for (const client of clientsOf(writer)) client.destroy()
    })
    .catch(() => {})
  lane.writer = undefined
}

function clientsOf({ home, otherNode }: FastWriter): readonly OpenClient[] {
  return otherNode ? [home.client, otherNode.client] : [home.client]
}
