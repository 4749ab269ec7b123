/** Widget sessions, and the calls that the hosted pages make with a session. */
import { z } from 'zod'
import { disconnectApp, listConnectedApps, verifyLink } from '../actions/people/manage-links.ts'
import { parseOrigin } from '../actions/apps/origins.ts'
import { readWidgetWallet } from '../actions/money/read-activity.ts'
import type { Service } from '../actions/service.ts'
import { linkKeyOf } from '../actions/tokens.ts'
import { createSession, recordBrowser, revokeSession } from '../actions/people/open-session.ts'
import { maySee, proofOf } from '../actions/people/proofs.ts'
import { recordDeviceUse } from '../actions/people/trust-device.ts'
import { majorNumber } from '../ledger/money.ts'
import { readClientCall } from './client-call.ts'
import { walletExample, widgetTransactions } from './examples.ts'
import { answer, refuse, refuseUnknownUser } from './reply.ts'
import type { Route } from './route.ts'
import * as shape from './shapes.ts'
import { widgetAccountRoutes } from './widget-account.ts'
import {
  activityRoute,
  activitySumsRoute,
  failedTopup,
  hexColor,
  openTopup,
  toFailedTopup,
  toOpenTopup,
  toPrivateTransaction,
  toWaitingTopup,
  toWidgetTransaction,
  waitingTopup,
  walletTransaction,
} from './widget-activity.ts'
import { widgetAuthRoutes } from './widget-auth.ts'
import { refuseUnproved } from './widget-call.ts'
import { noDeviceCookie } from './widget-device.ts'
import { eventsRoute } from './widget-events.ts'
import { openHoldsRoute, toWidgetHold, widgetHold } from './holds/widget-holds.ts'
import { papersRoute } from './widget-papers.ts'
import { proveRoute } from './widget-prove.ts'
import { sessionRoute } from './widget-session-route.ts'
import { bodyErrors, clientId, exampleIds, message, sessionQuery } from './widget-shapes.ts'

const backendErrors = ['INVALID_CLIENT', 'BROWSER_CALL_REFUSED', 'INVALID_REQUEST', ...bodyErrors] as const
const alwaysErrors = ['RATE_LIMITED', 'UNAVAILABLE', 'INTERNAL'] as const

const verifiedLink = z.object({ serviceUserId: z.string() }).meta({ id: 'VerifiedLink' })

const createdSession = z
  .object({
    sessionToken: z.string().meta({
      pattern: '^ws_[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$',
      description: '`ws_` and a UUID',
    }),
    expiresAt: shape.timestamp.describe('Five minutes after creation; ISO 8601, in UTC'),
  })
  .meta({ id: 'WidgetSession' })

const widgetWallet = z
  .object({
    balance: shape.money,
    available: shape.available,
    held: shape.held,
    transactions: z.array(walletTransaction).max(10),
    hasArchived: shape.hasArchived,
    waiting: z.array(waitingTopup).max(5).describe('Card top-ups that the bank is still processing'),
    openTopups: z
      .array(openTopup)
      .max(5)
      .optional()
      .describe('Card payments that were begun in this app and may still be paid; absent when there are none'),
    failedTopups: z
      .array(failedTopup)
      .max(5)
      .optional()
      .describe('Card payments of the last seven days that were tried and took no money; absent when there are none'),
    holds: z.array(widgetHold).max(3).optional().describe('The newest open holds; absent when there are none'),
    isActive: z.boolean(),
    currency: shape.currencyCode,
    user: z.object({
      firstName: z.string(),
      lastName: z.string(),
      language: z.string().nullable().describe('The language that the user has chosen; null when none'),
    }),
    app: z.object({ name: z.string() }),
    linkKey: z
      .string()
      .describe('Identifies the user of this app: the same in every session of one serviceUserId, and in no other'),
    frozenReason: z.enum(['operator', 'debt']).optional().describe('Why the wallet is not active'),
    proof: z
      .enum(['session', 'person', 'presence'])
      .describe(
        'What this call proves: an app’s session, a device that the user signed in on, or the password given on it within ten minutes',
      ),
    presenceUntil: shape.timestamp.optional().describe('With `presence`: until when the password counts'),
    expiresAt: shape.timestamp.describe('When the session ends'),
    serverTime: shape.timestamp,
  })
  .meta({ id: 'WidgetWallet' })

const connectedApps = z
  .object({
    links: z.array(
      z.object({
        clientId: z.string(),
        appName: z.string(),
        color: hexColor,
        connectedAt: shape.timestamp,
        isThisApp: z.boolean(),
        scopes: z.array(z.string()).describe('What the app may do; empty while the app is inactive'),
        month: z
          .object({
            debited: shape.money,
            credited: shape.money,
            isCut: z
              .boolean()
              .describe('Only the newest 5,000 entries of the wallet are counted, so the real sums may be higher'),
          })
          .describe('The sums that the app debited and credited this month (UTC)'),
        held: shape.money.describe('What open holds of the app reserve; it can capture them after a disconnect too'),
      }),
    ),
  })
  .meta({ id: 'ConnectedApps' })

export function widgetRoutes(service: Service): Route[] {
  return [
    verifyLinkRoute(service),
    newSessionRoute(service),
    walletRoute(service),
    activityRoute(service),
    activitySumsRoute(service),
    openHoldsRoute(service),
    papersRoute(service),
    eventsRoute(service),
    logoutRoute(service),
    proveRoute(service),
    linksRoute(service),
    disconnectRoute(service),
    ...widgetAuthRoutes(service),
    ...widgetAccountRoutes(service),
  ]
}

function verifyLinkRoute(service: Service): Route {
  const linkCode = z
    .string('must be text')
    .min(1, 'must be text of 1 to 256 characters')
    .max(256, 'must have at most 256 characters')
    .describe('From SERVICE_AUTH_SUCCESS')
  const schema = z.object({ ...shape.credentialFields, linkCode })
  return {
    method: 'POST',
    path: '/api/server/link/verify',
    tag: 'Server',
    proof: 'app',
    summary: 'Prove that a browser’s user owns a serviceUserId',
    description: 'A link code works once, for two minutes, and only for the app whose widget issued it.',
    input: schema,
    output: verifiedLink,
    errors: [...backendErrors, 'INVALID_LINK_CODE', ...alwaysErrors],
    example: { input: { linkCode: exampleIds.linkCode }, output: { serviceUserId: exampleIds.serviceUserId } },
    handle: async (call) => {
      const read = await readClientCall(service, call, { schema, kind: 'reads' })
      if (read.refusal) return read.refusal
      const serviceUserId = await verifyLink(service, read.app, read.input.linkCode)
      return serviceUserId === undefined ? refuse('INVALID_LINK_CODE') : answer({ serviceUserId })
    },
  }
}

/** Accepts http origins in production too: there they are well-formed, but on no app's list. */
function toOrigin(text: string): string | undefined {
  const parsed = parseOrigin(text, { isProduction: false })
  return parsed.problem === undefined ? parsed.origin : undefined
}

function newSessionRoute(service: Service): Route {
  const parentOrigin = z
    .string('must be an origin such as https://shop.example')
    .max(300, 'must be an origin such as https://shop.example')
    .refine((text) => toOrigin(text) !== undefined, 'must be an origin such as https://shop.example')
    .nullish()
    .describe(
      'The origin of the embedding page, one of the app’s allowedIframeParents; the session works in no other page',
    )
  const schema = z.object({ ...shape.credentialFields, serviceUserId: shape.serviceUserId, parentOrigin })
  return {
    method: 'POST',
    path: '/api/widget/session',
    tag: 'Widget',
    proof: 'app',
    summary: 'Create a widget session',
    description: 'For the backend of the client app. The session is valid for five minutes.',
    input: schema,
    output: createdSession,
    errors: [...backendErrors, 'USER_NOT_FOUND', 'ORIGIN_NOT_ALLOWED', ...alwaysErrors],
    example: {
      input: { serviceUserId: exampleIds.serviceUserId, parentOrigin: 'https://shop.example' },
      output: { sessionToken: exampleIds.sessionToken, expiresAt: '2026-01-31T12:05:00.000Z' },
    },
    handle: async (call) => {
      const read = await readClientCall(service, call, { schema, kind: 'reads' })
      if (read.refusal) return read.refusal
      const { serviceUserId, parentOrigin } = read.input
      const origin = parentOrigin ? toOrigin(parentOrigin)! : null
      const created = await createSession(service, read.app, { serviceUserId, parentOrigin: origin })
      if (created.kind === 'unknown-user') return refuseUnknownUser('POST')
      if (created.kind === 'origin-not-allowed') return refuse('ORIGIN_NOT_ALLOWED')
      return answer({ sessionToken: created.sessionToken, expiresAt: created.expiresAt.toISOString() })
    },
  }
}

function walletRoute(service: Service): Route {
  const { currency } = service.config
  const { balance, available, held, isActive } = walletExample.output
  return sessionRoute(service, sessionQuery, {
    method: 'GET',
    path: '/api/widget/wallet',
    proof: 'session',
    isCompressed: true,
    moreProof: { person: 'to see the app, description and reference of other apps’ transactions and holds' },
    summary: 'Read the wallet as its user sees it',
    description:
      'Returns the last ten transactions, of all apps and of the service itself, and what is on hold. A session alone gets those of other apps without app, description and reference.',
    output: widgetWallet,
    example: {
      input: { session: exampleIds.sessionToken },
      output: {
        balance,
        available,
        held,
        transactions: widgetTransactions,
        waiting: [],
        isActive,
        currency: 'USD',
        user: { firstName: 'Ada', lastName: 'Lovelace', language: null },
        app: { name: 'Example shop' },
        linkKey: exampleIds.linkKey,
        proof: 'person',
        expiresAt: '2026-01-31T12:05:00.000Z',
        serverTime: '2026-01-31T12:00:00.000Z',
      },
    },
    run: async (session, _, { userAgent, address }) => {
      await recordBrowser(service, session, { userAgent, address })
      await recordDeviceUse(service, session)
      const { wallet, entries, hasArchived, waiting, open, failed, holds, appName } = await readWidgetWallet(
        service,
        session,
      )
      return answer({
        ...shape.walletFigures(wallet.balanceMinor, wallet.heldMinor, currency),
        transactions: entries.map((entry) =>
          maySee(session, entry) ? toWidgetTransaction(entry, currency) : toPrivateTransaction(entry, currency),
        ),
        ...(hasArchived && { hasArchived }),
        waiting: waiting.map((topup) => toWaitingTopup(topup, currency)),
        ...(open.length > 0 && { openTopups: open.map((topup) => toOpenTopup(topup, currency)) }),
        ...(failed.length > 0 && { failedTopups: failed.map((topup) => toFailedTopup(topup, currency)) }),
        ...(holds.length > 0 && { holds: holds.map((each) => toWidgetHold(session, each, currency)) }),
        isActive: wallet.frozenFor === null,
        currency: currency.code,
        user: { firstName: session.firstName, lastName: session.lastName, language: session.language },
        app: { name: appName },
        linkKey: linkKeyOf(session.linkId),
        ...(wallet.frozenFor === null ? {} : { frozenReason: wallet.frozenFor }),
        proof: proofOf(session),
        ...(session.presenceUntil && { presenceUntil: session.presenceUntil.toISOString() }),
        expiresAt: session.expiresAt.toISOString(),
        serverTime: session.readAt.toISOString(),
      })
    },
  })
}

function logoutRoute(service: Service): Route {
  const schema = z.object({})
  return sessionRoute(service, schema, {
    method: 'POST',
    path: '/api/widget/logout',
    proof: 'session',
    setsDevice: true,
    summary: 'End the session, and sign out on this device',
    description: 'Afterwards the session and the device are unknown to the service.',
    output: message,
    example: { input: {}, output: { message: 'Signed out.' } },
    run: async (session) => {
      await revokeSession(service, session)
      return { ...answer({ message: 'Signed out.' }), headers: session.deviceId === null ? {} : noDeviceCookie }
    },
  })
}

function linksRoute(service: Service): Route {
  const connectedAt = '2026-01-31T12:00:00.000Z'
  return sessionRoute(service, sessionQuery, {
    method: 'GET',
    path: '/api/widget/links',
    proof: 'person',
    isCompressed: true,
    summary: 'List the apps that use this wallet',
    description: 'The apps that the user has signed in through and not disconnected.',
    output: connectedApps,
    example: {
      input: { session: exampleIds.sessionToken },
      output: {
        links: [
          {
            clientId: exampleIds.clientId,
            appName: 'Example shop',
            color: '#0b756d',
            connectedAt,
            isThisApp: true,
            scopes: ['wallet:read', 'wallet:write'],
            month: { debited: 19.99, credited: 0, isCut: false },
            held: 0,
          },
        ],
      },
    },
    run: async (session) => {
      const links = await listConnectedApps(service, session)
      const { currency } = service.config
      return answer({
        links: links.map(({ month, isMonthCut, heldMinor, connectedAt, ...link }) => ({
          ...link,
          connectedAt: connectedAt.toISOString(),
          month: {
            debited: majorNumber(month.debitedMinor, currency),
            credited: majorNumber(month.creditedMinor, currency),
            isCut: isMonthCut,
          },
          held: majorNumber(heldMinor, currency),
        })),
      })
    },
  })
}

function disconnectRoute(service: Service): Route {
  const schema = z.object({ clientId })
  return sessionRoute(service, schema, {
    method: 'POST',
    path: '/api/widget/links/disconnect',
    proof: 'session',
    moreProof: { presence: 'to disconnect another app' },
    summary: 'Disconnect an app from this wallet',
    description: 'Ends the app’s sessions; afterwards its serviceUserId is unknown to the service.',
    output: message,
    example: { input: { clientId: exampleIds.clientId }, output: { message: 'Disconnected.' } },
    run: async (session, input, from) => {
      const unproved = input.clientId === session.clientId ? undefined : refuseUnproved(session, 'presence')
      if (unproved) return unproved
      const isDisconnected = await disconnectApp(service, session, { clientId: input.clientId, ...from })
      if (isDisconnected) return answer({ message: 'Disconnected.' })
      return refuse('INVALID_REQUEST', { fields: { clientId: 'is not an app that uses this wallet' } })
    },
  })
}
