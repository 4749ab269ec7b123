import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { newClient, type Client } from '../../test/client.ts'
import { deviceOf } from '../../test/devices.ts'
import { newPage, type Page } from '../../test/page.ts'
import { linkUser, newApp, newUser, openTestService, operator, type TestService } from '../../test/service.ts'
import { letPass } from '../../test/time.ts'
import { setAppActive } from '../actions/apps/manage-apps.ts'
import { grantBonus } from '../actions/money/grant-bonus.ts'
import { freezeWallet, unfreezeWallet } from '../actions/money/manage-wallets.ts'
import { postForService } from '../actions/money/post.ts'
import { hashSecret, newId } from '../actions/tokens.ts'

let opened: TestService
let credentials: { clientId: string; clientSecret: string }
let client: Client
let page: Page
let user: { userId: string; serviceUserId: string }

const parent = 'https://shop.example'

beforeAll(async () => {
  opened = await openTestService()
  credentials = await newApp(opened.service)
  client = newClient(opened.app.fetch, credentials)
  page = newPage(opened.app.fetch)
})
beforeEach(async () => {
  user = await newUser(opened.service, credentials)
})
afterAll(() => opened.close())

const createSession = (changes: Record<string, unknown> = {}) =>
  client.post('/api/widget/session', { ...credentials, serviceUserId: user.serviceUserId, ...changes })
/** A page in a browser where the user signed in with the password just now. */
const pageOnDevice = async () => {
  const owner = { userId: user.userId, clientId: credentials.clientId }
  return newPage(opened.app.fetch, undefined, { cookie: (await deviceOf(opened.service, owner)).cookie })
}
const newSession = async () => String((await createSession()).body['sessionToken'])

describe('it works', () => {
  test('a session is ws_ and a UUID, lives five minutes, and is stored as its hash alone', async () => {
    const askedAt = Date.now()
    const { status, body } = await createSession({ parentOrigin: parent })
    expect(status).toBe(200)
    expect(body['sessionToken']).toMatch(/^ws_[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
    const madeAt = Date.parse(String(body['expiresAt'])) - 300_000
    expect(madeAt).toBeWithin(askedAt - 1, Date.now() + 1)
    const { rows } = await opened.service.db.pool.query('select * from widget_sessions where user_id = $1', [
      user.userId,
    ])
    expect(rows[0]).toMatchObject({ token_hash: hashSecret(String(body['sessionToken'])), parent_origin: parent })
    expect(JSON.stringify(rows)).not.toContain(String(body['sessionToken']).slice(3))
  })

  test('the wallet shows the balance, the last ten transactions of every app, and the user’s names', async () => {
    const other = await newApp(opened.service, { name: 'Other shop' })
    const su2 = await linkUser(opened.service, other, user.userId)
    await newClient(opened.app.fetch, other).credit(su2, 100)
    for (let i = 0; i < 10; i++) await client.debit(user.serviceUserId, 1)
    const session = await newSession()
    const askedAt = Date.now()
    const { status, body } = await page.wallet(session)
    expect(status).toBe(200)
    expect(body).toMatchObject({ balance: 90, isActive: true, currency: 'USD', app: { name: 'Test shop' } })
    expect(body['user']).toEqual({ firstName: 'Ada', lastName: 'Lovelace', language: null })
    expect((body['transactions'] as { sequence: number }[]).map((t) => t.sequence)).toEqual([
      11, 10, 9, 8, 7, 6, 5, 4, 3, 2,
    ])
    expect(body).not.toHaveProperty('frozenReason')
    expect(Date.parse(String(body['serverTime']))).toBeWithin(askedAt - 1, Date.now() + 1)
    expect(Date.parse(String(body['expiresAt']))).toBeGreaterThan(Date.now())
  })

  test('another app’s transaction is in the widget and not in the server API', async () => {
    const other = await newApp(opened.service)
    await newClient(opened.app.fetch, other).credit(await linkUser(opened.service, other, user.userId), 7)
    expect((await page.wallet(await newSession())).body['transactions']).toHaveLength(1)
    expect((await client.wallet(user.serviceUserId)).body['transactions']).toEqual([])
  })

  test('existing sessions see that a wallet is frozen, and why', async () => {
    const session = await newSession()
    await freezeWallet(opened.service, operator, user.userId, 'a look at it')
    expect((await page.wallet(session)).body).toMatchObject({ isActive: false, frozenReason: 'operator' })
    await unfreezeWallet(opened.service, operator, user.userId, 'fine')
    expect((await page.wallet(session)).body).toMatchObject({ isActive: true })
    const back = { walletId: user.userId, counterAccount: 'cards', amountMinor: -500n, isReversal: true } as const
    await postForService(opened.service, {
      ...back,
      referenceType: 'CHARGEBACK',
      referenceId: newId(),
      description: null,
    })
    expect((await page.wallet(session)).body).toMatchObject({ balance: -5, isActive: false, frozenReason: 'debt' })
    await grantBonus(opened.service, operator, {
      walletId: user.userId,
      amountMinor: 500n,
      referenceId: newId(),
      reason: 'r',
    })
  })

  test('a user lists the apps that use the wallet and disconnects one of them', async () => {
    const other = await newApp(opened.service, { name: 'Other shop' })
    const otherClient = newClient(opened.app.fetch, other)
    const su2 = await linkUser(opened.service, other, user.userId)
    const theirs = await otherClient.post('/api/widget/session', { ...other, serviceUserId: su2 })
    const session = await newSession()
    const own = await pageOnDevice()
    const { body } = await own.get(`/api/widget/links?session=${session}`)
    expect(body['links']).toMatchObject([
      { clientId: credentials.clientId, appName: 'Test shop', isThisApp: true },
      { clientId: other.clientId, appName: 'Other shop', isThisApp: false },
    ])
    const gone = await own.post(`/api/widget/links/disconnect?session=${session}`, { clientId: other.clientId })
    expect(gone.body).toEqual({ message: 'Disconnected.' })
    expect((await otherClient.wallet(su2)).body).toMatchObject({ code: 'USER_NOT_FOUND', requiresAuth: true })
    expect((await otherClient.debit(su2, 1)).status).toBe(404)
    expect((await otherClient.post('/api/widget/session', { ...other, serviceUserId: su2 })).status).toBe(404)
    expect((await page.wallet(theirs.body['sessionToken'])).body['code']).toBe('INVALID_SESSION')
    expect((await own.get(`/api/widget/links?session=${session}`)).body['links']).toHaveLength(1)
    const { rows } = await opened.service.db.pool.query(`select detail from audit where subject = $1`, [
      `user:${user.userId}`,
    ])
    expect(rows).toEqual([{ detail: { clientId: other.clientId } }])
    const mails = await opened.service.db.pool.query('select detail from mails where user_id = $1', [user.userId])
    expect(mails.rows).toMatchObject([{ detail: { kind: 'app-disconnected', clientId: other.clientId } }])
  })

  test('an app connected again after that has another serviceUserId, and the old one stays unknown', async () => {
    await page.post(`/api/widget/links/disconnect?session=${await newSession()}`, { clientId: credentials.clientId })
    const su = await linkUser(opened.service, credentials, user.userId)
    expect(su).not.toBe(user.serviceUserId)
    expect((await client.wallet(user.serviceUserId)).status).toBe(401)
    expect((await client.wallet(su)).status).toBe(200)
  })
})

describe('it refuses', () => {
  test('a session for a user that is unknown or another app’s', async () => {
    const stranger = await newUser(opened.service, await newApp(opened.service))
    for (const serviceUserId of ['su_00000000000000000000000000000000', stranger.serviceUserId]) {
      const { status, body } = await createSession({ serviceUserId })
      expect([status, body['code'], body['requiresAuth']]).toEqual([404, 'USER_NOT_FOUND', true])
    }
  })

  test.each([
    'https://evil.example',
    'http://shop.example',
    'https://shop.example:8443',
    'https://a.shop.example',
    'https://shop.example.evil.example',
  ])('a session for the parent %s, which is not on the list', async (parentOrigin) => {
    const { status, body } = await createSession({ parentOrigin })
    expect([status, body['code']]).toEqual([403, 'ORIGIN_NOT_ALLOWED'])
  })

  test.each([
    'null',
    '*',
    'shop.example',
    'https://shop.example/',
    'https://shop.example/a',
    'javascript:alert(1)',
    '',
  ])('a parent %j, which is no origin', async (parentOrigin) => {
    const { status, body } = await createSession({ parentOrigin })
    expect([status, body['code'], Object.keys(body['fields'] as object)]).toEqual([
      400,
      'INVALID_REQUEST',
      ['parentOrigin'],
    ])
  })

  test('an expired session, with its own code, on every route', async () => {
    const session = await newSession()
    await letPass(opened.service.db.pool, 280_000)
    expect((await page.wallet(session)).status).toBe(200)
    await letPass(opened.service.db.pool, 20_000)
    for (const [method, path, body] of routes(credentials.clientId)) {
      const reply = await page.call(method, `${path}?session=${session}`, body)
      expect([path, reply.status, reply.body['code']]).toEqual([path, 401, 'SESSION_EXPIRED'])
    }
  })

  test('a session that is missing, malformed or unknown, on every route', async () => {
    const unknown = 'ws_3f1c2f0e-6d0b-4c7e-9a53-0d5f4b8f2a11'
    const bad = ['', '?session=', '?session=ws_', `?session=${unknown}`, `?session=${unknown.toUpperCase()}`]
    const worse = [`?session=${'x'.repeat(4000)}`, '?session=%00', '?session=%ED%A0%80', `?session=${unknown}%20`]
    for (const query of [...bad, ...worse]) {
      for (const [method, path, body] of routes(credentials.clientId)) {
        const reply = await page.call(method, path + query, body)
        expect([path, query, reply.status, reply.body['code']]).toEqual([path, query, 401, 'INVALID_SESSION'])
      }
    }
  })

  test('a session given twice with a form, even when one of the two is right', async () => {
    const session = await newSession()
    for (const pair of [`session=${session}&session=x`, `session=x&session=${session}`]) {
      const { status, body } = await page.post(`/api/widget/topup/create-intent?${pair}`, { amount: 5 })
      expect([status, body['fields']]).toEqual([400, { session: 'is given twice' }])
    }
  })

  test('a session given twice', async () => {
    const session = await newSession()
    const reply = await page.get(`/api/widget/wallet?session=${session}&session=${session}`)
    expect([reply.status, reply.body['code'], reply.body['fields']]).toEqual([
      400,
      'INVALID_REQUEST',
      { session: 'is given twice' },
    ])
  })

  test('a session that the user logged out of', async () => {
    const session = await newSession()
    expect((await page.post(`/api/widget/logout?session=${session}`, {})).body).toEqual({ message: 'Signed out.' })
    expect((await page.wallet(session)).body['code']).toBe('INVALID_SESSION')
  })

  test('a session of an app that was deactivated, at once, and takes it again when the app is back', async () => {
    const other = await newApp(opened.service)
    const su = await linkUser(opened.service, other, user.userId)
    const made = await client.post('/api/widget/session', { ...other, serviceUserId: su })
    await setAppActive(opened.service, operator, other.clientId, false)
    expect((await page.wallet(made.body['sessionToken'])).body['code']).toBe('INVALID_SESSION')
    await setAppActive(opened.service, operator, other.clientId, true)
    expect((await page.wallet(made.body['sessionToken'])).status).toBe(200)
  })

  test('disconnecting an app that does not use the wallet', async () => {
    const other = await newApp(opened.service)
    const path = `/api/widget/links/disconnect?session=${await newSession()}`
    const own = await pageOnDevice()
    for (const clientId of [
      other.clientId,
      'app_nobody',
      undefined,
      null,
      5,
      '',
      'a\u0000b',
      'a\ud800b',
      'x'.repeat(1000),
    ]) {
      const reply = await own.post(path, { clientId })
      expect([reply.status, Object.keys(reply.body['fields'] as object)]).toEqual([400, ['clientId']])
    }
  })
})

describe('it is safe', () => {
  test('another site cannot call, even with a valid token, and no answer has CORS headers', async () => {
    const session = await newSession()
    const strangers: Record<string, string>[] = [
      { 'sec-fetch-site': 'cross-site' },
      { 'sec-fetch-site': 'same-site' },
      { 'sec-fetch-site': 'none' },
      { 'sec-fetch-site': '', origin: 'https://evil.example' },
      { 'sec-fetch-site': '', origin: 'null' },
    ]
    for (const headers of strangers) {
      for (const [method, path, body] of [...routes(credentials.clientId), ...authRoutes]) {
        const request = new Request(`http://billfold.test${path}?session=${session}`, {
          method,
          ...(body !== undefined && { body }),
          headers: json(headers),
        })
        const response = await opened.app.fetch(request)
        expect([path, headers, response.status, await codeOf(response)]).toEqual([
          path,
          headers,
          403,
          'CROSS_SITE_REFUSED',
        ])
        expect([...response.headers.keys()].filter((name) => name.startsWith('access-control'))).toEqual([])
      }
    }
    expect((await page.wallet(session)).status).toBe(200)
  })

  test('our own pages can, by whichever name they were reached, also from browsers that send no Sec-Fetch-Site', async () => {
    const session = await newSession()
    const url = `http://localhost:3000/api/widget/wallet?session=${session}`
    const own: Record<string, string>[] = [
      {},
      { origin: 'http://localhost:3000' },
      { origin: 'http://127.0.0.1:3000' },
      { 'sec-fetch-site': 'same-origin' },
    ]
    for (const headers of own) {
      const response = await opened.app.fetch(new Request(url, { headers: { host: 'localhost:3000', ...headers } }))
      expect([headers, response.status]).toEqual([headers, 200])
    }
  })

  test('a secret that comes from a browser makes no session', async () => {
    for (const path of ['/api/widget/session', '/api/server/link/verify']) {
      const body = JSON.stringify({ ...credentials, serviceUserId: user.serviceUserId, linkCode: 'x' })
      const headers = json({ 'sec-fetch-site': 'same-origin' })
      const response = await opened.app.fetch(
        new Request(`http://billfold.test${path}`, { method: 'POST', body, headers }),
      )
      expect(await codeOf(response)).toBe('BROWSER_CALL_REFUSED')
    }
  })

  test('neither a token nor a name gets into the log', async () => {
    const session = await newSession()
    await page.wallet(session)
    await page.get(`/api/widget/nothing-here?session=${session}`).catch(() => {})
    await page.post(`/api/widget/wallet?session=${session}`, {})
    const log = opened.logged.join('')
    expect(log).toContain('/api/widget/wallet')
    expect(log).not.toContain(session)
    expect(log).not.toContain('Lovelace')
  })

  test('a body that is no JSON object is refused without a fault', async () => {
    const path = `/api/widget/logout?session=${await newSession()}`
    for (const body of ['', '[]', 'null', '{', '"x"']) expect((await page.call('POST', path, body)).status).toBe(400)
    expect((await page.call('POST', path, '{}', { 'content-type': 'text/plain' })).status).toBe(415)
    expect((await page.call('POST', path, `{"a":"${'x'.repeat(70_000)}"}`)).status).toBe(413)
  })
})

const json = (headers: Record<string, string>) =>
  Object.fromEntries(
    Object.entries({ 'content-type': 'application/json', ...headers }).filter(([, value]) => value !== ''),
  )
const codeOf = async (response: Response) => ((await response.json()) as { code: string }).code

const routes = (clientId: string): ['GET' | 'POST', string, string | undefined][] => [
  ['GET', '/api/widget/wallet', undefined],
  ['GET', '/api/widget/events', undefined],
  ['GET', '/api/widget/links', undefined],
  ['POST', '/api/widget/links/disconnect', JSON.stringify({ clientId })],
  ['POST', '/api/widget/logout', '{}'],
]
const authRoutes = ['sign-up', 'confirm', 'resend', 'login', 'forgot', 'reset'].map(
  (step): ['POST', string, string] => ['POST', `/api/widget/auth/${step}`, '{}'],
)
