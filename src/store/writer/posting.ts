/**
 * A posting: a debit or credit somebody asked for, on its way through the writer. It gets one result, or is told in time
 * that there is none yet.
 */
import type { Operation } from '../../ledger/decide.ts'
import { findMismatch, type Mismatch } from '../../ledger/reference.ts'
import { isUnavailable } from '../connection/database.ts'
import type { Outcome } from '../outcomes.ts'

export type Posting = Operation & {
  /** By its link, for an app; by its wallet, for the service itself. */
  readonly by: ByLink | { readonly walletId: string }
  readonly referenceKey: string
  readonly counterAccount: string
  readonly referenceType: string
  readonly referenceId: string
  readonly description: string | null
}

export type ByLink = { readonly clientId: string; readonly serviceUserId: string }

export type PostingResult =
  | { readonly kind: 'outcome'; readonly outcome: Outcome; readonly replay?: Replay }
  | { readonly kind: 'inactive' }
  | { readonly kind: 'unknown-user' }

/** The reference was used before: this posting moved nothing. */
export type Replay = {
  /** The wallet it asked for this time, when there is one. */
  readonly walletId: string | undefined
  readonly amountMinor: bigint
  readonly mismatch: readonly Mismatch[]
}

export function asReplay(outcome: Outcome, { amountMinor }: Posting, walletId: string | undefined): PostingResult {
  const mismatch = findMismatch(outcome, { walletId, amountMinor })
  return { kind: 'outcome', outcome, replay: { walletId, amountMinor, mismatch } }
}

/** The ledger could not be asked in time. The fate of the posting is open, and sending it again is safe. */
export class Unavailable extends Error {}

/** Whether the caller is to be told to come again: the ledger or its database could not be asked. */
export function isAway(error: unknown): boolean {
  return error instanceof Unavailable || isUnavailable(error)
}

/** A posting that somebody waits for. */
export type PendingPosting = Posting & {
  readonly deadline: number
  readonly answer: (result: PostingResult) => void
  readonly fail: (error: unknown) => void
  isAnswered: boolean
  /** The one before it in the same list, of the same link: it is decided first. */
  readonly after: PendingPosting | undefined
  /** The newest batch it was in. */
  takenIn: readonly PendingPosting[] | undefined
}

/** Whether it may be in this batch: what must be decided before it is decided, or in the batch already, which keeps the order. */
export function isTurnOf({ after }: PendingPosting, batch: readonly PendingPosting[]): boolean {
  return after === undefined || after.isAnswered || after.takenIn === batch
}

/**
 * Clients wait ten seconds. They are told within eight of the arrival of their request, also when the sweep that tells them
 * (`expire`, five times a second) comes late.
 */
const answerWithinMs = 7_500

export function newPending(
  posting: Posting,
  arrivedAt: number,
  after: PendingPosting | undefined,
  resolve: (result: PostingResult) => void,
  reject: (error: unknown) => void,
): PendingPosting {
  // Written out, because copying with `...` is several times slower, and this is done for every debit.
  const pending: PendingPosting = {
    by: posting.by,
    amountMinor: posting.amountMinor,
    isReversal: posting.isReversal,
    isByOperator: posting.isByOperator ?? false,
    referenceKey: posting.referenceKey,
    counterAccount: posting.counterAccount,
    referenceType: posting.referenceType,
    referenceId: posting.referenceId,
    description: posting.description,
    deadline: arrivedAt + answerWithinMs,
    isAnswered: false,
    after,
    takenIn: undefined,
    answer: (result) => {
      pending.isAnswered = true
      resolve(result)
    },
    fail: (error) => {
      pending.isAnswered = true
      reject(error)
    },
  }
  return pending
}

export type Lane = 'fast' | 'careful'

/** How long the one that came first has been waiting. */
export function longestWaitMs(batch: readonly PendingPosting[]): number {
  let deadline = Infinity
  for (const pending of batch) if (pending.deadline < deadline) deadline = pending.deadline
  return performance.now() - (deadline - answerWithinMs)
}

/** What a lane holds: postings that wait, and the batches under way with the moment each was sent. */
export type LaneQueue = {
  waiting: PendingPosting[]
  readonly underWay: Map<readonly PendingPosting[], number>
  /** Destroys the lane's connection: what is under way fails at once, and is looked up over another one. */
  readonly disconnect: () => void
}

export function depthOf(queue: LaneQueue): number {
  let depth = queue.waiting.length
  for (const batch of queue.underWay.keys()) depth += batch.length
  return depth
}

/**
 * Longer than any statement may take in the database: a connection that is silent for so long is given up, early enough
 * for another one to find out what became of the batch before its clients are told that nobody knows.
 */
const silentForMs = 4_000

/** Fails postings past their deadline, also while a query hangs, and gives up a connection that hangs. */
export function expire(queue: LaneQueue): void {
  const now = performance.now()
  const isLate = (pending: PendingPosting) => !pending.isAnswered && pending.deadline <= now
  let isSilent = false
  for (const [batch, sentAt] of queue.underWay) {
    isSilent ||= now - sentAt > silentForMs
    for (const pending of batch) if (isLate(pending)) pending.fail(new Unavailable('the ledger did not answer in time'))
  }
  if (isSilent) queue.disconnect()
  if (!queue.waiting.some(isLate)) return
  for (const pending of queue.waiting) if (isLate(pending)) pending.fail(new Unavailable('the ledger is busy'))
  queue.waiting = queue.waiting.filter((pending) => !pending.isAnswered)
}
