/**
 * The interface of a card processor. Stripe and the sandbox implement it; `test/cards/contract-suite.ts` tests both.
 *
 * A refusal is a returned value: the processor answered no, and a retry changes nothing. A fault is a thrown
 * `ProcessorUnavailable`: it is unknown whether the request took effect, and a retry with the same idempotency key is safe.
 */
export type CardProcessor = {
  readonly page: ProcessorPage
  /** The same key and order return the same payment, for any number of sequential or concurrent calls. */
  createPayment(order: PaymentOrder): Promise<Payment | Refusal>
  /** The current state of a payment. Only this decides about money, never a webhook. */
  retrievePayment(id: string): Promise<Payment | undefined>
  /** A payment that has taken money, or may be about to, is `not-changeable`. The same key and amount have one effect. */
  changeAmount(order: AmountOrder): Promise<Payment | Refusal>
  refundPayment(order: RefundOrder): Promise<Refund | Refusal>
  /** Cancelling twice is harmless. A payment that has taken money, or may be about to, is `not-cancellable`. */
  cancelPayment(id: string): Promise<Payment | Refusal>
  /** Lists the lines of our account at the processor, page by page, for reconciliation. */
  listLines(span: LineSpan): Promise<LinePage>
  /** Checks the signature over the raw body; a body that was parsed and serialized again does not pass. */
  parseWebhook(rawBody: string | Uint8Array, headers: Headers, now: Date): Promise<WebhookReading>
}

/** What the top-up page needs to show the processor's card form, and the sources for its content security policy. */
export type ProcessorPage = {
  readonly kind: 'stripe' | 'sandbox'
  readonly publishableKey: string
  /** The sandbox has none: its card form is a plain page. */
  readonly scriptUrl: string | undefined
  readonly scriptSources: readonly string[]
  readonly frameSources: readonly string[]
  readonly connectSources: readonly string[]
}

/** The decimals of a currency by ISO 4217. */
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

export type AmountOrder = {
  readonly paymentIntentId: string
  readonly amountMinor: bigint
  /** ISO 4217, upper case: the currency of the payment, which does not change. */
  readonly currency: string
  readonly idempotencyKey: string
}

export type RefundOrder = {
  readonly paymentIntentId: string
  readonly amountMinor: bigint
  readonly idempotencyKey: string
}

/**
 * A declined card leaves a payment in `requires_payment_method` with a `declineCode`, because the payer may use another card
 * on the same payment; so a decline is not final. `succeeded`, `failed` and `cancelled` are final. Only the sandbox reports
 * `failed`.
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
  /** What the payer was charged: zero until the payment succeeded. */
  readonly amountReceivedMinor: bigint
  readonly currency: string
  readonly refundedMinor: bigint
  readonly disputed: DisputeState
  /** What disputes hold back now. Together with `refundedMinor` it never exceeds `amountReceivedMinor`. */
  readonly disputedMinor: bigint
  readonly declineCode: string | undefined
  readonly declineMessage: string | undefined
  readonly nextAction: NextAction | undefined
  /** Both come from the metadata of our order; absent on payments of other software in the same account. */
  readonly userId: string | undefined
  readonly topupId: string | undefined
}

/** `script`: the processor's script in the page handles it. `redirect`: send the payer to the URL, which may be relative to our origin. */
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
  | 'not-changeable'
  | 'not-refundable'
  | 'payment-unknown'

export type Refusal = { readonly refused: RefusalCode; readonly message: string }

export const lineKinds = ['charge', 'refund', 'dispute', 'fee', 'payout', 'other'] as const
export type LineKind = (typeof lineKinds)[number]

/**
 * One booking in the processor's account. The amount has the sign of the account's movement, before fees: a charge is positive,
 * a refund negative, a failed refund positive. Fees, payouts and other lines that are not in `currency` have zero.
 */
export type AccountLine = {
  readonly id: string
  readonly kind: LineKind
  readonly paymentIntentId: string | null
  /** False when the payment was made by other software in the same account. */
  readonly isOurs: boolean
  readonly amountMinor: bigint
  /** What the processor kept as its fee. */
  readonly feeMinor: bigint
  readonly createdAt: Date
}

export type LineSpan = {
  readonly from: Date
  readonly until: Date
  /** The ledger's currency, in which amounts are returned. */
  readonly currency: string
  /** `next` of the previous page. */
  readonly after: string | undefined
}

/** `next` is undefined on the last page. */
export type LinePage = { readonly lines: readonly AccountLine[]; readonly next: string | undefined }

/** An event only names a payment: the receiver retrieves the payment and uses that state. */
export type ProcessorEvent = { readonly id: string; readonly type: string; readonly paymentIntentId: string }

/** `ignored` is genuine and not about one of our payments: answer 200, or the processor repeats it for days. */
export type WebhookReading = ProcessorEvent | 'ignored' | 'invalid-signature' | 'malformed'

export type UnavailableReason = 'network' | 'timeout' | 'server' | 'busy' | 'credentials'

/** The processor did not answer. The request may still have taken effect. */
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

/** What can still be refunded: received minus refunded minus held by disputes. */
export function refundableMinor(
  payment: Pick<Payment, 'amountReceivedMinor' | 'refundedMinor' | 'disputedMinor'>,
): bigint {
  return payment.amountReceivedMinor - payment.refundedMinor - payment.disputedMinor
}
