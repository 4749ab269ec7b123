/** What a payment at the processor means for its top-up. Pure: no clock, no database, no processor. */
import type { Payment } from '../../cards/processor.ts'
import type { Topup, TopupChanges, TopupFailure, TopupState } from '../../store/topups.ts'

type PlannedMovement = { readonly referenceType: MovementType; readonly amountMinor: bigint }

/** TOPUP once for each payment; the others as often as the processor's totals change. */
export type MovementType =
  | 'TOPUP'
  | 'TOPUP_REFUND'
  | 'TOPUP_REFUND_RETURNED'
  | 'TOPUP_DISPUTE'
  | 'TOPUP_DISPUTE_RETURNED'

export const movementTexts: Record<MovementType, string> = {
  TOPUP: 'Card top-up',
  TOPUP_REFUND: 'Card top-up refunded',
  TOPUP_REFUND_RETURNED: 'Refund of a card top-up returned',
  TOPUP_DISPUTE: 'Card top-up disputed',
  TOPUP_DISPUTE_RETURNED: 'Disputed card top-up given back',
}

/** The processor's event that led here. Each event counts once. */
export type Reported = { readonly isNew: boolean; readonly isDecline: boolean }

export type Reading = {
  readonly changes: TopupChanges
  readonly movements: readonly PlannedMovement[]
  /** True after a change: a further one is likely, so the back-off starts again. */
  readonly isChanged: boolean
}

/** Only a payment that matches the order in every field is credited. */
function isSameOrder(topup: Topup, payment: Payment, ledgerCurrency: string): boolean {
  return (
    payment.topupId === topup.id &&
    payment.userId === topup.userId &&
    payment.amountMinor === amountOf(topup, payment) &&
    payment.currency === topup.currency &&
    topup.currency === ledgerCurrency &&
    (payment.status !== 'succeeded' || payment.amountReceivedMinor === payment.amountMinor)
  )
}

/** The processor decides which of the two ordered amounts the payment has. */
function amountOf(topup: Topup, payment: Payment): bigint {
  return payment.amountMinor === topup.nextAmountMinor ? topup.nextAmountMinor : topup.amountMinor
}

/** The change of the amount may still arrive as long as the payment is open and has the former amount. */
function nextAmountOf(topup: Topup, payment: Payment): bigint | null {
  const isWaiting = stateOf(payment) === 'created' && payment.amountMinor !== topup.nextAmountMinor
  return isWaiting ? topup.nextAmountMinor : null
}

/** True when the payer has not tried to pay yet, as far as the processor knows. */
export function isUntried({ topup, payment }: { topup: Topup; payment: Payment | undefined }): boolean {
  return topup.failure === null && topup.declinesSeen === 0 && payment?.status === 'requires_payment_method'
}

const authenticationCodes = ['authentication_required', 'payment_intent_authentication_failure']

function failureOf(topup: Topup, { status, declineCode }: Payment): TopupFailure | null {
  if (status === 'processing' || status === 'succeeded') return null
  if (status === 'failed') return 'failed'
  if (status === 'requires_action') return 'unconfirmed'
  if (declineCode !== undefined) return authenticationCodes.includes(declineCode) ? 'authentication' : 'declined'
  return topup.failure
}

export function readPayment(
  topup: Topup,
  payment: Payment,
  { at, reported, ledgerCurrency }: { at: Date; reported?: Reported | undefined; ledgerCurrency: string },
): Reading {
  const isOrdered = isSameOrder(topup, payment, ledgerCurrency)
  const hasMoney = payment.amountReceivedMinor > 0n
  const problem = topup.problem ?? (!isOrdered && hasMoney ? 'mismatch' : null)
  const state = problem === 'mismatch' ? 'processing' : stateOf(payment)
  const totals = problem === null ? totalsOf(topup, payment) : keptTotals(topup)
  const isDeclined = payment.declineCode !== undefined
  const isSeen = isDeclined && topup.declineCode !== payment.declineCode
  const isReported = isDeclined && reported !== undefined && reported.isNew && reported.isDecline
  const changes = {
    ...totals,
    state,
    amountMinor: amountOf(topup, payment),
    nextAmountMinor: nextAmountOf(topup, payment),
    failure: failureOf(topup, payment),
    dispute: payment.disputed,
    declineCode: payment.declineCode ?? null,
    declinesSeen: topup.declinesSeen + (isSeen ? 1 : 0),
    declinesReported: topup.declinesReported + (isReported ? 1 : 0),
    declinedAt: isSeen || isReported ? at : topup.declinedAt,
    problem,
    updatedAt: at,
  }
  return { changes, movements: movementsBetween(topup, totals), isChanged: hasChanges(topup, changes) }
}

/** A declined card does not end a payment: the payer may try another card. */
function stateOf({ status }: Payment): TopupState {
  return status === 'requires_payment_method' || status === 'requires_action' ? 'created' : status
}

type Totals = Pick<Topup, 'creditedMinor' | 'refundedMinor' | 'disputedMinor'>

function totalsOf(topup: Topup, payment: Payment): Totals {
  if (payment.status !== 'succeeded') return keptTotals(topup)
  return {
    creditedMinor: payment.amountReceivedMinor,
    refundedMinor: payment.refundedMinor,
    disputedMinor: payment.disputedMinor,
  }
}

function keptTotals({ creditedMinor, refundedMinor, disputedMinor }: Topup): Totals {
  return { creditedMinor, refundedMinor, disputedMinor }
}

/** Credits come before debits, so that no wallet falls below zero without need. */
function movementsBetween(before: Totals, after: Totals): PlannedMovement[] {
  const refunded = after.refundedMinor - before.refundedMinor
  const disputed = after.disputedMinor - before.disputedMinor
  const movements: PlannedMovement[] = [
    { referenceType: 'TOPUP', amountMinor: after.creditedMinor - before.creditedMinor },
    { referenceType: refunded < 0n ? 'TOPUP_REFUND_RETURNED' : 'TOPUP_REFUND', amountMinor: -refunded },
    { referenceType: disputed < 0n ? 'TOPUP_DISPUTE_RETURNED' : 'TOPUP_DISPUTE', amountMinor: -disputed },
  ]
  return movements
    .filter(({ amountMinor }) => amountMinor !== 0n)
    .sort((a, b) => Number(b.amountMinor > 0n) - Number(a.amountMinor > 0n))
}

function hasChanges(before: Topup, after: TopupChanges): boolean {
  const fields = ['state', 'refundedMinor', 'disputedMinor', 'dispute', 'declineCode', 'problem'] as const
  return fields.some((field) => before[field] !== after[field])
}

/** The totals can change often; the number of the movement makes each change's reference unique. */
export function referenceIdOf(type: MovementType, paymentIntentId: string, number: number): string {
  return type === 'TOPUP' ? paymentIntentId : `${paymentIntentId}:${number}`
}

const secondMs = 1_000
const hourMs = 3_600_000
const dayMs = 24 * hourMs

/**
 * When to ask again if no webhook arrives. Before the end of a payment the payer waits for the money. After it, the webhook of a
 * refund or dispute may be lost, so attempts continue for half a year, ever more rarely. `attempts`: in a row without a change.
 */
export function nextAttemptAt(
  { state, dispute, expiresAt }: Pick<Topup, 'state' | 'dispute' | 'expiresAt'>,
  attempts: number,
  now: Date,
): Date | null {
  const after = (ms: number) => new Date(now.getTime() + ms)
  if (state === 'failed' || state === 'cancelled') return null
  if (state === 'processing') return after(doubling(30 * secondMs, attempts, 6 * hourMs))
  if (state === 'created') {
    const next = after(doubling(30 * secondMs, attempts, hourMs))
    // The last attempt before expiresAt is at expiresAt itself, so that an unpaid payment is cancelled on time.
    return next > expiresAt && expiresAt > now ? expiresAt : next
  }
  if (dispute === 'open') return after(doubling(hourMs, attempts, dayMs))
  return attempts > 11 ? null : after(doubling(hourMs, attempts, 90 * dayMs))
}

function doubling(firstMs: number, times: number, longestMs: number): number {
  return Math.min(firstMs * 2 ** Math.min(times, 30), longestMs)
}
