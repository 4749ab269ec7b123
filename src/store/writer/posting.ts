/**
 * A posting: a requested debit or credit on its way through the writer. It gets exactly one result, or fails with
 * `Unavailable` before its deadline.
 */
import type { Operation } from '../../ledger/decide.ts'
import type { Capture, HoldRefusal, HoldView } from '../../ledger/hold.ts'
import { findMismatch, magnitude, type Mismatch } from '../../ledger/reference.ts'
import { isUnavailable } from '../connection/database.ts'
import { itemsOf, removeItems, type FairQueue } from './fair-queue.ts'
import type { Outcome } from '../outcomes.ts'

export type Posting = Operation & {
  /** An app names the link, the service itself names the wallet. */
  readonly by: ByLink | ByWallet
  /** Of a posting that leaves no outcome (a void, an extension, an expiry) it is never looked up. */
  readonly referenceKey: string
  readonly counterAccount: string
  readonly referenceType: string
  readonly referenceId: string
  readonly description: string | null
  /** Its app has events on, so the entry is reported to it. */
  readonly hasEvents?: boolean
  /** Absent for a plain debit or credit. */
  readonly hold?: HoldRequest | undefined
}

export type ByLink = { readonly clientId: string; readonly serviceUserId: string }
/** With the app that asks for it, or of the service itself. */
export type ByWallet = { readonly walletId: string; readonly clientId?: string }

/** What a posting does to a hold. The amount of the posting is what it reserves or captures, below zero. */
export type HoldRequest =
  | { readonly kind: 'reserve'; readonly seconds: number }
  /** The fast lane captures the hold only if it is still as it was seen. */
  | ({ readonly kind: 'capture'; readonly holdId: string; readonly seen: HoldView } & Capture)
  | { readonly kind: 'void'; readonly holdId: string; readonly actor: string; readonly reason: string | null }
  | { readonly kind: 'extend'; readonly holdId: string; readonly seconds: number; readonly actor: string }
  /** Closes the expired holds of the wallet. */
  | { readonly kind: 'expire' }

export type HoldPosting = Posting & { readonly hold: HoldRequest }

export type PostingResult =
  | { readonly kind: 'outcome'; readonly outcome: Outcome; readonly replay?: Replay; readonly hold?: HoldView }
  | { readonly kind: 'inactive' }
  | { readonly kind: 'unknown-user' }

export type HoldResult =
  | PostingResult
  /** Voided or extended. */
  | {
      readonly kind: 'hold'
      readonly hold: HoldView
      readonly balanceMinor: bigint
      readonly heldMinor: bigint
      /** It was voided before: nothing changed. */
      readonly isRepeat: boolean
    }
  | {
      readonly kind: 'hold-refused'
      readonly refusal: HoldRefusal | 'HOLD_NOT_FOUND' | 'HOLD_UNCOVERED'
      readonly hold?: HoldView
    }
  /** The expired holds of the wallet are closed. */
  | { readonly kind: 'expired' }

/** The reference was used before, so this posting moved nothing. */
export type Replay = {
  /** The wallet of the repeated request; undefined when its link does not exist. */
  readonly walletId: string | undefined
  readonly amountMinor: bigint
  readonly mismatch: readonly Mismatch[]
}

export function asReplay(
  outcome: Outcome,
  { amountMinor: asked, hold }: Posting,
  walletId: string | undefined,
): Extract<PostingResult, { kind: 'outcome' }> {
  // A capture of all that remains names no amount, so it cannot name another one.
  const isWhole = hold?.kind === 'capture' && hold.amountMinor === undefined
  const amountMinor = isWhole ? -magnitude(outcome.amountMinor) : asked
  const mismatch = findMismatch(outcome, { walletId, amountMinor })
  return { kind: 'outcome', outcome, replay: { walletId, amountMinor, mismatch } }
}

/** The ledger did not answer in time. The posting may or may not have been written; sending it again is safe. */
export class Unavailable extends Error {}

/** The ledger or its database did not answer: the caller should retry. */
export function isRetryable(error: unknown): boolean {
  return error instanceof Unavailable || isUnavailable(error)
}

/** A posting whose caller is waiting. */
export type PendingPosting = Posting & {
  readonly deadline: number
  readonly answer: (result: HoldResult) => void
  readonly fail: (error: unknown) => void
  isAnswered: boolean
  /** The previous posting of the same link in the same list: it is decided first. */
  readonly predecessor: PendingPosting | undefined
  /** The last batch that took it, or whose posting it repeats. */
  takenIn: Batch | undefined
  /** The batch under way that it waits for, outside the queue. */
  waitsFor: Batch | undefined
  isInCarefulLane: boolean
  /** The posting of a batch under way that has the same reference, and whose outcome this one gets as well. */
  repeats: PendingPosting | undefined
  result: HoldResult | undefined
}

export type Batch = {
  readonly postings: PendingPosting[]
  /**
   * Postings that wait for its end, in the order of their lists: repeats of a reference of `postings` share its answer, and those
   * behind one of them that could not join return to the queue.
   */
  readonly behind: PendingPosting[]
  /** The apps of `postings` and `behind`, each with the number of its postings. */
  readonly apps: Map<string, number>
}

export function newBatch(postings: PendingPosting[] = []): Batch {
  return { postings, behind: [], apps: new Map() }
}

/** The app whose share of the batches a posting uses. The service's own postings count as one app. */
export function shareOf({ by }: Posting): string {
  return by.clientId ?? ''
}

/**
 * The posting that keeps this one out of a batch: the last one ahead of it that has no answer and is not in that batch. A repeat in
 * the middle of a list may have its answer before the postings ahead of it.
 */
export function findAhead({ predecessor }: PendingPosting, batch?: Batch): PendingPosting | undefined {
  for (let ahead = predecessor; ahead; ahead = ahead.predecessor) {
    if (batch && ahead.takenIn === batch) return undefined
    if (!ahead.isAnswered) return ahead
  }
  return undefined
}

/**
 * Answers a repeat from the result of the posting that it repeats; false when it has to be posted itself. Only of the same link:
 * the wallet of another link is not known here.
 */
export function shareResult(repeat: PendingPosting): boolean {
  const first = repeat.repeats
  if (!first?.result || !isSameLink(first, repeat)) return false
  if (first.result.kind === 'outcome') {
    const { outcome, replay, hold } = first.result
    const result = asReplay(outcome, repeat, replay ? replay.walletId : outcome.walletId)
    repeat.answer(hold ? { ...result, hold } : result)
    return true
  }
  // The wallet is frozen: a credit would post, and so might a debit behind a credit that repays the debt.
  const isRefusedToo = repeat.amountMinor < 0n && !findAhead(repeat)
  if (first.result.kind === 'inactive' && !isRefusedToo) return false
  repeat.answer(first.result)
  return true
}

export function isSameLink({ by }: Posting, { by: other }: Posting): boolean {
  if ('walletId' in by || 'walletId' in other) return false
  return by.serviceUserId === other.serviceUserId && by.clientId === other.clientId
}

/**
 * Clients wait ten seconds. They get an answer within eight seconds of the request's arrival, even when the sweep
 * (`expire`, five times a second) runs late.
 */
export const answerWithinMs = 7_500

export function newPending(
  posting: Posting,
  arrivedAt: number,
  predecessor: PendingPosting | undefined,
  resolve: (result: HoldResult) => void,
  reject: (error: unknown) => void,
): PendingPosting {
  // Written out because `...` is several times slower, and this runs for every debit.
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
    hasEvents: posting.hasEvents ?? false,
    hold: posting.hold,
    deadline: arrivedAt + answerWithinMs,
    isAnswered: false,
    predecessor,
    takenIn: undefined,
    waitsFor: undefined,
    isInCarefulLane: false,
    repeats: undefined,
    result: undefined,
    answer: (result) => {
      pending.isAnswered = true
      pending.result = result
      resolve(result)
    },
    fail: (error) => {
      pending.isAnswered = true
      reject(error)
    },
  }
  return pending
}

/** `holds` is careful too: a locked wallet must not delay captures, nor a hold the reversals. */
export type Lane = 'fast' | 'careful' | 'holds'

/** How long the oldest posting of the batch has been waiting. */
export function longestWaitMs(batch: readonly PendingPosting[]): number {
  let deadline = Infinity
  for (const pending of batch) if (pending.deadline < deadline) deadline = pending.deadline
  return performance.now() - (deadline - answerWithinMs)
}

/** The postings that wait in a lane, and the batches under way, each with the time it was sent. */
export type LaneQueue = {
  readonly waiting: FairQueue<PendingPosting>
  readonly underWay: Map<Batch, number>
  /** Destroys the lane's connection: batches under way fail at once and are retried over another connection. */
  readonly disconnect: () => void
}

export function depthOf(queue: LaneQueue): number {
  let depth = queue.waiting.size
  for (const { postings, behind } of queue.underWay.keys()) depth += postings.length + behind.length
  return depth
}

/**
 * Longer than the statement timeout. A connection that is silent for this long is destroyed, early enough for another
 * one to read the outcome of the batch before its callers get `Unavailable`.
 */
const silentForMs = 4_000

/** Fails postings past their deadline, also while a query hangs, and destroys a connection that hangs. */
export function expire(queue: LaneQueue): void {
  const now = performance.now()
  const isLate = (pending: PendingPosting) => !pending.isAnswered && pending.deadline <= now
  let isSilent = false
  for (const [batch, sentAt] of queue.underWay) {
    isSilent ||= now - sentAt > silentForMs
    for (const pending of [...batch.postings, ...batch.behind])
      if (isLate(pending)) pending.fail(new Unavailable('the ledger did not answer in time'))
  }
  if (isSilent) queue.disconnect()
  let hasLate = false
  for (const pending of itemsOf(queue.waiting)) {
    if (!isLate(pending)) continue
    hasLate = true
    pending.fail(new Unavailable('the ledger is busy'))
  }
  if (hasLate) removeItems(queue.waiting, (pending) => pending.isAnswered)
}
