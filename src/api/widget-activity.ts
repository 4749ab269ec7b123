/** The full transaction history of a wallet for its user: paged, searched and filtered. */
import { hash } from 'node:crypto'
import { z } from 'zod'
import { logoPath } from '../actions/apps/logo-path.ts'
import { readActivity, type ActivityEntry } from '../actions/money/read-activity.ts'
import type { Service } from '../actions/service.ts'
import { majorNumber, type Currency } from '../ledger/money.ts'
import { receiptCodeOf } from '../ledger/receipt-code.ts'
import { isLongerThan } from '../ledger/reference.ts'
import type { App } from '../store/apps.ts'
import type { Topup } from '../store/topups.ts'
import { widgetTransactions } from './examples.ts'
import { answer } from './reply.ts'
import type { Route } from './route.ts'
import * as shape from './shapes.ts'
import { toTransaction } from './transaction.ts'
import { sessionRoute } from './widget-session-route.ts'
import { clientId, exampleIds, sessionQuery } from './widget-shapes.ts'

const walletApp = z
  .object({ clientId: z.string(), name: z.string(), logo: z.string().nullable().describe('A path on this service') })
  .meta({ id: 'WalletApp' })

const widgetTransaction = shape.transaction
  .extend({
    app: walletApp.nullable().describe('The app that debited or credited the wallet; null for the service itself'),
    receiptCode: z.string().describe('The code by which support finds the transaction'),
    card: z
      .object({
        refunded: shape.money.describe('How much of the top-up was refunded to the card'),
        disputed: shape.money.describe('How much of the top-up the bank holds back in a dispute'),
        dispute: z.enum(['none', 'open', 'won', 'lost']),
      })
      .optional()
      .describe('The state of the card payment; only on a transaction that a card payment made'),
  })
  .meta({ id: 'WidgetTransaction' })

/** In the wallet, where a session alone does not see what the user has with other apps. */
export const walletTransaction = widgetTransaction
  .extend({
    isPrivate: z
      .literal(true)
      .optional()
      .describe(
        'Another app made it, and the call proves no person: app and description are null, references and receiptCode are empty',
      ),
  })
  .meta({ id: 'WalletTransaction' })

export const waitingTopup = z.object({ amount: z.number().positive(), createdAt: shape.timestamp })

const activityAnswer = z
  .object({
    transactions: z.array(widgetTransaction).max(30),
    nextBefore: z
      .int()
      .positive()
      .nullable()
      .describe('Pass it as `before` to get the next page, also after a page that was not full; null on the last page'),
    apps: z.array(walletApp).describe('Every app that has ever used the wallet'),
    firstAt: shape.timestamp.nullable().describe('The time of the first transaction'),
    currency: shape.currencyCode,
  })
  .meta({ id: 'WidgetActivity' })

const ownTypes = [
  'TOPUP',
  'TOPUP_REFUND',
  'TOPUP_REFUND_RETURNED',
  'TOPUP_DISPUTE',
  'TOPUP_DISPUTE_RETURNED',
  'BONUS',
  'CORRECTION',
]

/** Parsing a query turns malformed Unicode into U+FFFD, so that character is refused too. */
const isReadable = (text: string) => text.isWellFormed() && !/[\0\uFFFD]/.test(text)

const activityQuery = z.object({
  ...sessionQuery.shape,
  before: shape.whole(1, Number.MAX_SAFE_INTEGER).optional().describe('Only transactions with a lower sequence'),
  direction: z.enum(['in', 'out'], 'must be in or out').optional(),
  app: clientId
    .refine(isReadable, 'must be well-formed text')
    .optional()
    .describe('Only transactions of this app, by clientId; `service` for those of the service itself'),
  search: z
    .string('must be text')
    .refine((text) => !isLongerThan(text, 100), 'must have at most 100 characters')
    .refine(isReadable, 'must be well-formed text without NUL')
    .meta({ maxLength: 100 })
    .optional()
    .describe('Text in the description, the reference or the app’s name, or a receipt code'),
  types: z
    .string('must be text')
    .refine((text) => text.split(',').every((type) => ownTypes.includes(type)), `must be among ${ownTypes.join()}`)
    .meta({ pattern: `^(${ownTypes.join('|')})(,(${ownTypes.join('|')}))*$` })
    .optional()
    .describe('Also returns the service’s own transactions of these types, in addition to what `search` finds'),
})

export function activityRoute(service: Service): Route {
  const { currency } = service.config
  return sessionRoute(service, activityQuery, {
    method: 'GET',
    path: '/api/widget/activity',
    proof: 'person',
    summary: 'Read the full transaction history',
    description: [
      'Thirty transactions per page, newest first. A page scans at most 5,000 entries of the wallet, so it may hold fewer',
      'transactions or none; continue with `nextBefore` until it is null.',
    ].join(' '),
    output: activityAnswer,
    example: {
      input: { session: exampleIds.sessionToken },
      output: {
        transactions: widgetTransactions,
        nextBefore: null,
        apps: [{ clientId: exampleIds.clientId, name: 'Example shop', logo: null }],
        firstAt: '2026-01-31T12:00:00.000Z',
        currency: 'USD',
      },
    },
    run: async ({ userId }, { before, types, direction, app, search }) => {
      const filter = { direction, app, search, ownTypes: types?.split(',') ?? [] }
      const page = await readActivity(service, userId, {
        ...filter,
        before: before === undefined ? undefined : Number(before),
      })
      return answer({
        transactions: page.entries.map((entry) => toWidgetTransaction(entry, currency)),
        nextBefore: page.nextBefore,
        apps: page.apps.map(toWalletApp),
        firstAt: page.firstAt?.toISOString() ?? null,
        currency: currency.code,
      })
    },
  })
}

export function toWidgetTransaction({ transfer, app, topup }: ActivityEntry, currency: Currency) {
  return {
    ...toTransaction(transfer, currency),
    app: app ? toWalletApp(app) : null,
    receiptCode: receiptCodeOf(transfer.referenceKey),
    ...(topup && {
      card: {
        refunded: majorNumber(topup.refundedMinor, currency),
        disputed: majorNumber(topup.disputedMinor, currency),
        dispute: topup.dispute,
      },
    }),
  }
}

/**
 * What a session alone sees of another app's entry: enough that the list adds up. An id is a hash of the app and its reference, which
 * an app could guess, so this one is made from the user's id, which no app knows.
 */
export function toPrivateTransaction({ transfer }: ActivityEntry, currency: Currency) {
  const { type, amount, balanceAfter, currency: code, sequence, createdAt } = toTransaction(transfer, currency)
  const id = hash('sha256', `private-entry ${transfer.walletId} ${sequence}`, 'hex').slice(0, 32)
  return {
    id: `txn_${id}`,
    type,
    amount,
    balanceAfter,
    currency: code,
    sequence,
    createdAt,
    referenceType: '',
    referenceId: '',
    receiptCode: '',
    description: null,
    app: null,
    isPrivate: true,
  }
}

export function toWaitingTopup({ amountMinor, createdAt }: Topup, currency: Currency) {
  return { amount: majorNumber(amountMinor, currency), createdAt: createdAt.toISOString() }
}

function toWalletApp(app: App) {
  return { clientId: app.clientId, name: app.name, logo: logoPath(app) }
}
