/**
 * A card processor in our words. Two stand behind it: Stripe and the sandbox; `test/cards/contract-suite.ts` says what both must do.
 *
 * A refusal is a returned value: the processor understood and said no, and asking again changes nothing. A fault is a
 * `ProcessorUnavailable` thrown: nobody knows whether the request took effect, and asking again with the same
 * idempotency key is safe.
 */
export type CardProcessor = {
  readonly page: ProcessorPage
  /** The same key and the same order name the same payment, however often and however concurrently they are sent. */
  createPayment(order: PaymentOrder): Promise<Payment | Refusal>
  /** The whole truth about a payment as the processor tells it now: this, never a webhook, decides about money. */
  retrievePayment(id: string): Promise<Payment | undefined>
  refundPayment(order: RefundOrder): Promise<Refund | Refusal>
  /** Cancelling twice is harmless. A payment that has taken money, or may be about to, is `not-cancellable`. */
  cancelPayment(id: string): Promise<Payment | Refusal>
  /** The bookings in our account at the processor, a page at a time; for reconciliation, which waits for nobody. */
  listLines(span: LineSpan): Promise<LinePage>
  /** Checks the signature over the body exactly as it arrived; a body that was parsed and written again does not pass. */
  parseWebhook(rawBody: string | Uint8Array, headers: Headers, now: Date): Promise<WebhookReading>
}

/** What the top-up page needs to show the processor's card form, and the sources its content security policy must allow. */
export type ProcessorPage = {
  readonly kind: 'stripe' | 'sandbox'
  readonly publishableKey: string
  /** The processor's own script; the sandbox has none, its card form is a plain page. */
  readonly scriptUrl: string | undefined
  readonly scriptSources: readonly string[]
  readonly frameSources: readonly string[]
  readonly connectSources: readonly string[]
}

/** How many decimals the minor unit of a currency has on our side, by ISO 4217. */
export type CurrencyDecimals = (currency: string) => number

export type PaymentOrder = {
  readonly topupId: string
  readonly userId: string
  readonly amountMinor: bigint
  /** ISO 4217, upper case. */
  readonly currency: string
  readonly description: string
  readonly idempotencyKey: string
}

export type RefundOrder = {
  readonly paymentIntentId: string
  readonly amountMinor: bigint
  readonly idempotencyKey: string
}

/**
 * A declined card leaves a payment in `requires_payment_method` with a `declineCode`, because the payer may try another card
 * on the same payment and succeed; so a decline is no end. `succeeded`, `failed` and `cancelled` are ends. Stripe never says
 * `failed`; the sandbox does.
 */
export type PaymentStatus =
  | 'requires_payment_method'
  | 'requires_action'
  | 'processing'
  | 'succeeded'
  | 'failed'
  | 'cancelled'

export type DisputeState = 'none' | 'open' | 'won' | 'lost'

export type Payment = {
  readonly id: string
  readonly clientSecret: string
  readonly status: PaymentStatus
  readonly amountMinor: bigint
  /** What the payer was really charged: nothing until the payment succeeded. */
  readonly amountReceivedMinor: bigint
  readonly currency: string
  readonly refundedMinor: bigint
  readonly disputed: DisputeState
  /** What disputes hold back from us right now. With `refundedMinor` it never exceeds `amountReceivedMinor`. */
  readonly disputedMinor: bigint
  readonly declineCode: string | undefined
  readonly declineMessage: string | undefined
  readonly nextAction: NextAction | undefined
  /** Both come from what we told the processor; absent on a payment that somebody else made in the same account. */
  readonly userId: string | undefined
  readonly topupId: string | undefined
}

/** `script`: the processor's script in the page handles it. `redirect`: send the payer there; it may be relative to our own origin. */
export type NextAction = { readonly kind: 'redirect'; readonly url: string } | { readonly kind: 'script' }

export type Refund = {
  readonly id: string
  readonly paymentIntentId: string
  readonly amountMinor: bigint
  readonly status: 'pending' | 'succeeded' | 'failed' | 'cancelled'
}

export type RefusalCode =
  | 'amount-unsupported'
  | 'exceeds-refundable'
  | 'key-conflict'
  | 'not-cancellable'
  | 'not-refundable'
  | 'payment-unknown'

export type Refusal = { readonly refused: RefusalCode; readonly message: string }

export const lineKinds = ['charge', 'refund', 'dispute', 'fee', 'payout', 'other'] as const
export type LineKind = (typeof lineKinds)[number]

/**
 * One booking in the processor's account. The amount is signed as that account moves, before fees: a charge is above zero, a
 * refund below, and one that failed above again. Of fees, payouts and the rest that are not in `currency`, it is zero.
 */
export type AccountLine = {
  readonly id: string
  readonly kind: LineKind
  readonly paymentIntentId: string | null
  /** False when the processor knows that the payment was not made by this service. */
  readonly isOurs: boolean
  readonly amountMinor: bigint
  /** What the processor kept of it. */
  readonly feeMinor: bigint
  readonly createdAt: Date
}

export type LineSpan = {
  readonly from: Date
  readonly until: Date
  /** The ledger's, in which amounts are wanted. */
  readonly currency: string
  /** Of the page before. */
  readonly after: string | undefined
}

/** `next` leads to the next page; undefined on the last. */
export type LinePage = { readonly lines: readonly AccountLine[]; readonly next: string | undefined }

/** An event only says "look at this payment": whoever gets one retrieves the payment and believes that. */
export type ProcessorEvent = { readonly id: string; readonly type: string; readonly paymentIntentId: string }

/** `ignored` is genuine and not about a payment of ours: answer 200, or the processor sends it again for days. */
export type WebhookReading = ProcessorEvent | 'ignored' | 'invalid-signature' | 'malformed'

export type UnavailableReason = 'network' | 'timeout' | 'server' | 'busy' | 'credentials'

/** The processor could not be asked. It may still have done what it was asked to do. */
export class ProcessorUnavailable extends Error {
  readonly reason: UnavailableReason
  constructor(reason: UnavailableReason, detail: string) {
    super(`card processor unavailable (${reason}): ${detail}`)
    this.name = 'ProcessorUnavailable'
    this.reason = reason
  }
}

export function isRefusal(answer: Payment | Refund | Refusal): answer is Refusal {
  return 'refused' in answer
}

export function refuse(refused: RefusalCode, message: string): Refusal {
  return { refused, message }
}

/** What can still be given back by a refund: what came in, less what already went back or is held by a dispute. */
export function refundableMinor(
  payment: Pick<Payment, 'amountReceivedMinor' | 'refundedMinor' | 'disputedMinor'>,
): bigint {
  return payment.amountReceivedMinor - payment.refundedMinor - payment.disputedMinor
}
