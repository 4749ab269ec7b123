import { Stripe } from 'stripe'
import {
  refuse,
  type AmountOrder,
  type CardProcessor,
  type CurrencyDecimals,
  type Payment,
  type PaymentOrder,
  type ProcessorPage,
  type Refund,
  type RefundOrder,
  type Refusal,
  type WebhookReading,
} from '../processor.ts'
import { listLines } from './account-lines.ts'
import { toStripeAmount } from './amounts.ts'
import { faultOf, isUnknownPayment, refusalOrFault } from './faults.ts'
import { chargeOf, paymentOf, refundOf } from './payments.ts'

/** The SDK's types describe exactly this version; an account's default version may differ. */
export const stripeApiVersion = '2026-10-28.endive'

const toleranceSeconds = 300

export type StripeSettings = {
  readonly secretKey: string
  readonly publishableKey: string
  readonly webhookSecret: string
  readonly decimalsOf: CurrencyDecimals
  /** Replaces Stripe's address in tests. */
  readonly api?: { readonly protocol: 'http' | 'https'; readonly host: string; readonly port: number }
  /** Limit of one call, including its retry. */
  readonly timeoutMs?: number
}

export function createStripeProcessor(settings: StripeSettings): CardProcessor {
  const stripe = openStripe(settings)
  return {
    page: pageFor(settings.publishableKey),
    createPayment: (order) => createPayment(stripe, settings, order),
    retrievePayment: (id) => retrievePayment(stripe, settings, id),
    changeAmount: (order) => changeAmount(stripe, settings, order),
    refundPayment: (order) => refundPayment(stripe, settings, order),
    cancelPayment: (id) => cancelPayment(stripe, settings, id),
    listLines: (span) => listLines(stripe, span, settings.decimalsOf),
    parseWebhook: (rawBody, headers, now) => parseWebhook(stripe, settings.webhookSecret, rawBody, headers, now),
  }
}

/**
 * One retry. Both attempts and the SDK's pause of half a second between them end within `timeoutMs`, because a browser waits for
 * the answer. The SDK sends the retry with the same idempotency key.
 */
export function openStripe(settings: StripeSettings): Stripe {
  const timeoutMs = settings.timeoutMs ?? 8_000
  return new Stripe(settings.secretKey, {
    apiVersion: stripeApiVersion,
    httpClient: Stripe.createFetchHttpClient(),
    timeout: Math.max(1, Math.floor((timeoutMs - 600) / 2)),
    maxNetworkRetries: 1,
    telemetry: false,
    appInfo: { name: 'Billfold' },
    ...settings.api,
  })
}

/** Sources for Stripe.js from https://docs.stripe.com/security/guide#content-security-policy. */
function pageFor(publishableKey: string): ProcessorPage {
  const scripts = ['https://js.stripe.com', 'https://*.js.stripe.com']
  return {
    kind: 'stripe',
    publishableKey,
    // A named release of Stripe.js uses the API version of that name, so both must change together.
    scriptUrl: `https://js.stripe.com/${stripeApiVersion.split('.')[1]}/stripe.js`,
    scriptSources: scripts,
    frameSources: [...scripts, 'https://hooks.stripe.com'],
    connectSources: ['https://api.stripe.com'],
  }
}

async function createPayment(
  stripe: Stripe,
  { decimalsOf }: StripeSettings,
  order: PaymentOrder,
): Promise<Payment | Refusal> {
  const amount = toStripeAmount(order.amountMinor, order.currency, decimalsOf)
  if (typeof amount !== 'number') return amount
  try {
    const intent = await stripe.paymentIntents.create(
      {
        amount,
        currency: order.currency.toLowerCase(),
        description: order.description,
        automatic_payment_methods: { enabled: true },
        metadata: { topup_id: order.topupId, user_id: order.userId },
        expand: ['latest_charge'],
      },
      { idempotencyKey: order.idempotencyKey },
    )
    return paymentOf(intent, [], decimalsOf)
  } catch (error) {
    return refusalOrFault(error, 'create')
  }
}

/**
 * A charge only has a flag that it was disputed, not how much is held or how it ended, so the disputes are read too. If Stripe
 * cleared that flag after a won dispute, the held amount, zero, would still be right.
 */
async function retrievePayment(
  stripe: Stripe,
  { decimalsOf }: StripeSettings,
  id: string,
): Promise<Payment | undefined> {
  if (!isIntentId(id)) return undefined
  try {
    const intent = await stripe.paymentIntents.retrieve(id, { expand: ['latest_charge'] })
    return paymentOf(intent, await listDisputes(stripe, intent), decimalsOf)
  } catch (error) {
    if (isUnknownPayment(error)) return undefined
    throw faultOf(error)
  }
}

async function listDisputes(stripe: Stripe, intent: Stripe.PaymentIntent): Promise<Stripe.Dispute[]> {
  if (!chargeOf(intent)?.disputed) return []
  const page = await stripe.disputes.list({ payment_intent: intent.id, limit: 100 })
  return page.data
}

/** Stripe itself refuses to change a payment that is processing, paid or cancelled, so a payer who pays meanwhile pays one of both amounts. */
async function changeAmount(
  stripe: Stripe,
  { decimalsOf }: StripeSettings,
  order: AmountOrder,
): Promise<Payment | Refusal> {
  if (!isIntentId(order.paymentIntentId)) return unknownPayment
  const amount = toStripeAmount(order.amountMinor, order.currency, decimalsOf)
  if (typeof amount !== 'number') return amount
  try {
    const intent = await stripe.paymentIntents.update(
      order.paymentIntentId,
      { amount, expand: ['latest_charge'] },
      { idempotencyKey: order.idempotencyKey },
    )
    return paymentOf(intent, [], decimalsOf)
  } catch (error) {
    if (!isWrongState(error)) return refusalOrFault(error, 'change')
    return refuse('not-changeable', 'The payment is being paid, or has ended.')
  }
}

/** Stripe itself refuses to refund more than is left, so two refunds at once cannot exceed the payment. */
async function refundPayment(
  stripe: Stripe,
  { decimalsOf }: StripeSettings,
  order: RefundOrder,
): Promise<Refund | Refusal> {
  if (!isIntentId(order.paymentIntentId)) return unknownPayment
  try {
    const { currency } = await stripe.paymentIntents.retrieve(order.paymentIntentId)
    const amount = toStripeAmount(order.amountMinor, currency.toUpperCase(), decimalsOf)
    if (typeof amount !== 'number') return amount
    const refund = await stripe.refunds.create(
      { payment_intent: order.paymentIntentId, amount },
      { idempotencyKey: order.idempotencyKey },
    )
    return refundOf(refund, order.paymentIntentId, decimalsOf)
  } catch (error) {
    return refusalOrFault(error, 'refund')
  }
}

async function cancelPayment(stripe: Stripe, settings: StripeSettings, id: string): Promise<Payment | Refusal> {
  if (!isIntentId(id)) return unknownPayment
  try {
    const intent = await stripe.paymentIntents.cancel(id, { expand: ['latest_charge'] })
    return paymentOf(intent, [], settings.decimalsOf)
  } catch (error) {
    if (!isWrongState(error)) return refusalOrFault(error, 'cancel')
  }
  const payment = await retrievePayment(stripe, settings, id)
  if (payment?.status === 'cancelled') return payment
  return refuse('not-cancellable', `A payment that is ${payment?.status} cannot be cancelled.`)
}

function isWrongState(error: unknown): boolean {
  return error instanceof Stripe.errors.StripeInvalidRequestError && error.code === 'payment_intent_unexpected_state'
}

async function parseWebhook(
  stripe: Stripe,
  secret: string,
  rawBody: string | Uint8Array,
  headers: Headers,
  now: Date,
): Promise<WebhookReading> {
  const signature = headers.get('stripe-signature') ?? ''
  const body = typeof rawBody === 'string' ? rawBody : Buffer.from(rawBody)
  try {
    const { webhooks } = stripe
    return readEvent(
      await webhooks.constructEventAsync(body, signature, secret, toleranceSeconds, undefined, now.getTime()),
    )
  } catch (error) {
    if (error instanceof Stripe.errors.StripeSignatureVerificationError) return 'invalid-signature'
    // The signature is checked before the body is parsed: any other error is a signed body that is not an event.
    return 'malformed'
  }
}

const aboutPayment = /^payment_intent\.(succeeded|payment_failed|processing|requires_action|canceled)$/
const aboutCharge = /^(charge\.refunded|charge\.refund\.updated|charge\.dispute\..+|refund\..+)$/

/** The SDK does not check the shape of an event: a signed `null` would pass. */
function readEvent(event: unknown): WebhookReading {
  const { id, type, data } = (event ?? {}) as { id?: unknown; type?: unknown; data?: { object?: unknown } }
  if (typeof id !== 'string' || typeof type !== 'string') return 'malformed'
  const subject = (data?.object ?? {}) as { id?: unknown; payment_intent?: unknown }
  const paymentIntentId = aboutPayment.test(type) ? subject.id : aboutCharge.test(type) && subject.payment_intent
  return typeof paymentIntentId === 'string' ? { id, type, paymentIntentId } : 'ignored'
}

const unknownPayment = refuse('payment-unknown', 'The card processor does not know this payment.')

/** The id may come from a browser and becomes part of a path. */
function isIntentId(id: string): boolean {
  return /^pi_[A-Za-z0-9_]{1,250}$/.test(id)
}
