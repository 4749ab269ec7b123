/** What strangers see of the service, and what the service sees of those it refuses. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { fingerprintOf, hashSecret } from '../src/actions/tokens.ts'
import { newApp, openTestService, type Credentials, type TestService } from './service.ts'

const production = {
  NODE_ENV: 'production',
  PUBLIC_URL: 'https://wallet.example',
  SMTP_URL: 'smtp://127.0.0.1:1',
  CARD_PROCESSOR: 'none',
}
const token = 'a-token-for-prometheus'
let opened: TestService
let strict: TestService
let proxied: TestService
let app: Credentials

beforeAll(async () => {
  opened = await openTestService()
  strict = await openTestService({ ...production, METRICS_TOKEN: token })
  proxied = await openTestService({ ...production, HSTS: '0', TRUSTED_PROXIES: '1' })
  app = await newApp(opened.service)
})
afterAll(async () => {
  for (const each of [opened, strict, proxied]) await each.close()
})

const ask = (where: TestService, path: string, headers: Record<string, string> = {}, address = '127.0.0.1') =>
  where.app.fetch(new Request(`https://wallet.example${path}`, { headers }), address)

test('production tells browsers to come by https alone, unless a proxy does', async () => {
  for (const path of ['/healthz', '/admin/sign-in', '/nowhere', '/api/server/wallet'])
    expect((await ask(strict, path)).headers.get('strict-transport-security')).toBe('max-age=31536000')
  for (const where of [opened, proxied])
    expect((await ask(where, '/healthz')).headers.has('strict-transport-security')).toBe(false)
})

test('without a token the metrics are for this machine alone', async () => {
  expect((await ask(opened, '/metrics', {}, '127.0.0.1')).status).toBe(200)
  expect((await ask(opened, '/metrics', {}, '::1')).status).toBe(200)
  expect((await ask(opened, '/metrics', {}, '10.0.0.7')).status).toBe(404)
  expect((await ask(opened, '/metrics', { 'x-forwarded-for': '127.0.0.1' })).status).toBe(404)
  expect((await ask(proxied, '/metrics', { 'x-forwarded-for': '203.0.113.9' })).status).toBe(404)
  expect((await ask(proxied, '/metrics', { 'x-forwarded-for': '127.0.0.1' }, '10.0.0.7')).status).toBe(200)
})

test('with a token the metrics are for whoever has it', async () => {
  expect((await ask(strict, '/metrics', { authorization: `Bearer ${token}` }, '10.0.0.7')).status).toBe(200)
  for (const authorization of ['', 'Bearer', `Bearer ${token}x`, token])
    expect((await ask(strict, '/metrics', { authorization })).status).toBe(404)
})

test('a refused call is counted and on record with its address and app, and without its secret', async () => {
  for (let i = 0; i < 3; i++)
    await ask(opened, `/api/server/wallet?clientId=${app.clientId}&clientSecret=guess&serviceUserId=x`, {}, '192.0.2.7')
  await ask(opened, '/api/server/wallet?clientId=hunter2&clientSecret=guess&serviceUserId=x', {}, '192.0.2.8')
  const lines = opened.logged.filter((line) => line.includes('a call was refused'))
  expect(lines.map((line) => JSON.parse(line) as unknown)).toMatchObject([
    { level: 'info', route: '/api/server/wallet', status: 401, address: '192.0.2.7', clientId: app.clientId },
    { level: 'info', route: '/api/server/wallet', status: 401, address: '192.0.2.8' },
  ])
  expect(lines.join()).not.toMatch(/guess|hunter2/)
  const text = await (await ask(opened, '/metrics')).text()
  expect(text).toContain('billfold_refused_calls_total{route="/api/server/wallet",status="401"} 4')
})

test('the record of a secret that came from a browser says which one it was', async () => {
  const query = new URLSearchParams({ ...app, serviceUserId: 'x' })
  const { status } = await ask(opened, `/api/server/wallet?${query}`, { origin: 'https://shop.example' })
  expect(status).toBe(403)
  const { rows } = await opened.service.db.pool.query<{ detail: unknown }>(
    "select detail from audit where action = 'browser-call.refused'",
  )
  expect(rows).toEqual([{ detail: { fingerprint: fingerprintOf(hashSecret(app.clientSecret)) } }])
})

const call = (where: TestService) =>
  where.app.fetch(
    new Request('https://evil.example/api/widget/auth/login', {
      method: 'POST',
      headers: { origin: 'https://evil.example', host: 'evil.example', 'content-type': 'application/json' },
      body: '{}',
    }),
  )

test('in production a Host that agrees with a foreign Origin makes no page our own', async () => {
  expect(await (await call(strict)).json()).toMatchObject({ code: 'CROSS_SITE_REFUSED' })
  expect(await (await call(opened)).json()).not.toMatchObject({ code: 'CROSS_SITE_REFUSED' })
})
