/** Where a user is signed in, signing out, and the history of the account. */
import { z } from 'zod'
import { accountEvents, readHistory } from '../actions/people/read-history.ts'
import { listSignedInApps, listSignedInDevices, signOut, signOutDevice } from '../actions/people/sign-out.ts'
import type { Service } from '../actions/service.ts'
import { isUuid } from '../actions/tokens.ts'
import { answer, refuse } from './reply.ts'
import type { Route } from './route.ts'
import { timestamp } from './shapes.ts'
import { refuseUnproved } from './widget-call.ts'
import { noDeviceCookie } from './widget-device.ts'
import { hexColor } from './widget-activity.ts'
import { sessionRoute } from './widget-session-route.ts'
import { clientId, exampleIds, message, sessionQuery } from './widget-shapes.ts'

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
        color: hexColor,
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
    devices: z
      .array(
        z.object({
          id: z.string(),
          clientId: z.string().describe('The app whose widget the user signed in through'),
          appName: z.string(),
          browser,
          since: timestamp.describe('When the user signed in'),
          lastAt: timestamp.nullable().describe('The last use, to the hour; null before the first'),
          isThis: z.boolean(),
          isThisNetwork: z.boolean().describe('Signed in from the same network as this call'),
        }),
      )
      .describe('Devices that the user signed in on within thirty days and has not signed out of, the last used first'),
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

const exampleDeviceId = '019bf2c4-9e00-7000-8000-000000000002'
const signedOut = answer({ message: 'Signed out.' })

export function accountAccessRoutes(service: Service): Route[] {
  return [
    signedInRoute(service),
    signOutRoute(service),
    signOutDeviceRoute(service),
    signOutEverywhereRoute(service),
    historyRoute(service),
  ]
}

function signedInRoute(service: Service): Route {
  const at = '2026-01-31T12:00:00.000Z'
  const here = { browser: 'Firefox/Linux', lastAt: at, isLive: true, isThis: true, isThisNetwork: true }
  return sessionRoute(service, sessionQuery, {
    method: 'GET',
    path: '/api/widget/account/signed-in',
    proof: 'person',
    summary: 'List where the user is signed in',
    description:
      'The apps whose backends may create sessions, with the browsers that used the wallet there; and the devices that the user signed in on.',
    output: signedIn,
    example: {
      input: { session: exampleIds.sessionToken },
      output: {
        apps: [
          {
            clientId: exampleIds.clientId,
            appName: 'Example shop',
            color: '#0b756d',
            isThisApp: true,
            since: at,
            browsers: [here],
          },
        ],
        devices: [
          {
            id: exampleDeviceId,
            clientId: exampleIds.clientId,
            appName: 'Example shop',
            browser: 'Firefox/Linux',
            since: at,
            lastAt: at,
            isThis: true,
            isThisNetwork: true,
          },
        ],
      },
    },
    run: async (session, _, { address }) => {
      const apps = await listSignedInApps(service, session, address)
      const devices = await listSignedInDevices(service, session, address)
      return answer({
        apps: apps.map(({ browsers, since, ...app }) => ({
          ...app,
          since: since.toISOString(),
          browsers: browsers.map((each) => ({ ...each, lastAt: each.lastAt.toISOString() })),
        })),
        devices: devices.map(({ since, lastAt, ...device }) => ({
          ...device,
          since: since.toISOString(),
          lastAt: lastAt?.toISOString() ?? null,
        })),
      })
    },
  })
}

function signOutRoute(service: Service): Route {
  return sessionRoute(service, z.object({ clientId }), {
    method: 'POST',
    path: '/api/widget/account/sign-out',
    proof: 'session',
    moreProof: { person: 'to sign out of another app' },
    summary: 'Sign out of one app',
    description:
      'Ends the sessions of the app and the devices that were signed in through it; it cannot create another session until the user signs in again. The app stays connected: its debits and credits continue.',
    output: message,
    example: { input: { clientId: exampleIds.clientId }, output: { message: 'Signed out.' } },
    run: async (session, input, { address }) => {
      const unproved = input.clientId === session.clientId ? undefined : refuseUnproved(session, 'person')
      if (unproved) return unproved
      if (await signOut(service, session, { clientId: input.clientId, address })) return signedOut
      return refuse('INVALID_REQUEST', { fields: { clientId: 'is not an app where this user is signed in' } })
    },
  })
}

function signOutDeviceRoute(service: Service): Route {
  const deviceId = z.string('must be the id of a device').refine(isUuid, 'must be the id of a device')
  return sessionRoute(service, z.object({ deviceId }), {
    method: 'POST',
    path: '/api/widget/account/sign-out-device',
    proof: 'person',
    summary: 'Sign out on one device',
    description: 'The device then shows no more than a session does, until the user signs in on it again.',
    output: message,
    example: { input: { deviceId: exampleDeviceId }, output: { message: 'Signed out.' } },
    run: async (session, input, { address }) => {
      if (await signOutDevice(service, session, { id: input.deviceId, address })) return signedOut
      return refuse('INVALID_REQUEST', { fields: { deviceId: 'is not a device where this user is signed in' } })
    },
  })
}

function signOutEverywhereRoute(service: Service): Route {
  return sessionRoute(service, z.object({}), {
    method: 'POST',
    path: '/api/widget/account/sign-out-everywhere',
    proof: 'person',
    setsDevice: true,
    summary: 'Sign out of all apps and devices, including these',
    output: message,
    example: { input: {}, output: { message: 'Signed out.' } },
    run: async (session, _, { address }) => {
      await signOut(service, session, { clientId: undefined, address })
      return { ...signedOut, headers: noDeviceCookie }
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
  return sessionRoute(service, schema, {
    method: 'GET',
    path: '/api/widget/account/history',
    proof: 'person',
    isCompressed: true,
    summary: 'Read the history of the account',
    description: 'Twenty events per page, newest first.',
    output: history,
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
    run: async (session, { before }) => {
      const { events, nextBefore } = await readHistory(service, session, before)
      return answer({ events: events.map((event) => ({ ...event, at: event.at.toISOString() })), nextBefore })
    },
  })
}
