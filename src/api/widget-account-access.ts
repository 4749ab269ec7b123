/** Where a user is signed in, signing out, and the history of the account. */
import { z } from 'zod'
import { accountEvents, readHistory } from '../actions/people/read-history.ts'
import { listSignedInApps, signOut } from '../actions/people/sign-out.ts'
import type { Service } from '../actions/service.ts'
import { isUuid } from '../actions/tokens.ts'
import { answer, refuse } from './reply.ts'
import type { Route } from './route.ts'
import { timestamp } from './shapes.ts'
import { accountChange } from './widget-account-change.ts'
import { readSessionCall } from './widget-call.ts'
import { clientId, exampleIds, message, sessionErrors, sessionQuery } from './widget-shapes.ts'

const browser = z
  .string()
  .nullable()
  .describe(
    'Browser and operating system, as `Firefox/Linux`; either part may be empty, and the value is null when both are unknown',
  )

const signedIn = z
  .object({
    apps: z.array(
      z.object({
        clientId: z.string(),
        appName: z.string(),
        isThisApp: z.boolean(),
        since: timestamp.describe('When the user signed in'),
        browsers: z
          .array(
            z.object({
              browser,
              lastAt: timestamp,
              isLive: z.boolean().describe('The wallet is open there'),
              isThis: z.boolean(),
              isThisNetwork: z.boolean().describe('Used from the same network as this call'),
            }),
          )
          .max(10)
          .describe('Browsers that used the wallet within the last day, newest first'),
      }),
    ),
  })
  .meta({ id: 'SignedIn' })

const history = z
  .object({
    events: z.array(
      z.object({
        id: z.string(),
        at: timestamp,
        event: z.enum(accountEvents),
        by: z.enum(['you', 'support']),
        appName: z.string().nullable().describe('The app whose widget was used'),
        browser,
        isEverywhere: z.boolean().describe('For `signed-out`: whether the user signed out of all apps'),
      }),
    ),
    nextBefore: z.string().nullable().describe('Pass it as `before` to get the next page; null on the last page'),
  })
  .meta({ id: 'AccountHistory' })

export function accountAccessRoutes(service: Service): Route[] {
  return [signedInRoute(service), signOutRoute(service), signOutEverywhereRoute(service), historyRoute(service)]
}

function signedInRoute(service: Service): Route {
  const at = '2026-01-31T12:00:00.000Z'
  const here = { browser: 'Firefox/Linux', lastAt: at, isLive: true, isThis: true, isThisNetwork: true }
  return {
    method: 'GET',
    path: '/api/widget/account/signed-in',
    tag: 'Widget',
    proof: 'session',
    summary: 'List where the user is signed in',
    description: 'The apps whose backends may create sessions, and the browsers that used the wallet there.',
    input: sessionQuery,
    output: signedIn,
    errors: sessionErrors,
    example: {
      input: { session: exampleIds.sessionToken },
      output: {
        apps: [
          { clientId: exampleIds.clientId, appName: 'Example shop', isThisApp: true, since: at, browsers: [here] },
        ],
      },
    },
    handle: async (call) => {
      const read = await readSessionCall(service, call, sessionQuery)
      if (read.refusal) return read.refusal
      const apps = await listSignedInApps(service, read.session, call.context.address)
      return answer({
        apps: apps.map(({ browsers, since, ...app }) => ({
          ...app,
          since: since.toISOString(),
          browsers: browsers.map((each) => ({ ...each, lastAt: each.lastAt.toISOString() })),
        })),
      })
    },
  }
}

function signOutRoute(service: Service): Route {
  return accountChange(service, z.object({ clientId }), {
    path: '/api/widget/account/sign-out',
    summary: 'Sign out of one app',
    description:
      'Ends the sessions of the app; it cannot create another until the user signs in again. The app stays connected: its debits and credits continue.',
    output: message,
    example: { input: { clientId: exampleIds.clientId }, output: { message: 'Signed out.' } },
    run: async (session, input, { address }) => {
      if (await signOut(service, session, { clientId: input.clientId, address }))
        return answer({ message: 'Signed out.' })
      return refuse('INVALID_REQUEST', { fields: { clientId: 'is not an app where this user is signed in' } })
    },
  })
}

function signOutEverywhereRoute(service: Service): Route {
  return accountChange(service, z.object({}), {
    path: '/api/widget/account/sign-out-everywhere',
    summary: 'Sign out of all apps, including this one',
    output: message,
    example: { input: {}, output: { message: 'Signed out.' } },
    run: async (session, _, { address }) => {
      await signOut(service, session, { clientId: undefined, address })
      return answer({ message: 'Signed out.' })
    },
  })
}

function historyRoute(service: Service): Route {
  const schema = sessionQuery.extend({
    before: z
      .string()
      .refine(isUuid, 'must be the nextBefore of a page')
      .optional()
      .describe('Returns only events before this one: the `nextBefore` of the previous page'),
  })
  const id = '019bf2c4-9e00-7000-8000-000000000001'
  return {
    method: 'GET',
    path: '/api/widget/account/history',
    tag: 'Widget',
    proof: 'session',
    summary: 'Read the history of the account',
    description: 'Twenty events per page, newest first.',
    input: schema,
    output: history,
    errors: sessionErrors,
    example: {
      input: { session: exampleIds.sessionToken },
      output: {
        events: [
          {
            id,
            at: '2026-01-31T12:00:00.000Z',
            event: 'signed-in',
            by: 'you',
            appName: 'Example shop',
            browser: 'Firefox/Linux',
            isEverywhere: false,
          },
        ],
        nextBefore: null,
      },
    },
    handle: async (call) => {
      const read = await readSessionCall(service, call, schema)
      if (read.refusal) return read.refusal
      const { events, nextBefore } = await readHistory(service, read.session, read.input.before)
      return answer({ events: events.map((event) => ({ ...event, at: event.at.toISOString() })), nextBefore })
    },
  }
}
