/**
 * Where a batch is looked at before it is written: refusals among several, reversals, the service's own movements, and
 * whatever went wrong in the fast lane. One connection, one transaction at a time. No posting can hold up the others:
 * a wallet that somebody else holds is skipped, and of a batch that fails the halves are tried, down to the one at fault.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { isContention, isUnavailable, sqlState, uniqueViolation, type Connection } from '../connection/database.ts'
import { postLocked } from './careful-statement.ts'
import { InDoubt, openWriterClient, type WriterClient } from './connection.ts'
import { isTurnOf, longestWaitMs, type Lane, type LaneQueue, type PendingPosting } from './posting.ts'

export type LaneEvents = {
  /** `waitedMs`: how long the first of its postings had been waiting when it was sent. */
  readonly batch: (lane: Lane, size: number, ms: number, waitedMs: number) => void
  /** A batch, or one posting alone, failed. Nothing is lost by it: it is tried again, or its caller is told. */
  readonly fault: (lane: Lane, error: unknown) => void
  /** A node of the cluster that is named cannot coordinate batches: others do. */
  readonly nodeFault: (error: unknown) => void
}

export type CarefulLane = LaneQueue & {
  readonly connection: Connection
  readonly events: LaneEvents
  /**
   * Links of wallets that are held or damaged, and until when their postings go straight to this lane: in the fast one
   * each of them would fail its whole batch.
   */
  readonly suspects: Map<string, number>
  writer: WriterClient | undefined
  isRunning: boolean
}

const maxBatch = 512
/** For a wallet row that is held, in the database's own queue: a busy wallet is never free, and must be waited for. */
const lockTimeoutMs = 100
const suspectForMs = 5_000
const maxSuspects = 10_000
/** Tries of one batch that loses a race for a reference, before it is halved. */
const maxCollisions = 3

export function openCarefulLane(connection: Connection, events: LaneEvents): CarefulLane {
  const lane: CarefulLane = {
    connection,
    events,
    waiting: [],
    underWay: new Map(),
    disconnect: () => disconnect(lane),
    suspects: new Map(),
    writer: undefined,
    isRunning: false,
  }
  return lane
}

export function postCarefully(lane: CarefulLane, postings: readonly PendingPosting[]): void {
  lane.waiting.push(...postings)
  if (!lane.isRunning) void run(lane)
}

export function isSuspect(lane: CarefulLane, serviceUserId: string): boolean {
  return lane.suspects.size > 0 && (lane.suspects.get(serviceUserId) ?? 0) > performance.now()
}

export async function closeCarefulLane(lane: CarefulLane): Promise<void> {
  while (lane.isRunning) await sleep(5)
  await lane.writer?.client.end().catch(() => {})
  lane.writer = undefined
}

async function run(lane: CarefulLane): Promise<void> {
  lane.isRunning = true
  // One tick of the event loop, so that those of the same moment share the first batch.
  await new Promise((resolve) => setImmediate(resolve))
  let held: PendingPosting[] = []
  while (lane.waiting.length > 0 || held.length > 0) {
    const batch = [...takeBatch(lane), ...held.splice(0, maxBatch)]
    held.push(...(await runBatch(lane, batch, false)))
    // Whoever holds a wallet holds up a round of this lane for one lock_timeout at most, however many they hold.
    const first = held.filter((pending) => isSameWallet(pending, held[0]))
    if (first.length > 0) {
      held = held.filter((pending) => !first.includes(pending))
      held.push(...(await runBatch(lane, first, true)))
    }
  }
  lane.isRunning = false
}

function takeBatch(lane: CarefulLane): PendingPosting[] {
  const batch: PendingPosting[] = []
  const left: PendingPosting[] = []
  for (const pending of lane.waiting) {
    if (batch.length === maxBatch || !isTurnOf(pending, batch)) left.push(pending)
    else {
      pending.takenIn = batch
      batch.push(pending)
    }
  }
  lane.waiting = left
  return batch
}

/** Those that must be tried again. */
async function runBatch(
  lane: CarefulLane,
  batch: readonly PendingPosting[],
  isPatient: boolean,
): Promise<readonly PendingPosting[]> {
  const startedAt = performance.now()
  const waitedMs = longestWaitMs(batch)
  lane.underWay.set(batch, startedAt)
  const again = await postOrHalve(lane, batch.filter(isOpen), isPatient)
  lane.underWay.delete(batch)
  lane.events.batch('careful', batch.length, performance.now() - startedAt, waitedMs)
  return again.filter(isOpen)
}

/** Those that must be tried again. What fails as a whole is halved until the posting at fault stands alone. */
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
    // Somebody used one of the references first: the next look finds its outcome.
    if (isCollision(error) && collisions < maxCollisions)
      return await postOrHalve(lane, batch, isPatient, collisions + 1)
    if (error instanceof InDoubt || isUnavailable(error)) {
      lane.events.fault('careful', error)
      disconnect(lane)
      await sleep(50)
      return batch
    }
    // One that is waited for patiently is of one wallet: its halves would wait for the same row again.
    if (batch.length > 1 && !(isPatient && isContention(error))) {
      const half = batch.length >> 1
      const first = await postOrHalve(lane, batch.slice(0, half), isPatient)
      // What the first half leaves to be tried again goes before those of the same wallet in the second.
      const isBehind = (pending: PendingPosting) => first.some((ahead) => isSameWallet(pending, ahead))
      const [behind, others] = partition(batch.slice(half), isBehind)
      return [...first, ...behind, ...(await postOrHalve(lane, others, isPatient))]
    }
    for (const alone of batch) suspect(lane, alone)
    if (isContention(error)) return batch
    lane.events.fault('careful', error)
    for (const alone of batch) alone.fail(error)
    return []
  }
}

async function post(
  lane: CarefulLane,
  batch: readonly PendingPosting[],
  isPatient: boolean,
): Promise<readonly PendingPosting[]> {
  // The limit on silence is for one try: a batch that is halved many times is not silent.
  for (const whole of lane.underWay.keys()) lane.underWay.set(whole, performance.now())
  const { client, number, doubts } = (lane.writer ??= await connect(lane))
  const doubtsBefore = doubts()
  const { answers, held } = await postLocked(client, batch, { isPatient, writer: number })
  if (doubts() !== doubtsBefore) throw new InDoubt('a commit may not have reached the standby')
  for (const [pending, result] of answers) {
    if (lane.suspects.size > 0) trust(lane, pending)
    pending.answer(result)
  }
  for (const pending of held) suspect(lane, pending)
  return held
}

/** Only the key of outcomes says that somebody was first. Any other collision is a wallet whose rows contradict each other. */
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

function suspect(lane: CarefulLane, { by }: PendingPosting): void {
  if ('walletId' in by) return
  const [oldest] = lane.suspects.keys()
  if (lane.suspects.size >= maxSuspects && oldest !== undefined) lane.suspects.delete(oldest)
  lane.suspects.set(by.serviceUserId, performance.now() + suspectForMs)
}

function trust(lane: CarefulLane, { by }: PendingPosting): void {
  if (!('walletId' in by)) lane.suspects.delete(by.serviceUserId)
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
