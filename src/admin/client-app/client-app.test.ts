import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { newClient } from '../../../test/client.ts'
import { complaintOf } from '../../../test/embedded-process.ts'
import { postInJanuary } from '../../../test/january.ts'
import { newOperator, type TestOperator } from '../../../test/operator.ts'
import { newApp, newUser, openTestService, type Credentials, type TestService } from '../../../test/service.ts'
import { countCalls, countLinks } from '../../actions/apps/count-calls.ts'
import { fingerprintOf, hashSecret } from '../../actions/tokens.ts'
import { openAppCalls } from '../../store/calls/app-calls.ts'

setDefaultTimeout(180_000)

let rig: TestService
let viewer: TestOperator
let finance: TestOperator
let shop: Credentials

beforeAll(async () => {
  rig = await openTestService()
  viewer = await newOperator(rig, 'viewer')
  finance = await newOperator(rig, 'finance')
  shop = await newApp(rig.service)
})
afterAll(() => rig.close())

const textOf = async (path: string, who = viewer) =>
  (await (await who.get(path)).text()).replace(/<[^>]+>/g, ' ').replace(/\s+/g, ' ')
const pageOf = ({ clientId }: Credentials) => `/admin/client-apps/${clientId}`

test('the page shows what the app was answered, by code and route, its users, its money and its leaked secret', async () => {
  const user = await newUser(rig.service, shop)
  await newUser(rig.service, shop)
  const client = newClient(rig.app.fetch, shop)
  await client.credit(user.serviceUserId, 20, 'c-1')
  await client.debit(user.serviceUserId, 5)
  await client.credit(user.serviceUserId, 20, 'c-1')
  for (let i = 0; i < 3; i++) await client.debit(user.serviceUserId, 500)
  await client.checkBalance(user.serviceUserId, '1')
  await newClient(rig.app.fetch, { ...shop, clientSecret: 'wrong' }).balance(user.serviceUserId)
  await newClient(rig.app.fetch, { clientId: 'app_unknown', clientSecret: 'wrong' }).balance(user.serviceUserId)
  const query = new URLSearchParams({ ...shop, serviceUserId: user.serviceUserId })
  const fromBrowser = new Request(`http://billfold.test/api/server/wallet?${query}`, {
    headers: { origin: 'https://shop.example' },
  })
  await rig.app.fetch(fromBrowser)
  await countCalls(rig.service)
  await countLinks(rig.service)
  const calls = await textOf(`${pageOf(shop)}/calls`)
  for (const line of [
    'ok /api/server/wallet/debit 1 1',
    'ok /api/server/wallet/credit 1 1',
    'replayed /api/server/wallet/credit 1 1',
    'INSUFFICIENT_BALANCE /api/server/wallet/debit 3 3',
    'ok /api/server/wallet/check-balance 1 1',
    'INVALID_CLIENT /api/server/wallet 1 1',
    'BROWSER_CALL_REFUSED /api/server/wallet 1 1',
  ])
    expect(calls).toContain(line)
  const overview = await textOf(pageOf(shop))
  for (const line of [
    'Calls in 24 hours 9',
    'Service errors 0 % in 24 hours',
    'Users linked 2',
    'The app owes, as of now $15.00',
    'A secret that is still valid was seen in a browser',
  ])
    expect(overview).toContain(line)
  const leaked = `leaked ${fingerprintOf(hashSecret(shop.clientSecret))} : rotate it`
  expect(await textOf(`${pageOf(shop)}/secrets`)).toContain(leaked)
  // The notice goes with the secret. The list of leaks stays.
  const admin = await newOperator(rig, 'admin')
  const rotation = { overlap: 'none', form: crypto.randomUUID() }
  expect((await admin.post(`${pageOf(shop)}/secrets`, rotation)).status).toBe(200)
  expect(await textOf(pageOf(shop))).not.toContain('was seen in a browser')
  expect(await textOf(`${pageOf(shop)}/secrets`)).toContain(leaked)
})

test('each tab has its own address, marks itself and links the others, and its forms return to it', async () => {
  const { clientId } = await newApp(rig.service)
  const base = `/admin/client-apps/${clientId}`
  const addresses = ['', '/settings', '/secrets', '/events', '/settlements', '/calls'].map((tab) => base + tab)
  for (const address of addresses) {
    const [, tabs] = /<nav class="tabs"[^>]*>(.*?)<\/nav>/s.exec(await (await viewer.get(address)).text())!
    expect([...tabs!.matchAll(/href="([^"]+)"/g)].map(([, href]) => href!)).toEqual(addresses)
    expect([...tabs!.matchAll(/href="([^"]+)" aria-current="page"/g)].map(([, href]) => href!)).toEqual([address])
  }
  const admin = await newOperator(rig, 'admin')
  const placeOf = async (path: string, fields: Record<string, string | string[]>) =>
    (await admin.post(base + path, fields)).headers.get('location')?.split('?')[0]
  expect(await placeOf('', { name: 'Renamed', scopes: ['wallet:read'] })).toBe(`${base}/settings`)
  expect(await placeOf('/active', { to: 'inactive' })).toBe(`${base}/settings`)
  const wrong = await admin.post(base, { name: '', scopes: ['wallet:read'] })
  expect([wrong.status, await wrong.text()]).toEqual([
    422,
    expect.stringContaining(`href="${base}/settings" aria-current="page"`),
  ])
  const shown = await (await admin.post(`${base}/secrets`, { overlap: '1h', form: crypto.randomUUID() })).text()
  expect(shown).toContain(`data-address="${base}/secrets"`)
  const [, old] = /secrets\/([0-9a-f-]{36})\/revoke/.exec(await (await admin.get(`${base}/secrets`)).text())!
  expect(await placeOf(`/secrets/${old}/revoke`, {})).toBe(`${base}/secrets`)
})

test('a viewer sees every tab, and none of their forms', async () => {
  const { clientId } = await newApp(rig.service)
  for (const tab of ['', '/settings', '/secrets', '/events', '/settlements', '/calls']) {
    const response = await viewer.get(`/admin/client-apps/${clientId}${tab}`)
    const main = (await response.text()).split('<main')[1]!
    expect([tab, response.status, main.includes('method="post"')]).toEqual([tab, 200, false])
    expect((await viewer.get(`/admin/client-apps/app_unknown${tab}`)).status).toBe(404)
  }
})

test('what two processes counted is added up, and what could not be written is kept', async () => {
  const other = await newApp(rig.service)
  const counters = [openAppCalls(), openAppCalls()]
  for (const appCalls of counters) {
    appCalls.record(other.clientId, '/api/x', 'ok', performance.now())
    const away = { pool: { query: () => Promise.reject(new Error('away')) } } as unknown as typeof rig.service.db
    expect(await complaintOf(countCalls({ ...rig.service, appCalls, db: away }))).toBe('away')
    appCalls.record(other.clientId, '/api/x', 'ok', performance.now())
  }
  await Promise.all(counters.map((appCalls) => countCalls({ ...rig.service, appCalls })))
  await Promise.all(counters.map((appCalls) => countCalls({ ...rig.service, appCalls })))
  expect(await textOf(`${pageOf(other)}/calls`)).toContain('ok /api/x 4 4')
})

test('a period is marked as paid out once by a double click, reversed on record, and is in the file', async () => {
  const other = await newApp(rig.service)
  await postInJanuary(rig.service, other.clientId)
  const path = `${pageOf(other)}/settlements`
  const form = await (await finance.get(`${path}?through=2026-01-31`)).text()
  const [, id] = /name="id" value="([^"]+)"/.exec(form)!
  const [, amount] = /name="amount" value="([^"]+)"/.exec(form)!
  const fields = { id: id!, amount: amount!, through: '2026-01-31', reference: '=SEPA 4711' }
  const clicks = await Promise.all([finance.post(path, fields), finance.post(path, fields)])
  expect([amount, ...clicks.map((click) => click.status)]).toEqual(['1000', 303, 303])
  expect((await finance.post(path, { ...fields, id: crypto.randomUUID() })).status).toBe(409)
  for (const wrong of [{ id: 'x' }, { through: '2026-02-30' }, { amount: '1e3' }, { reference: ' ' }])
    expect((await finance.post(path, { ...fields, ...wrong })).status).toBe(422)
  expect(await textOf(path)).toContain('the beginning – 2026-01-31 $10.00 =SEPA 4711')
  const back = { id: crypto.randomUUID(), reason: 'the bank sent it back' }
  for (const click of await Promise.all([1, 2].map(() => finance.post(`${path}/${id}/reverse`, back))))
    expect(click.status).toBe(303)
  const file = await (await viewer.get(`/admin/settlements.csv?app=${other.clientId}`)).text()
  const lines = file.trim().split('\r\n')
  expect(lines).toHaveLength(3)
  expect(lines[1]).toContain('2,,2026-01-31,-10.00,USD,the bank sent it back')
  expect(lines[2]).toContain("1,,2026-01-31,10.00,USD,'=SEPA 4711")
  expect(await textOf(path)).toContain('Owed to the app, as of now $10.00')
})
