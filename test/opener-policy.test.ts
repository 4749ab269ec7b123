/** Every HTML page says which windows of other sites keep a handle on it: none, except where a window has to talk. */
import { afterAll, expect, setDefaultTimeout, test } from 'bun:test'
import { adminRoutes } from '../src/admin/pages.tsx'
import { adminForms } from './admin-forms.ts'
import { newClient } from './client.ts'
import { deviceOf } from './devices.ts'
import { host, newOperator } from './operator.ts'
import { newPage } from './page.ts'
import { openRig } from './routes/rig.ts'
import { openTestService } from './service.ts'
import { openBench } from './topup/rig.ts'

setDefaultTimeout(180_000)

const bench = await openBench({}, 20_000)
const sandboxed = await openTestService()
const rig = await openRig(bench.opened)
const sandboxRig = await openRig(sandboxed)
const admin = await newOperator(bench.opened)
const { forms, signedIn } = adminForms(bench, admin)
afterAll(async () => {
  await bench.close()
  await sandboxed.close()
})

const header = 'cross-origin-opener-policy'
const session = await rig.sessionOf(rig.owner.serviceUserId)

const policyOf = async (request: Request, { app } = bench.opened) => {
  const { headers } = await app.fetch(request)
  return headers.get('content-type')?.startsWith('text/html') ? headers.get(header) : 'not a page'
}
const get = (path: string, headers: Record<string, string> = {}) => new Request(host + path, { headers })
const post = (path: string, fields: Record<string, string>) =>
  new Request(host + path, { method: 'POST', body: new URLSearchParams(fields) })

const ids: Readonly<Record<string, string>> = {
  '/admin/client-apps/': rig.app.clientId,
  '/admin/topups/': (await forms['/admin/topups/:id/refund']!.make()).path!['id']!,
  '/admin/': rig.owner.userId,
}

test('every page of the admin area, found or not, is separated from other sites', async () => {
  let pages = 0
  for (const route of [...adminRoutes, { method: 'GET', path: '/admin/nowhere', access: 'view' }]) {
    if (route.method !== 'GET') continue
    const [, id = ''] = Object.entries(ids).find(([start]) => route.path.startsWith(start)) ?? []
    const stage = route.access === 'code' || route.access === 'enrol' ? route.access : undefined
    const cookie = stage ? (await signedIn(stage)).cookies.get('billfold-session')! : admin.token
    const path = `${route.path.replace(/:\w+/g, id)}?month=2026-01&from=2026-01-01&until=2026-01-31`
    const policy = await policyOf(get(path, { cookie: `billfold-session=${cookie}` }))
    if (policy === 'not a page') continue
    expect([route.path, policy]).toEqual([route.path, 'same-origin'])
    pages++
  }
  expect(pages).toBeGreaterThan(20)
})

test('papers, the page that stops mails, explanations and documents are separated from other sites', async () => {
  const { cookie } = await deviceOf(bench.service, { userId: rig.owner.userId, clientId: rig.app.clientId })
  const order = { kind: 'receipt', sequence: 1, lang: 'en', timeZone: 'UTC' }
  const ordered = await newPage(bench.app.fetch, undefined, { cookie }).post(
    `/api/widget/papers?session=${session}`,
    order,
  )
  const paper = String(ordered.body['path'])
  const requests = [
    get(paper),
    get(paper),
    get('/mails/stop?token=none'),
    post('/mails/stop?token=none', {}),
    get('/widget/wallet?clientId=none'),
    get('/widget/topup?clientId=none'),
    get('/docs'),
    get('/verify'),
    get('/verify/none'),
  ]
  for (const request of requests) expect([request.url, await policyOf(request)]).toEqual([request.url, 'same-origin'])
  expect(await policyOf(get('/sandbox/panel'), sandboxed)).toBe('same-origin')
})

test('only the wallet, which opens the top-up window, and the pages of that window keep a handle', async () => {
  expect(await policyOf(get(`/widget/wallet?session=${session}`))).toBe('same-origin-allow-popups')
  expect(await policyOf(get(`/widget/topup?session=${session}`))).toBe('unsafe-none')
  const { serviceUserId } = await sandboxRig.newUser()
  const payer = await sandboxRig.sessionOf(serviceUserId)
  const client = newClient(sandboxed.app.fetch, sandboxRig.app)
  const { body } = await client.post(`/api/widget/topup/create-intent?session=${payer}`, { amount: 25 })
  const secret = `secret=${encodeURIComponent(String(body['clientSecret']))}`
  const card = get(`/sandbox/card/${String(body['paymentIntentId'])}?${secret}`)
  expect(await policyOf(card, sandboxed)).toBe('unsafe-none')
})
