/** What happened in a wallet, for its user: the whole of it, by pages, with a search and filters. */
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
import { readSessionCall } from './widget-call.ts'
import { clientId, exampleIds, sessionErrors, sessionQuery } from './widget-shapes.ts'

const walletApp = z
  .object({ clientId: z.string(), name: z.string(), logo: z.string().nullable().describe('A path of this service') })
  .meta({ id: 'WalletApp' })

export const widgetTransaction = shape.transaction
  .extend({
    app: walletApp.nullable().describe('The app that took or gave the money; null when it was the service itself'),
    receiptCode: z.string().describe('By which support finds the transaction'),
    card: z
      .object({
        refunded: shape.money.describe('Of the top-up, given back to the card'),
        disputed: shape.money.describe('Of the top-up, held back by the bank'),
        dispute: z.enum(['none', 'open', 'won', 'lost']),
      })
      .optional()
      .describe('What became of the card payment, of an entry that one made'),
  })
  .meta({ id: 'WidgetTransaction' })

export const waitingTopup = z.object({ amount: z.number().positive(), createdAt: shape.timestamp })

const activityAnswer = z
  .object({
    transactions: z.array(widgetTransaction).max(30),
    nextBefore: z
      .int()
      .positive()
      .nullable()
      .describe('Give it as `before` for the next page, also after a page that was not full; null on the last'),
    apps: z.array(walletApp).describe('Every app that ever used the wallet'),
    firstAt: shape.timestamp.nullable().describe('When the first entry was made'),
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

/** In a query, what is no Unicode has become U+FFFD by the time it is read. */
const isReadable = (text: string) => text.isWellFormed() && !/[\0\uFFFD]/.test(text)

const activityQuery = z.object({
  ...sessionQuery.shape,
  before: shape.whole(1, Number.MAX_SAFE_INTEGER).optional().describe('Only transactions with a lower sequence'),
  direction: z.enum(['in', 'out'], 'must be in or out').optional(),
  app: clientId
    .refine(isReadable, 'must be well-formed text')
    .optional()
    .describe('Of one app, by its clientId; `service` for the service’s own'),
  search: z
    .string('must be text')
    .refine((text) => !isLongerThan(text, 100), 'must have at most 100 characters')
    .refine(isReadable, 'must be well-formed text without NUL')
    .meta({ maxLength: 100 })
    .optional()
    .describe('In the description, the reference, the app’s name; or a receipt’s code'),
  types: z
    .string('must be text')
    .refine((text) => text.split(',').every((type) => ownTypes.includes(type)), `must be among ${ownTypes.join()}`)
    .meta({ pattern: `^(${ownTypes.join('|')})(,(${ownTypes.join('|')}))*$` })
    .optional()
    .describe('Beside what `search` finds: the service’s own entries of these types'),
})

export function activityRoute(service: Service): Route {
  const { currency } = service.config
  return {
    method: 'GET',
    path: '/api/widget/activity',
    tag: 'Widget',
    proof: 'session',
    summary: 'Everything that happened in the wallet',
    description: [
      'Thirty entries a page, newest first. A page looks at 5,000 entries of the wallet at most: it may hold fewer, even none,',
      'while `nextBefore` says where to go on.',
    ].join(' '),
    input: activityQuery,
    output: activityAnswer,
    errors: sessionErrors,
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
    handle: async (call) => {
      const read = await readSessionCall(service, call, activityQuery)
      if (read.refusal) return read.refusal
      const { before, types, direction, app, search } = read.input
      const filter = { direction, app, search, ownTypes: types?.split(',') ?? [] }
      const page = await readActivity(service, read.session.userId, {
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

export function toWaitingTopup({ amountMinor, createdAt }: Topup, currency: Currency) {
  return { amount: majorNumber(amountMinor, currency), createdAt: createdAt.toISOString() }
}

function toWalletApp(app: App) {
  return { clientId: app.clientId, name: app.name, logo: logoPath(app) }
}
