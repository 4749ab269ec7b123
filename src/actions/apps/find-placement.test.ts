import { afterAll, beforeAll, beforeEach, expect, test } from 'bun:test'
import { newApp, newUser, openTestService, operator, type TestService } from '../../../test/service.ts'
import { letPass } from '../../../test/time.ts'
import { findApp } from '../../store/apps.ts'
import { findPlacement } from './find-placement.ts'
import { setAppActive, updateApp } from './manage-apps.ts'
import { checkSession, createSession, revokeSession } from '../people/open-session.ts'

const [one, two] = ['https://one.example', 'https://two.example'] as const
const parents = [one, two]

let opened: TestService
let clientId: string
let serviceUserId: string

beforeAll(async () => {
  opened = await openTestService()
})
beforeEach(async () => {
  for (const app of await opened.service.apps.list())
    if (app.isActive) await setAppActive(opened.service, operator, app.clientId, false)
  const app = await newApp(opened.service, { allowedIframeParents: parents })
  clientId = app.clientId
  serviceUserId = (await newUser(opened.service, app)).serviceUserId
})
afterAll(() => opened.close())

const find = (query: Parameters<typeof findPlacement>[1]) => findPlacement(opened.service, query)
const app = async () => (await findApp(opened.service.db.pool, clientId))!
const newToken = async (parentOrigin: string | null = null) => {
  const created = await createSession(opened.service, await app(), { serviceUserId, parentOrigin })
  return created.kind === 'created' ? created.sessionToken : created.kind
}

test('a session is framed by all of its app’s parents, or by its own one alone', async () => {
  expect(await find({ session: await newToken() })).toMatchObject({ kind: 'session', app: { clientId }, parents })
  const narrow = await find({ session: await newToken(two) })
  expect(narrow).toMatchObject({ kind: 'session', parents: [two] })
})

test('a parent that was taken off the list frames nothing, whatever an older session says', async () => {
  const session = await newToken(two)
  await updateApp(opened.service, operator, clientId, { ...(await app()), allowedIframeParents: [one] })
  expect(await find({ session })).toMatchObject({ kind: 'session', parents: [] })
})

test('a session of an app that another process has just deactivated is framed by nobody', async () => {
  const session = await newToken()
  const copy = await app()
  await setAppActive(opened.service, operator, clientId, false)
  const apps = { ...opened.service.apps, findActive: async () => copy }
  expect(await findPlacement({ db: opened.service.db, apps }, { session })).toEqual({
    kind: 'unknown',
    reason: 'inactive-app',
  })
})

test('an expired session still knows its app and its parent; a revoked one shows the sign-in', async () => {
  const session = await newToken(one)
  await letPass(opened.service.db.pool, 301_000)
  expect(await find({ session })).toMatchObject({ kind: 'expired', app: { clientId }, parents: [one] })
  await letPass(opened.service.db.pool, -301_000)
  await revokeSession(opened.service, (await checkSession(opened.service, session)).session!)
  expect(await find({ session })).toMatchObject({ kind: 'signed-out', parents: [one] })
})

test('a session that nobody knows any more is expired where the app is known by other means', async () => {
  const session = 'ws_3f1c2f0e-6d0b-4c7e-9a53-0d5f4b8f2a11'
  expect(await find({ session, clientId })).toMatchObject({ kind: 'expired', parents })
  expect(await find({ session, referer: one })).toMatchObject({ kind: 'expired', parents })
  expect(await find({ session: 'nonsense', clientId })).toMatchObject({ kind: 'expired', parents })
  await newApp(opened.service)
  expect(await find({ session })).toEqual({ kind: 'unknown', reason: 'no-app' })
})

test('without a session the app is the one named, or the only one that lists the page around', async () => {
  expect(await find({ clientId })).toMatchObject({ kind: 'signed-out', app: { clientId }, parents })
  expect(await find({ session: '', clientId })).toMatchObject({ kind: 'signed-out' })
  const referer = `${one}/some/page?with=query`
  expect(await find({ referer })).toMatchObject({ kind: 'signed-out', app: { clientId }, parents })
  const other = await newApp(opened.service, { allowedIframeParents: parents })
  expect(await find({ referer })).toEqual({ kind: 'unknown', reason: 'several-apps' })
  expect(await find({ referer, clientId: other.clientId })).toMatchObject({ app: { clientId: other.clientId } })
  await setAppActive(opened.service, operator, other.clientId, false)
  expect(await find({ referer })).toMatchObject({ app: { clientId } })
})

const silent = [undefined, '', 'nonsense', 'null', 'about:blank', 'data:text/html,x']

test.each(silent)('the only active app needs no referer such as %j; one of two does', async (referer) => {
  expect(await find({ referer })).toMatchObject({ kind: 'signed-out', app: { clientId }, parents })
  await newApp(opened.service)
  expect(await find({ referer })).toEqual({ kind: 'unknown', reason: 'no-app' })
})

test.each([
  'https://one.example.evil.example/',
  'http://one.example/',
  'https://one.example:8443/',
  'https://a.one.example/',
])('the referer %j belongs to no app', async (referer) => {
  expect(await find({ referer })).toEqual({ kind: 'unknown', reason: 'not-listed' })
})

test('an unknown or inactive app frames nothing', async () => {
  const session = await newToken()
  expect(await find({ clientId: 'app_nobody' })).toEqual({ kind: 'unknown', reason: 'unknown-app' })
  await setAppActive(opened.service, operator, clientId, false)
  const inactive = { kind: 'unknown', reason: 'inactive-app' } as const
  expect(await find({ clientId })).toEqual(inactive)
  expect(await find({ session })).toEqual(inactive)
  expect(await find({ referer: one })).toEqual(inactive)
})
