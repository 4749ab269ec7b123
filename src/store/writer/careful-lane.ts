/**
 * The lane that locks and reads wallets before it writes: several postings of a wallet of which one is refused, reversals,
 * the service's own movements, and everything that failed in the fast lane; a second lane of this kind has the holds. One connection, one transaction at a time. No
 * posting delays the others: a wallet locked by another transaction is skipped, and a batch that fails is halved until the
 * posting at fault is alone.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { isContention, isUnavailable, sqlState, uniqueViolation, type Connection } from '../connection/database.ts'
import type { Outage } from '../cluster/outage.ts'
import { postLocked } from './careful-statement.ts'
import { InDoubt, openWriterClient, type WriterClient } from './connection.ts'
import { enqueue, newFairQueue, takeInTurn } from './fair-queue.ts'
import { countHolds, type HoldCount } from './hold-counts.ts'
import {
  findAhead,
  longestWaitMs,
  newBatch,
  shareOf,
  type Lane,
  type LaneQueue,
  type PendingPosting,
  type Posting,
} from './posting.ts'

export type LaneEvents = {
  /** `waitedMs`: how long the oldest posting of the batch had been waiting when the batch was sent. */
  readonly batch: (lane: Lane, size: number, ms: number, waitedMs: number) => void
  /** A batch, or one posting alone, failed. It is retried, or its caller gets the error. */
  readonly fault: (lane: Lane, error: unknown) => void
  /** A hold was created, captured, voided or extended, or has expired. */
  readonly hold: (step: HoldCount, times: number) => void
  /** A configured node of the cluster cannot coordinate batches; other nodes do. */
  readonly nodeFault: (error: unknown) => void
  /** These nodes of the cluster are away; none: all are back. */
  readonly outage: (names: readonly string[]) => void
}

export type CarefulLane = LaneQueue & {
  readonly name: Exclude<Lane, 'fast'>
  readonly connection: Connection
  readonly events: LaneEvents
  readonly outage: Outage
  /**
   * Links of locked or damaged wallets, and their ids, with the time until which their postings go straight to this lane: in the fast
   * lane each of them would fail its whole batch.
   */
  readonly quarantined: Map<string, number>
  writer: WriterClient | undefined
  isRunning: boolean
}

const maxBatch = 512
/** For a patient attempt, which queues for the row lock in the database: a busy wallet is never free when it is tried. */
const lockTimeoutMs = 100
const quarantineForMs = 5_000
const maxQuarantined = 10_000
/** Attempts of a batch that loses races for references, before it is halved. */
const maxCollisions = 3

export function openCarefulLane(
  connection: Connection,
  events: LaneEvents,
  outage: Outage,
  name: CarefulLane['name'] = 'careful',
): CarefulLane {
  const lane: CarefulLane = {
    name,
    connection,
    events,
    outage,
    waiting: newFairQueue(),
    underWay: new Map(),
    disconnect: () => disconnect(lane),
    quarantined: new Map(),
    writer: undefined,
    isRunning: false,
  }
  return lane
}

export function postCarefully(lane: CarefulLane, postings: readonly PendingPosting[]): void {
  for (const pending of postings) {
    pending.isInCarefulLane = true
    enqueue(lane.waiting, shareOf(pending), pending)
  }
  if (!lane.isRunning) void run(lane)
}

export function isQuarantined(lane: CarefulLane, posting: Posting): boolean {
  return lane.quarantined.size > 0 && (lane.quarantined.get(quarantineKey(posting)) ?? 0) > performance.now()
}

function quarantineKey({ by }: Posting): string {
  return 'walletId' in by ? by.walletId : by.serviceUserId
}

export async function closeCarefulLane(lane: CarefulLane): Promise<void> {
  while (lane.isRunning) await sleep(5)
  await lane.writer?.client.end().catch(() => {})
  lane.writer = undefined
}

async function run(lane: CarefulLane): Promise<void> {
  lane.isRunning = true
  // Wait one tick of the event loop, so that postings of the same tick share the first batch.
  await new Promise((resolve) => setImmediate(resolve))
  let held: PendingPosting[] = []
  while (lane.waiting.size > 0 || held.length > 0) {
    const batch = [...takeBatch(lane), ...held.splice(0, maxBatch)]
    held.push(...(await runBatch(lane, batch, false)))
    // One locked wallet is waited for per round, so a round takes one lock_timeout more at most, however many are locked.
    const first = held.filter((pending) => isSameWallet(pending, held[0]))
    if (first.length > 0) {
      held = held.filter((pending) => !first.includes(pending))
      held.push(...(await runBatch(lane, first, true)))
    }
  }
  lane.isRunning = false
}

function takeBatch(lane: CarefulLane): PendingPosting[] {
  const batch = newBatch()
  takeInTurn(lane.waiting, maxBatch, (pending) => {
    if (findAhead(pending, batch)) return 'stays'
    pending.takenIn = batch
    batch.postings.push(pending)
    return 'taken'
  })
  return batch.postings
}

/** Returns the postings to try again. */
async function runBatch(
  lane: CarefulLane,
  postings: PendingPosting[],
  isPatient: boolean,
): Promise<readonly PendingPosting[]> {
  const batch = newBatch(postings)
  const startedAt = performance.now()
  const waitedMs = longestWaitMs(postings)
  lane.underWay.set(batch, startedAt)
  const again = await postOrHalve(lane, postings.filter(isOpen), isPatient)
  lane.underWay.delete(batch)
  lane.events.batch(lane.name, postings.length, performance.now() - startedAt, waitedMs)
  return again.filter(isOpen)
}

/** Returns the postings to try again. A batch that fails is halved until the posting at fault is alone. */
async function postOrHalve(
  lane: CarefulLane,
  batch: readonly PendingPosting[],
  isPatient: boolean,
  collisions = 0,
): Promise<readonly PendingPosting[]> {
  if (batch.length === 0) return []
  try {
    return await post(lane, batch, isPatient)
  } catch (error) {
    // Another transaction used one of the references first: the next attempt reads its outcome.
    if (isCollision(error) && collisions < maxCollisions)
      return await postOrHalve(lane, batch, isPatient, collisions + 1)
    if (error instanceof InDoubt || isUnavailable(error)) {
      lane.events.fault(lane.name, error)
      const failed = lane.writer?.client
      disconnect(lane)
      await lane.outage.examine(failed)
      await sleep(50)
      return batch
    }
    // A patient batch is of one wallet: its halves would wait for the same row again.
    if (batch.length > 1 && !(isPatient && isContention(error))) {
      const half = batch.length >> 1
      const first = await postOrHalve(lane, batch.slice(0, half), isPatient)
      // A posting of the first half that must be tried again stays ahead of the same wallet's postings in the second half.
      const isBehind = (pending: PendingPosting) => first.some((ahead) => isSameWallet(pending, ahead))
      const [behind, others] = partition(batch.slice(half), isBehind)
      return [...first, ...behind, ...(await postOrHalve(lane, others, isPatient))]
    }
    for (const alone of batch) quarantine(lane, alone)
    if (isContention(error)) return batch
    lane.events.fault(lane.name, error)
    for (const alone of batch) alone.fail(error)
    return []
  }
}

async function post(
  lane: CarefulLane,
  batch: readonly PendingPosting[],
  isPatient: boolean,
): Promise<readonly PendingPosting[]> {
  // The limit on silence is per attempt: a batch that is halved many times is not silent.
  for (const whole of lane.underWay.keys()) lane.underWay.set(whole, performance.now())
  const { client, number, doubts } = (lane.writer ??= await connect(lane))
  const doubtsBefore = doubts()
  const reachable = await lane.outage.keepReachable(client, batch)
  if (reachable.length === 0) return []
  const { answers, held, holdSteps } = await postLocked(client, reachable, {
    isPatient,
    writer: number,
    isNarrow: lane.outage.isOn(),
  })
  if (doubts() !== doubtsBefore) throw new InDoubt('a commit may not have reached the standby')
  countHolds(lane.events.hold, answers, holdSteps)
  for (const [pending, result] of answers) {
    if (lane.quarantined.size > 0) lane.quarantined.delete(quarantineKey(pending))
    pending.answer(result)
  }
  for (const pending of held) quarantine(lane, pending)
  return held
}

/** Only the key of outcomes means a lost race for a reference. Any other collision is a wallet whose rows contradict each other. */
function isCollision(error: unknown): boolean {
  if (sqlState(error) !== uniqueViolation || !(error instanceof Error)) return false
  return 'table' in error && error.table === 'outcomes'
}

function partition<T>(items: readonly T[], isFirst: (item: T) => boolean): [T[], T[]] {
  const { first = [], second = [] } = Object.groupBy(items, (item) => (isFirst(item) ? 'first' : 'second'))
  return [first, second]
}

function isOpen(pending: PendingPosting): boolean {
  return !pending.isAnswered
}

function isSameWallet({ by }: PendingPosting, other: PendingPosting | undefined): boolean {
  if (!other) return false
  if ('walletId' in by) return 'walletId' in other.by && other.by.walletId === by.walletId
  return !('walletId' in other.by) && other.by.serviceUserId === by.serviceUserId
}

function quarantine(lane: CarefulLane, pending: PendingPosting): void {
  const [oldest] = lane.quarantined.keys()
  if (lane.quarantined.size >= maxQuarantined && oldest !== undefined) lane.quarantined.delete(oldest)
  lane.quarantined.set(quarantineKey(pending), performance.now() + quarantineForMs)
}

async function connect(lane: CarefulLane): Promise<WriterClient> {
  return await openWriterClient(lane.connection, lockTimeoutMs, (lost) => {
    if (lane.writer?.client === lost) lane.writer = undefined
  })
}

function disconnect(lane: CarefulLane): void {
  lane.writer?.client.destroy()
  lane.writer = undefined
}
