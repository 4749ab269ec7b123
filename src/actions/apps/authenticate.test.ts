import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { fingerprintOf, hashSecret } from '../tokens.ts'
import { newClient } from '../../../test/client.ts'
import { newApp, newUser, openTestService, operator, type TestService } from '../../../test/service.ts'
import { letPass } from '../../../test/time.ts'
import { revokeSecret, rotateSecret, setAppActive, updateApp } from './manage-apps.ts'

let opened: TestService

beforeAll(async () => {
  opened = await openTestService()
})
afterAll(() => opened.close())

const client = (credentials: { clientId: string; clientSecret: string }, address = '127.0.0.1') =>
  newClient((request) => opened.app.fetch(request, address), credentials)

describe('secrets', () => {
  test('a secret that was rotated lives on for the overlap, and then no longer', async () => {
    const app = await newApp(opened.service)
    const { serviceUserId } = await newUser(opened.service, app)
    const rotated = await rotateSecret(opened.service, operator, app.clientId, '1h')
    const renewed = { clientId: app.clientId, clientSecret: rotated!.clientSecret }
    expect((await client(app).wallet(serviceUserId)).status).toBe(200)
    expect((await client(renewed).wallet(serviceUserId)).status).toBe(200)
    await letPass(opened.service.db.pool, 3_600_000)
    await opened.service.apps.refresh()
    expect((await client(app).wallet(serviceUserId)).status).toBe(401)
    expect((await client(renewed).wallet(serviceUserId)).status).toBe(200)
  })

  test('a secret that was rotated without overlap, or revoked, is dead at once', async () => {
    const app = await newApp(opened.service)
    const { serviceUserId } = await newUser(opened.service, app)
    const rotated = await rotateSecret(opened.service, operator, app.clientId, 'none')
    expect((await client(app).wallet(serviceUserId)).status).toBe(401)
    const renewed = { clientId: app.clientId, clientSecret: rotated!.clientSecret }
    const [newest] = (await opened.service.apps.find(app.clientId))!.secrets
    expect(await revokeSecret(opened.service, operator, app.clientId, newest!.id)).toBeTrue()
    expect((await client(renewed).wallet(serviceUserId)).status).toBe(401)
  })

  test('a secret of an inactive app, of an unknown app and a wrong one get the same answer', async () => {
    const app = await newApp(opened.service)
    await setAppActive(opened.service, operator, app.clientId, false)
    const unknown = { clientId: 'app_unknown', clientSecret: app.clientSecret }
    const other = await newApp(opened.service)
    const wrong = { clientId: other.clientId, clientSecret: app.clientSecret }
    const replies = await Promise.all([app, unknown, wrong].map((who) => client(who).wallet('su_x')))
    for (const { status, body } of replies) {
      expect(status).toBe(401)
      expect({ ...body, requestId: '' }).toEqual({ ...replies[0]!.body, requestId: '' })
    }
  })

  test('a secret that is wrong is slowed for that app and address alone, and the right one never', async () => {
    const app = await newApp(opened.service)
    const { serviceUserId } = await newUser(opened.service, app)
    const wrong = client({ ...app, clientSecret: 'bfs_wrong' }, '10.1.1.1')
    const replies = await Promise.all(Array.from({ length: 90 }, () => wrong.wallet(serviceUserId)))
    const statuses = replies.map((reply) => reply.status)
    expect(new Set(statuses)).toEqual(new Set([401, 429]))
    const limited = replies.find((reply) => reply.status === 429)!
    expect(Number(limited.headers.get('retry-after'))).toBeGreaterThan(0)
    expect((await client(app, '10.1.1.1').wallet(serviceUserId)).status).toBe(200)
    expect((await client({ ...app, clientSecret: 'bfs_wrong' }, '10.1.1.2').wallet(serviceUserId)).status).toBe(401)
  })

  test('a browser at many addresses of one IPv6 network is recorded once, and its wrong secrets are slowed together', async () => {
    const app = await newApp(opened.service)
    const body = JSON.stringify({ ...app, clientSecret: 'wrong' })
    const headers = { 'content-type': 'application/json', origin: 'https://shop.example' }
    for (let i = 1; i <= 5; i++) {
      const request = new Request('http://billfold.test/api/server/wallet/debit', { method: 'POST', headers, body })
      expect((await opened.app.fetch(request, `2001:db8:5:5::${i}`)).status).toBe(403)
    }
    const { rows } = await opened.service.db.pool.query(
      'select address from audit where subject = $1 and action = $2',
      [`app:${app.clientId}`, 'browser-call.refused'],
    )
    expect(rows).toEqual([{ address: '2001:db8:5:5::1' }])
    const guesses = Array.from({ length: 90 }, (_, i) =>
      client({ ...app, clientSecret: 'bfs_wrong' }, `2001:db8:5:6::${i}`).wallet('su_x'),
    )
    expect(new Set((await Promise.all(guesses)).map(({ status }) => status))).toEqual(new Set([401, 429]))
  })

  test('a secret is noted when it is used', async () => {
    const app = await newApp(opened.service)
    await client(app).wallet('su_x')
    const uses = async () => {
      const { rows } = await opened.service.db.pool.query(
        'select 1 from app_secret_uses u join app_secrets s on s.id = u.secret_id where s.client_id = $1',
        [app.clientId],
      )
      return rows.length
    }
    // In the background.
    for (let tries = 0; tries < 600 && (await uses()) === 0; tries++) await Bun.sleep(50)
    expect(await uses()).toBe(1)
  })

  test('a secret is in no table, only its hash', async () => {
    const app = await newApp(opened.service)
    const { rows } = await opened.service.db.pool.query(
      `select s::text, a::text from app_secrets s join apps a using (client_id) union all select audit::text, '' from audit`,
    )
    expect(JSON.stringify(rows)).not.toContain(app.clientSecret)
  })

  test('a secret that comes from a browser is refused, right or wrong, and either goes on record once', async () => {
    const app = await newApp(opened.service)
    const from = (headers: Record<string, string>, clientSecret = app.clientSecret) =>
      opened.app.fetch(
        new Request('http://billfold.test/api/server/wallet/debit', {
          method: 'POST',
          headers: { 'content-type': 'application/json', ...headers },
          body: JSON.stringify({ clientId: app.clientId, clientSecret }),
        }),
        '10.2.2.2',
      )
    for (const [name, value] of [
      ['origin', 'https://shop.example'],
      ['sec-fetch-site', 'cross-site'],
      ['sec-fetch-site', 'same-origin'],
      ['sec-fetch-site', 'none'],
      ['origin', 'null'],
    ] as const) {
      const response = await from({ [name]: value })
      expect(response.status).toBe(403)
      expect(await response.json()).toMatchObject({ code: 'BROWSER_CALL_REFUSED' })
    }
    for (const [name, value] of [
      ['origin', 'https://shop.example'],
      ['sec-fetch-site', 'cross-site'],
    ] as const)
      expect((await from({ [name]: value }, 'wrong')).status).toBe(403)
    const inQuery = `http://billfold.test/api/server/wallet?${new URLSearchParams({ ...app, serviceUserId: 'su_x' })}`
    const got = await opened.app.fetch(
      new Request(inQuery, { headers: { 'sec-fetch-site': 'cross-site' } }),
      '10.2.2.2',
    )
    expect(got.status).toBe(403)
    const counted = await opened.service.metrics.render()
    expect(counted).toContain('billfold_browser_calls_total{secret="real"} 6\n')
    expect(counted).toContain('billfold_browser_calls_total{secret="made-up"} 7\n')
    const { rows } = await opened.service.db.pool.query(
      'select address, detail from audit where subject = $1 and action = $2 order by at',
      [`app:${app.clientId}`, 'browser-call.refused'],
    )
    expect(rows).toEqual([
      { address: '10.2.2.2', detail: { fingerprint: fingerprintOf(hashSecret(app.clientSecret)) } },
      { address: '10.2.2.2', detail: {} },
    ])
  })
})

test('a secret that has ended and comes from a browser has no fingerprint on record: nothing must be revoked', async () => {
  const app = await newApp(opened.service)
  await rotateSecret(opened.service, operator, app.clientId, 'none')
  const response = await opened.app.fetch(
    new Request('http://billfold.test/api/server/wallet/debit', {
      method: 'POST',
      headers: { 'content-type': 'application/json', origin: 'https://shop.example' },
      body: JSON.stringify(app),
    }),
  )
  expect(response.status).toBe(403)
  const { rows } = await opened.service.db.pool.query(
    `select detail from audit where subject = $1 and action = 'browser-call.refused'`,
    [`app:${app.clientId}`],
  )
  expect(rows).toEqual([{ detail: {} }])
})

test('a change of scopes holds at once', async () => {
  const app = await newApp(opened.service)
  const found = (await opened.service.apps.find(app.clientId))!
  await updateApp(opened.service, operator, app.clientId, { ...found, scopes: ['wallet:read'] })
  expect((await client(app).debit('su_x', 1)).body['code']).toBe('INSUFFICIENT_SCOPE')
})
