/** Where a user is signed in, how to end that, and what happened to the account. */
import { z } from 'zod'
import { accountEvents, readHistory } from '../actions/people/read-history.ts'
import { listSignedIn, signOut } from '../actions/people/sign-out.ts'
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
  .describe('The browser and the system it runs on, as `Firefox/Linux`; either may be missing, null when both are')

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
              isThisNetwork: z.boolean().describe('In the network that this call comes from'),
            }),
          )
          .max(10)
          .describe('Those that used the wallet within the last day, newest first'),
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
        appName: z.string().nullable().describe('The app in whose wallet it was done'),
        browser,
        isEverywhere: z.boolean().describe('Of signing out: of all apps'),
      }),
    ),
    nextBefore: z.string().nullable().describe('`before` of the next page; null on the last one'),
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
    summary: 'Where the user is signed in',
    description: 'The apps whose backends may open the wallet, and the browsers that used it there.',
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
      const apps = await listSignedIn(service, read.session, call.context.address)
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
      'Its sessions end, and it can open no other until the user signs in again. It stays connected: its debits and credits go on.',
    output: message,
    example: { input: { clientId: exampleIds.clientId }, output: { message: 'Signed out.' } },
    run: async (session, input, { address }) => {
      if (await signOut(service, session, { clientId: input.clientId, address }))
        return answer({ message: 'Signed out.' })
      return refuse('INVALID_REQUEST', { fields: { clientId: 'is no app where this user is signed in' } })
    },
  })
}

function signOutEverywhereRoute(service: Service): Route {
  return accountChange(service, z.object({}), {
    path: '/api/widget/account/sign-out-everywhere',
    summary: 'Sign out of all apps, this one too',
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
      .describe('Only what happened before: the nextBefore of a page'),
  })
  const id = '019bf2c4-9e00-7000-8000-000000000001'
  return {
    method: 'GET',
    path: '/api/widget/account/history',
    tag: 'Widget',
    proof: 'session',
    summary: 'What happened to the account',
    description: 'Twenty at a time, the newest first.',
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
