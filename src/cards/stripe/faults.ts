import { Stripe } from 'stripe'
import { ProcessorUnavailable, refuse, type Refusal } from '../processor.ts'

/**
 * Turns an error of the SDK into a returned refusal or a thrown fault. The message of a fault contains only the kind of error and
 * Stripe's request id, because errors of the SDK contain headers and bodies.
 */
export function refusalOrFault(error: unknown, asked: 'create' | 'change' | 'refund' | 'cancel'): Refusal {
  if (error instanceof Stripe.errors.StripeIdempotencyError) {
    return refuse('key-conflict', 'This idempotency key was used for a different request.')
  }
  if (error instanceof Stripe.errors.StripeInvalidRequestError) {
    const refusal = commonRefusal(error) ?? (asked === 'refund' ? refundRefusal(error) : undefined)
    if (refusal) return refusal
  }
  throw faultOf(error)
}

export function isUnknownPayment(error: unknown): boolean {
  return error instanceof Stripe.errors.StripeInvalidRequestError && error.code === 'resource_missing'
}

function commonRefusal(error: Stripe.errors.StripeInvalidRequestError): Refusal | undefined {
  switch (error.code) {
    case 'resource_missing':
      return refuse('payment-unknown', 'The card processor does not know this payment.')
    case 'amount_too_small':
    case 'amount_too_large':
    case 'invalid_charge_amount':
      return refuse('amount-unsupported', error.message)
    case undefined:
    default:
      return undefined
  }
}

/** Stripe has no code for a refund above the rest of a charge: it only names the parameter `amount`. */
function refundRefusal(error: Stripe.errors.StripeInvalidRequestError): Refusal | undefined {
  switch (error.code) {
    case 'charge_already_refunded':
      return refuse('exceeds-refundable', 'This payment has already been refunded.')
    case 'charge_disputed':
    case 'charge_not_refundable':
    case 'refund_disputed_payment':
    case 'payment_intent_unexpected_state':
      return refuse('not-refundable', error.message)
    case undefined:
      return refuse(error.param === 'amount' ? 'exceeds-refundable' : 'not-refundable', error.message)
    default:
      return undefined
  }
}

export function faultOf(error: unknown): unknown {
  if (!(error instanceof Stripe.errors.StripeError)) return error
  const detail = [error.type, error.code, error.param, error.requestId].filter(Boolean).join(' ')
  if (error instanceof Stripe.errors.StripeConnectionError) {
    return new ProcessorUnavailable(error.message.includes('timeout') ? 'timeout' : 'network', detail)
  }
  if (error instanceof Stripe.errors.StripeAPIError) {
    return new ProcessorUnavailable(error.statusCode === 409 ? 'busy' : 'server', detail)
  }
  if (error instanceof Stripe.errors.StripeRateLimitError) return new ProcessorUnavailable('busy', detail)
  if (
    error instanceof Stripe.errors.StripeAuthenticationError ||
    error instanceof Stripe.errors.StripePermissionError
  ) {
    return new ProcessorUnavailable('credentials', detail)
  }
  return new Error(`Stripe refused a request that should not have been sent: ${detail}`)
}
