/** What strangers see of the service, and what the service sees of those it refuses. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { createHash } from 'node:crypto'
import { rotateSecret } from '../src/actions/apps/manage-apps.ts'
import { answerMetrics } from '../src/app.ts'
import { callCommand } from './command.ts'
import { newOperator } from './operator.ts'
import { newEmail } from './page.ts'
import { newApp, openTestService, operator, secretsKey, type Credentials, type TestService } from './service.ts'

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

test('production asks browsers for https alone, unless a proxy does', async () => {
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

test('a caller who got around a proxy, and a hop without an address, do not count as this machine', async () => {
  const two = await openTestService({ ...production, HSTS: '0', TRUSTED_PROXIES: '2' })
  expect((await ask(two, '/metrics', { 'x-forwarded-for': '203.0.113.9' })).status).toBe(404)
  await two.close()
  for (const hop of ['unknown', 'unix:', '_hidden', '203.0.113.9,'])
    expect([hop, (await ask(proxied, '/metrics', { 'x-forwarded-for': hop })).status]).toEqual([hop, 404])
})

test.each([
  ['another port', (i: number) => `203.0.113.50:${40_000 + i}`],
  [
    'another address of its IPv6 network, with brackets and a port',
    (i: number) => `[2001:db8:7:7::${i}]:${40_000 + i}`,
  ],
  ['another text that is no address', (i: number) => `unknown-${i}`],
])('a caller that sends %s with each guess is limited like any other', async (_, hopOf) => {
  const { clientId } = await newApp(proxied.service)
  const body = JSON.stringify({ clientId, email: newEmail(), password: 'not this one' })
  const statuses: number[] = []
  for (let i = 0; i < 14; i++) {
    const headers = { 'content-type': 'application/json', 'sec-fetch-site': 'same-origin', 'x-forwarded-for': hopOf(i) }
    const request = new Request('https://wallet.example/api/widget/auth/login', { method: 'POST', headers, body })
    statuses.push((await proxied.app.fetch(request, '10.0.0.7')).status)
  }
  expect(statuses).toEqual([...Array<number>(10).fill(401), ...Array<number>(4).fill(429)])
})

test('with a token the metrics are for callers that have it', async () => {
  expect((await ask(strict, '/metrics', { authorization: `Bearer ${token}` }, '10.0.0.7')).status).toBe(200)
  for (const authorization of ['', 'Bearer', `Bearer ${token}x`, token])
    expect((await ask(strict, '/metrics', { authorization })).status).toBe(404)
})

async function askPort(metricsToken: string | undefined, headers: Record<string, string>, address: string) {
  const request = new Request('http://127.0.0.1:9464/metrics', { headers })
  return (await answerMetrics({ metricsToken }, async () => 'counts', request, address)).status
}

test('on a separate port the metrics are for callers that have the token, or this machine by its socket alone', async () => {
  expect(await askPort(undefined, {}, '127.0.0.1')).toBe(200)
  expect(await askPort(undefined, {}, '10.0.0.7')).toBe(404)
  expect(await askPort(undefined, { 'x-forwarded-for': '127.0.0.1' }, '10.0.0.7')).toBe(404)
  expect(await askPort(undefined, { 'x-forwarded-for': '127.0.0.1' }, '127.0.0.1')).toBe(404)
  expect(await askPort(token, { authorization: `Bearer ${token}` }, '10.0.0.7')).toBe(200)
  expect(await askPort(token, {}, '127.0.0.1')).toBe(404)
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

/** The last four characters of a secret's hash, worked out here and not asked of the service. */
const fingerprint = (secret: string) => createHash('sha256').update(secret).digest('hex').slice(-4)

async function leak({ clientId }: Credentials, clientSecret: string, address = '192.0.2.20'): Promise<void> {
  const query = new URLSearchParams({ clientId, clientSecret, serviceUserId: 'x' })
  const { status } = await ask(opened, `/api/server/wallet?${query}`, { origin: 'https://shop.example' }, address)
  expect(status).toBe(403)
}

async function leaksOnRecord({ clientId }: Credentials): Promise<unknown[]> {
  const { rows } = await opened.service.db.pool.query<{ detail: { fingerprint?: string } }>(
    "select detail from audit where action = 'browser-call.refused' and subject = $1 order by at",
    [`app:${clientId}`],
  )
  return rows.map(({ detail }) => detail.fingerprint)
}

const leaksInLog = ({ clientId }: Credentials): unknown[] =>
  opened.logged
    .map((line) => JSON.parse(line) as Record<string, unknown>)
    .filter((line) => line['message'] === 'a client secret arrived from a browser' && line['clientId'] === clientId)
    .map((line) => line['fingerprint'])

/** As an operator sees them: in the admin area, and by three commands. */
async function shownFingerprints({ clientId }: Credentials): Promise<string[][]> {
  const admin = await newOperator(opened)
  const page = await (await admin.get(`/admin/client-apps/${clientId}/secrets`)).text()
  const inPage = [...page.matchAll(/<td[^>]*><code>([0-9a-f]{4})<\/code><\/td>/g)].map(([, shown]) => shown!)
  const cli = async (...args: string[]) =>
    (await callCommand(args, { DATABASE_URL: opened.databaseUrl, SECRETS_KEY: secretsKey })).stdout
  type Shown = { clientId: string; secrets: { fingerprint: string }[] }
  const show = JSON.parse(await cli('app', 'show', clientId, '--json')) as Shown
  const list = JSON.parse(await cli('app', 'list', '--json')) as { apps: Shown[] }
  const listed = list.apps.find((each) => each.clientId === clientId)!
  const inText = [...(await cli('app', 'show', clientId)).matchAll(/…([0-9a-f]{4}) /g)].map(([, shown]) => shown!)
  return [
    inPage,
    show.secrets.map((secret) => secret.fingerprint),
    listed.secrets.map((secret) => secret.fingerprint),
    inText,
  ].map((each) => each.sort())
}

test('a secret that leaked has one fingerprint, in the log, on record, in the admin area and on the command line', async () => {
  const leaky = await newApp(opened.service)
  const first = fingerprint(leaky.clientSecret)
  await leak(leaky, leaky.clientSecret)
  expect([await leaksOnRecord(leaky), leaksInLog(leaky)]).toEqual([[first], [first]])
  expect(await shownFingerprints(leaky)).toEqual([[first], [first], [first], [first]])
  const { clientSecret } = (await rotateSecret(opened.service, operator, leaky.clientId, '1h'))!
  const second = fingerprint(clientSecret)
  await leak(leaky, clientSecret)
  await leak(leaky, leaky.clientSecret, '192.0.2.21')
  const leaks = [first, second, first]
  const both = [first, second].sort()
  expect([await leaksOnRecord(leaky), leaksInLog(leaky)]).toEqual([leaks, leaks])
  expect(await shownFingerprints(leaky)).toEqual([both, both, both, both])
  const audit = await (await (await newOperator(opened)).get('/admin/audit')).text()
  expect(audit).toContain(second)
})

test('made-up secrets do not keep a real one off the record, and a flood of either is two records a minute', async () => {
  const leaky = await newApp(opened.service)
  for (let i = 0; i < 5; i++) {
    await leak(leaky, `made up ${i}`)
    await leak(leaky, leaky.clientSecret)
  }
  expect(await leaksOnRecord(leaky)).toEqual([undefined, fingerprint(leaky.clientSecret)])
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
