import type { Stripe } from 'stripe'
import type { CurrencyDecimals, DisputeState, NextAction, Payment, PaymentStatus, Refund } from '../processor.ts'
import { fromStripeAmount } from './amounts.ts'

/**
 * Uses `charge.amount_refunded`, Stripe's running total, which falls again when a refund fails: it comes in the same read as the
 * intent, while a list of refunds would be a second read that can disagree with the first. A succeeded intent's latest
 * charge took the money; earlier ones are declined attempts.
 */
export function paymentOf(
  intent: Stripe.PaymentIntent,
  disputes: readonly Stripe.Dispute[],
  decimalsOf: CurrencyDecimals,
): Payment {
  const currency = intent.currency.toUpperCase()
  const minor = (amount: number) => fromStripeAmount(amount, currency, decimalsOf)
  const charge = chargeOf(intent)
  const refunded = charge?.amount_refunded ?? 0
  const attemptFailed = intent.status === 'requires_payment_method' ? intent.last_payment_error : null
  return {
    id: intent.id,
    clientSecret: intent.client_secret ?? '',
    status: statusOf(intent.status),
    amountMinor: minor(intent.amount),
    amountReceivedMinor: minor(intent.amount_received),
    currency,
    refundedMinor: minor(refunded),
    disputed: disputeStateOf(disputes),
    disputedMinor: minor(Math.min(heldByDisputes(disputes), intent.amount_received - refunded)),
    declineCode: attemptFailed ? (attemptFailed.decline_code ?? attemptFailed.code) : undefined,
    declineMessage: attemptFailed?.message,
    nextAction: nextActionOf(intent),
    userId: intent.metadata['user_id'],
    topupId: intent.metadata['topup_id'],
  }
}

export function chargeOf(intent: Stripe.PaymentIntent): Stripe.Charge | undefined {
  const charge = intent.latest_charge
  if (typeof charge === 'string') throw new Error('the latest charge of a payment must be expanded when it is read')
  return charge ?? undefined
}

/** An unknown status counts as processing: the payment is checked again and never taken as final. */
function statusOf(status: Stripe.PaymentIntent.Status): PaymentStatus {
  switch (status) {
    case 'requires_payment_method':
    case 'requires_confirmation':
      return 'requires_payment_method'
    case 'requires_action':
      return 'requires_action'
    case 'succeeded':
      return 'succeeded'
    case 'canceled':
      return 'cancelled'
    case 'processing':
    case 'requires_capture':
    default:
      return 'processing'
  }
}

function nextActionOf(intent: Stripe.PaymentIntent): NextAction | undefined {
  if (intent.status !== 'requires_action' || !intent.next_action) return undefined
  const url = intent.next_action.redirect_to_url?.url
  return url ? { kind: 'redirect', url } : { kind: 'script' }
}

/**
 * The balance transactions of a dispute show whether it holds our money (withdrawn, perhaps reinstated), not its status: an
 * inquiry (`warning_…`) and a dispute of a refunded payment take nothing, and some networks withdraw late. A won dispute holds
 * nothing, even before the money is booked back. Exchange rates can make a disputed amount exceed the charge, so the
 * caller caps it: a wallet never gives back more than it received.
 */
function heldByDisputes(disputes: readonly Stripe.Dispute[]): number {
  return disputes.reduce((sum, dispute) => sum + (holdsMoney(dispute) ? dispute.amount : 0), 0)
}

function holdsMoney(dispute: Stripe.Dispute): boolean {
  const booked = dispute.balance_transactions.reduce((sum, transaction) => sum + transaction.amount, 0)
  return dispute.status !== 'won' && booked < 0
}

function disputeStateOf(disputes: readonly Stripe.Dispute[]): DisputeState {
  const states = new Set(disputes.map(stateOfOne))
  return (['open', 'lost', 'won'] as const).find((state) => states.has(state)) ?? 'none'
}

function stateOfOne(dispute: Stripe.Dispute): DisputeState {
  switch (dispute.status) {
    case 'won':
      return 'won'
    case 'lost':
      return 'lost'
    case 'warning_needs_response':
    case 'warning_under_review':
    case 'warning_closed':
      return 'none'
    case 'prevented':
      return holdsMoney(dispute) ? 'lost' : 'none'
    case 'needs_response':
    case 'under_review':
    case 'appeal_needs_response':
    case 'appeal_under_review':
    default:
      return 'open'
  }
}

export function refundOf(refund: Stripe.Refund, paymentIntentId: string, decimalsOf: CurrencyDecimals): Refund {
  return {
    id: refund.id,
    paymentIntentId,
    amountMinor: fromStripeAmount(refund.amount, refund.currency.toUpperCase(), decimalsOf),
    status: refundStatusOf(refund.status),
  }
}

function refundStatusOf(status: string | null): Refund['status'] {
  if (status === 'succeeded' || status === 'failed') return status
  return status === 'canceled' ? 'cancelled' : 'pending'
}
