/** The open holds of a wallet, for its user. */
import { hash } from 'node:crypto'
import { z } from 'zod'
import { maxOpenHoldsShown, readOpenHolds, type OpenHold } from '../../actions/money/read-open-holds.ts'
import { maySeeHold } from '../../actions/people/proofs.ts'
import type { Service } from '../../actions/service.ts'
import { remainingOf } from '../../ledger/hold.ts'
import { majorNumber, type Currency } from '../../ledger/money.ts'
import { holdIdOf } from '../../store/outcomes.ts'
import type { Session } from '../../store/people/widget-sessions.ts'
import { holdExample } from '../examples.ts'
import { answer } from '../reply.ts'
import type { Route } from '../route.ts'
import * as shape from '../shapes.ts'
import { toWalletApp, walletApp } from '../widget-activity.ts'
import { sessionRoute } from '../widget-session-route.ts'
import { exampleIds, sessionQuery } from '../widget-shapes.ts'

export const widgetHold = shape.hold
  .omit({ status: true, currency: true, closedAt: true })
  .extend({
    app: walletApp.nullable().describe('The app that may capture it; null if the app is gone'),
    isPrivate: z
      .literal(true)
      .optional()
      .describe(
        'Another app made it, and the call proves no person: app and description are null, references are empty',
      ),
  })
  .meta({ id: 'WidgetHold' })

const openHolds = z
  .object({
    balance: shape.money,
    available: shape.available,
    held: shape.held,
    holds: z.array(widgetHold).max(maxOpenHoldsShown).describe('The newest first'),
    currency: shape.currencyCode,
  })
  .meta({ id: 'WidgetHolds' })

export function openHoldsRoute(service: Service): Route {
  const { currency } = service.config
  const { status: _, currency: __, closedAt: ___, ...hold } = holdExample.read.output.hold
  const app = { clientId: exampleIds.clientId, name: 'Example shop', logo: null, color: '#0b756d' }
  return sessionRoute(service, sessionQuery, {
    method: 'GET',
    path: '/api/widget/holds',
    proof: 'session',
    isCompressed: true,
    moreProof: { person: 'to see the app, description and reference of other apps’ holds' },
    summary: 'List what is on hold',
    description: [
      `The open holds of all apps, newest first, at most ${maxOpenHoldsShown}.`,
      'A session alone gets those of other apps without app, description and reference.',
    ].join(' '),
    output: openHolds,
    example: {
      input: { session: exampleIds.sessionToken },
      output: { balance: 80.01, available: 50.01, held: 30, holds: [{ ...hold, app }], currency: 'USD' },
    },
    run: async (session) => {
      const holds = await readOpenHolds(service, session, maxOpenHoldsShown)
      return answer({
        ...shape.walletFigures(session.balanceMinor, session.heldMinor, currency),
        holds: holds.map((each) => toWidgetHold(session, each, currency)),
        currency: currency.code,
      })
    },
  })
}

export function toWidgetHold(session: Session, { hold, app }: OpenHold, currency: Currency) {
  const { amountMinor, capturedMinor, extraMinor, createdAt, expiresAt } = hold
  const seen = {
    amount: majorNumber(amountMinor, currency),
    captured: majorNumber(capturedMinor + extraMinor, currency),
    remaining: majorNumber(remainingOf(hold), currency),
    createdAt: createdAt.toISOString(),
    expiresAt: expiresAt.toISOString(),
  }
  if (!maySeeHold(session, hold)) return { ...seen, ...privateParts(hold) }
  const { referenceType, referenceId, description } = hold
  return {
    ...seen,
    id: holdIdOf(hold.id),
    referenceType,
    referenceId,
    description,
    app: app ? toWalletApp(app) : null,
  }
}

/** As of a private entry: the real id is a hash of the app and its reference, which another app could guess. */
function privateParts({ walletId, id }: { readonly walletId: string; readonly id: string }) {
  const hidden = hash('sha256', `private-hold ${walletId} ${id}`, 'hex').slice(0, 32)
  return {
    id: holdIdOf(hidden),
    referenceType: '',
    referenceId: '',
    description: null,
    app: null,
    isPrivate: true,
  }
}
