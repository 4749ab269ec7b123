/** Card top-ups, for the hosted top-up page. */
import { isArchived } from '../store/closing/archived-entries.ts'
import { z } from 'zod'
import { confirmTopup, type ConfirmedTopup, type OpenPayment } from '../actions/topups/confirm-topup.ts'
import { cancelTopup } from '../actions/topups/cancel-topup.ts'
import { createTopup } from '../actions/topups/create-topup.ts'
import type { Service } from '../actions/service.ts'
import { formatMinor, majorNumber, parseAmount } from '../ledger/money.ts'
import { isLabel } from '../ledger/reference.ts'
import { toTransaction } from '../actions/money/transaction.ts'
import { answer, refuse, refuseFor, type Answer } from './reply.ts'
import type { Route } from './route.ts'
import * as shape from './shapes.ts'
import { sessionRoute } from './widget-session-route.ts'

const topupErrors = ['RATE_LIMITED', 'PROCESSOR_UNAVAILABLE'] as const

const statuses = [
  'requires_payment_method',
  'requires_action',
  'processing',
  'succeeded',
  'failed',
  'cancelled',
] as const

const exampleId = 'pi_sandbox_0123456789abcdef0123456789abcdef'

const paymentId = z
  .string('must be text')
  .min(1, 'must be text')
  .max(255, 'must have at most 255 characters')
  .refine((text) => isLabel(text, 255), 'must be text without control characters')

const createdIntent = z
  .object({
    paymentIntentId: z.string(),
    clientSecret: z.string().describe('The secret of this payment, for the card processor’s form'),
    amount: shape.money,
    currency: shape.currencyCode,
    status: z.enum(statuses),
    publishableKey: z.string(),
    expiresAt: shape.timestamp.describe('When the payment is cancelled if it is still unpaid'),
  })
  .meta({ id: 'TopupIntent' })

const topupState = z
  .object({
    status: z.enum(statuses),
    balance: shape.money.describe(
      'The balance after the credit once it is in the ledger; until then the current balance',
    ),
    available: shape.available,
    held: shape.held,
    transaction: shape.transaction
      .optional()
      .describe('The credit, once it is in the ledger, and until it is archived'),
    message: z.string(),
    nextAction: z
      .union([z.object({ kind: z.literal('redirect'), url: z.string() }), z.object({ kind: z.literal('script') })])
      .optional()
      .describe('With requires_action: what the payer still has to do'),
    intent: createdIntent.optional().describe('The payment while it can still be paid, for a page that was reloaded'),
  })
  .meta({ id: 'TopupState' })

const unavailable = refuse('PROCESSOR_UNAVAILABLE', {}, { 'retry-after': '10' })

export function topupRoutes(service: Service): Route[] {
  return [createIntentRoute(service), confirmRoute(service), cancelRoute(service)]
}

function createIntentRoute(service: Service): Route {
  const { currency, topup } = service.config
  const schema = z.object({
    amount: shape.amount(currency),
    replaces: paymentId
      .nullable()
      .optional()
      .describe(
        'The page’s own open payment, or null. With this field the user has one open payment in this app: the amount of the named payment changes if the payer has not tried to pay it; every other open payment is cancelled. A payment that was paid meanwhile is answered with its status, and no other is made.',
      ),
  })
  const bounds = `from ${formatMinor(topup.minMinor, currency)} to ${formatMinor(topup.maxMinor, currency)} ${currency.code}`
  const refusals = {
    'amount-out-of-bounds': refuse('INVALID_AMOUNT', {
      error: `A top-up must be ${bounds}.`,
      fields: { amount: `must be ${bounds}` },
    }),
    'amount-unsupported': refuse('INVALID_AMOUNT', {
      error: 'The card processor does not accept this amount.',
      fields: { amount: 'is not accepted by the card processor' },
    }),
    'balance-limit': refuse('BALANCE_LIMIT'),
    inactive: refuse('WALLET_INACTIVE'),
    unknown: refuse('PAYMENT_INTENT_NOT_FOUND'),
    unavailable,
  }
  return sessionRoute(service, schema, {
    method: 'POST',
    path: '/api/widget/topup/create-intent',
    proof: 'session',
    summary: 'Start a card top-up',
    description: 'The answer is for the card processor’s own form in the page; no card number reaches the service.',
    output: createdIntent,
    errors: ['INVALID_AMOUNT', 'WALLET_INACTIVE', 'BALANCE_LIMIT', 'PAYMENT_INTENT_NOT_FOUND', ...topupErrors],
    example: {
      input: { amount: 25 },
      output: {
        paymentIntentId: exampleId,
        clientSecret: `${exampleId}_secret_…`,
        amount: 25,
        currency: 'USD',
        status: 'requires_payment_method',
        publishableKey: 'pk_…',
        expiresAt: '2026-01-31T13:00:00.000Z',
      },
    },
    run: async (session, { amount, replaces }) => {
      const created = await createTopup(service, session, parseAmount(amount, currency)!, replaces)
      if (created.kind === 'limited') return refuseFor(created.retryAfterSeconds)
      if (created.kind !== 'created') return refusals[created.kind]
      return answer(toIntent(service, created))
    },
  })
}

function toIntent({ config: { currency } }: Service, { payment, publishableKey, expiresAt }: OpenPayment) {
  return {
    paymentIntentId: payment.id,
    clientSecret: payment.clientSecret,
    amount: majorNumber(payment.amountMinor, currency),
    currency: payment.currency,
    status: payment.status,
    publishableKey,
    expiresAt: expiresAt.toISOString(),
  }
}

function confirmRoute(service: Service): Route {
  const schema = z.object({ paymentIntentId: paymentId })
  return sessionRoute(service, schema, {
    method: 'POST',
    path: '/api/widget/topup/confirm',
    proof: 'session',
    summary: 'Read the result of a card top-up',
    description:
      'Asks the card processor for the state of the payment and does not trust the browser. Repeating the call is safe.',
    output: topupState,
    others: { 202: { description: 'The bank is still processing the payment.', schema: topupState } },
    errors: ['CARD_DECLINED', 'PAYMENT_INTENT_NOT_FOUND', ...topupErrors],
    example: {
      input: { paymentIntentId: exampleId },
      output: { status: 'processing', balance: 10, available: 10, held: 0, message: openMessages.processing },
    },
    run: async (session, { paymentIntentId }) =>
      answerConfirmed(service, await confirmTopup(service, session, paymentIntentId)),
  })
}

function cancelRoute(service: Service): Route {
  const schema = z.object({ paymentIntentId: paymentId })
  return sessionRoute(service, schema, {
    method: 'POST',
    path: '/api/widget/topup/cancel',
    proof: 'session',
    summary: 'Cancel a card top-up that is not paid',
    description:
      'Cancels the payment at the card processor, so that a later approval of the bank charges nothing. A payment that was paid meanwhile is credited: the answer has its state. Repeating the call is safe.',
    output: topupState,
    others: { 202: { description: 'The bank is still processing the payment.', schema: topupState } },
    errors: ['CARD_DECLINED', 'PAYMENT_INTENT_NOT_FOUND', ...topupErrors],
    example: {
      input: { paymentIntentId: exampleId },
      output: { status: 'cancelled', balance: 10, available: 10, held: 0, message: openMessages.cancelled },
    },
    run: async (session, { paymentIntentId }) =>
      answerConfirmed(service, await cancelTopup(service, session, paymentIntentId)),
  })
}

const openMessages = {
  requires_payment_method: 'No card has been charged yet.',
  requires_action: 'The payer’s bank asks for confirmation.',
  processing: 'The bank is still processing the payment. The money is added as soon as it is paid.',
  failed: 'The payment failed. No money was taken; start a new top-up.',
  cancelled: 'The payment was cancelled. No money was taken; start a new top-up.',
}

function answerConfirmed(service: Service, confirmed: ConfirmedTopup): Answer {
  const { currency } = service.config
  if (confirmed.kind === 'unknown') return refuse('PAYMENT_INTENT_NOT_FOUND')
  if (confirmed.kind === 'unavailable') return unavailable
  if (confirmed.kind === 'limited') return refuseFor(confirmed.retryAfterSeconds)
  if (confirmed.kind === 'declined') {
    const { declineCode, declineMessage } = confirmed
    return refuse('CARD_DECLINED', { declineCode, ...(declineMessage && { error: declineMessage }) })
  }
  if (confirmed.kind === 'credited') {
    const { credit, heldMinor } = confirmed
    const balanceMinor = isArchived(credit) ? credit.balanceMinor : credit.balanceAfterMinor
    const figures = shape.walletFigures(balanceMinor, heldMinor, currency)
    const entry = isArchived(credit) ? {} : { transaction: toTransaction(credit, currency) }
    return answer({ status: 'succeeded', ...figures, ...entry, message: 'The money is in the wallet.' })
  }
  const { status, balanceMinor, heldMinor, nextAction, open } = confirmed
  const body = { status, ...shape.walletFigures(balanceMinor, heldMinor, currency), message: openMessages[status] }
  return {
    status: status === 'processing' ? 202 : 200,
    body: { ...body, ...(nextAction && { nextAction }), ...(open && { intent: toIntent(service, open) }) },
  }
}
