/** The full transaction history of a wallet for its user: paged, searched and filtered. */
import { hash } from 'node:crypto'
import { z } from 'zod'
import { appColor } from '../actions/apps/app-color.ts'
import { logoPath } from '../actions/apps/logo-path.ts'
import { toFilter } from '../actions/money/activity-filter.ts'
import { readActivity, readActivitySums, type ActivityEntry, type SourceSum } from '../actions/money/read-activity.ts'
import type { Service } from '../actions/service.ts'
import { formatMinor, majorNumber, type Currency } from '../ledger/money.ts'
import { receiptCodeOf } from '../ledger/receipt-code.ts'
import type { App } from '../store/apps.ts'
import type { Topup } from '../store/topups.ts'
import { widgetTransactions } from './examples.ts'
import { answer } from './reply.ts'
import type { Route } from './route.ts'
import * as shape from './shapes.ts'
import { toTransaction } from '../actions/money/transaction.ts'
import { sessionRoute } from './widget-session-route.ts'
import {
  exampleIds,
  sessionQuery,
  filterFields,
  hasOrderedAmounts,
  hasOrderedTimes,
  orderedAmounts,
  orderedTimes,
} from './widget-shapes.ts'

export const hexColor = z
  .string()
  .meta({ pattern: '^#[0-9a-f]{6}$' })
  .describe('The app’s colour in lists and charts; white text on it is legible in light and dark pages')

export const walletApp = z
  .object({
    clientId: z.string(),
    name: z.string(),
    logo: z.string().nullable().describe('A path on this service'),
    color: hexColor,
  })
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
export const openTopup = waitingTopup.extend({ paymentIntentId: z.string() })
export const failedTopup = waitingTopup.extend({
  reason: z
    .enum(['declined', 'authentication', 'unconfirmed', 'cancelled', 'failed'])
    .describe('`unconfirmed`: the bank asked the payer to confirm, and got no answer in time'),
})

const activityAnswer = z
  .object({
    transactions: z.array(widgetTransaction).max(30),
    nextBefore: z
      .int()
      .positive()
      .nullable()
      .describe('Pass it as `before` to get the next page, also after a page that was not full; null on the last page'),
    left: z.int().nonnegative().describe('How many entries of the time range this page and those before did not read'),
    apps: z.array(walletApp).describe('Every app that has ever used the wallet'),
    firstAt: shape.timestamp.nullable().describe('The time of the first transaction that is not in the archive'),
    hasArchived: shape.hasArchived,
    currency: shape.currencyCode,
  })
  .meta({ id: 'WidgetActivity' })

const filterQuery = (currency: Currency) =>
  z
    .object({
      ...sessionQuery.shape,
      before: shape.whole(1, Number.MAX_SAFE_INTEGER).optional().describe('Only transactions with a lower sequence'),
      ...filterFields(currency),
    })
    .refine(hasOrderedTimes, orderedTimes)
    .refine(hasOrderedAmounts(currency), orderedAmounts)

type FilterQuery = z.infer<ReturnType<typeof filterQuery>>

const filterOf = (asked: FilterQuery, currency: Currency) =>
  toFilter(asked, currency, asked.before === undefined ? undefined : Number(asked.before))

export function activityRoute(service: Service): Route {
  const { currency } = service.config
  return sessionRoute(service, filterQuery(currency), {
    method: 'GET',
    path: '/api/widget/activity',
    proof: 'person',
    isCompressed: true,
    summary: 'Read the full transaction history',
    description: [
      'Thirty transactions per page, newest first. A page scans at most 5,000 entries of the wallet, so it may hold fewer',
      'transactions or none; continue with `nextBefore` until it is null.',
    ].join(' '),
    output: activityAnswer,
    errors: ['INVALID_AMOUNT'],
    example: {
      input: { session: exampleIds.sessionToken },
      output: {
        transactions: widgetTransactions,
        nextBefore: null,
        left: 0,
        apps: [{ clientId: exampleIds.clientId, name: 'Example shop', logo: null, color: '#0b756d' }],
        firstAt: '2026-01-31T12:00:00.000Z',
        currency: 'USD',
      },
    },
    run: async ({ userId }, asked) => {
      const page = await readActivity(service, userId, filterOf(asked, currency))
      return answer({
        transactions: page.entries.map((entry) => toWidgetTransaction(entry, currency)),
        nextBefore: page.nextBefore,
        left: page.left,
        apps: page.apps.map(toWalletApp),
        firstAt: page.firstAt?.toISOString() ?? null,
        ...(page.hasArchived && { hasArchived: true }),
        currency: currency.code,
      })
    },
  })
}

const sum = z.string().describe('Exact decimal text in major units, of any length')

const sumsAnswer = z
  .object({
    sources: z.array(
      z.object({
        source: z.enum(['app', 'card', 'service']),
        app: walletApp.nullable().describe('Null for the user’s cards, for the service, and for an app that is gone'),
        count: z.int().positive(),
        out: sum,
        in: sum,
      }),
    ),
    searched: z.int().nonnegative().describe('How many entries this call read'),
    left: z.int().nonnegative().describe('How many entries of the time range it did not read'),
    nextBefore: z
      .int()
      .positive()
      .nullable()
      .describe('Pass it as `before` to add up the entries left; null at the end'),
    hasArchived: shape.hasArchived,
    currency: shape.currencyCode,
  })
  .meta({ id: 'WidgetActivitySums' })

export function activitySumsRoute(service: Service): Route {
  const { currency } = service.config
  return sessionRoute(service, filterQuery(currency), {
    method: 'GET',
    path: '/api/widget/activity/sums',
    proof: 'person',
    summary: 'Add up transactions by app',
    description: [
      'Takes the same filters as the transaction history. A call adds up at most 10,000 entries of the wallet, newest first;',
      'continue with `nextBefore` until it is null, and add the answers.',
    ].join(' '),
    output: sumsAnswer,
    errors: ['INVALID_AMOUNT'],
    example: {
      input: { session: exampleIds.sessionToken },
      output: {
        sources: [
          {
            source: 'app',
            app: { clientId: exampleIds.clientId, name: 'Example shop', logo: null, color: '#0b756d' },
            count: 3,
            out: '64.40',
            in: '0.00',
          },
        ],
        searched: 3,
        left: 0,
        nextBefore: null,
        currency: 'USD',
      },
    },
    run: async (session, asked) => {
      const { sources, hasArchived, ...rest } = await readActivitySums(service, session, filterOf(asked, currency))
      return answer({
        sources: sources.map((each) => toSource(each, currency)),
        ...rest,
        ...(hasArchived && { hasArchived }),
        currency: currency.code,
      })
    },
  })
}

function toSource({ source, app, count, inMinor, outMinor }: SourceSum, currency: Currency) {
  return {
    source,
    app: app ? toWalletApp(app) : null,
    count,
    out: formatMinor(outMinor, currency),
    in: formatMinor(inMinor, currency),
  }
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

export function toOpenTopup(topup: Topup, currency: Currency) {
  return { ...toWaitingTopup(topup, currency), paymentIntentId: topup.paymentIntentId! }
}

export function toFailedTopup(topup: Topup, currency: Currency) {
  return { ...toWaitingTopup(topup, currency), reason: topup.failure! }
}

export function toWalletApp(app: App) {
  return { clientId: app.clientId, name: app.name, logo: logoPath(app), color: appColor(app) }
}
