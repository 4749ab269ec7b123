import { afterAll, beforeAll, beforeEach, expect, test } from 'bun:test'
import { newClient } from '../../../test/client.ts'
import { holdClient } from '../../../test/holds.ts'
import { newOperator, type TestOperator } from '../../../test/operator.ts'
import { openBench, type Bench, type Payer } from '../../../test/topup/rig.ts'

let bench: Bench
let admin: TestOperator
let viewer: TestOperator
let payer: Payer
let path: string
let id: string

beforeAll(async () => {
  bench = await openBench({}, 20_000)
  admin = await newOperator(bench.opened)
  viewer = await newOperator(bench.opened, 'viewer')
})
beforeEach(async () => {
  payer = await bench.newPayer()
  id = await payer.begin(25)
  bench.standIn.state.pay(id)
  await payer.confirm(id)
  path = `/admin/topups/${(await bench.topup(id)).id}`
})
afterAll(async () => {
  await bench.expectReconciled()
  await bench.close()
})

const text = async (response: Promise<Response>) => await (await response).text()
const keyOf = (html: string) => /name="key" value="([^"]+)"/.exec(html)![1]!

test('the list shows every top-up, or one user’s, and leads to each', async () => {
  for (const query of ['', `?user=${payer.userId}`])
    expect(await text(viewer.get(`/admin/topups${query}`))).toContain(id)
  const other = await bench.newPayer()
  expect(await text(viewer.get(`/admin/topups?user=${other.userId}`))).toContain('No top-ups yet')
  expect(await text(viewer.get('/admin/topups?state=problem'))).not.toContain(id)
  const html = await text(viewer.get(path))
  expect(html).toContain('$25.00')
  expect(html).not.toContain('Refund</h2>')
})

test('the list goes on from page to page, and shows each once', async () => {
  const seen: string[] = []
  for (let i = 0; i < 6; i++) {
    const rich = await bench.newPayer()
    for (let j = 0; j < 10; j++) await rich.begin(2)
  }
  for (let next: string | undefined = '/admin/topups'; next;) {
    const html: string = await text(viewer.get(next))
    seen.push(...[...html.matchAll(/<code>(pi_\w+)<\/code>/g)].map((match) => match[1]!))
    next = /href="([^"]+)" rel="next"/.exec(html)?.[1]?.replaceAll('&amp;', '&')
  }
  expect(new Set(seen).size).toBe(seen.length)
  expect(seen.length).toBe(bench.standIn.state.intents.size)
})

test('a refund is shown first, then made once, however often its form is sent', async () => {
  const shown = await text(admin.post(`${path}/refund`, { amount: '10', reason: 'as agreed' }))
  expect(shown).toContain('$15.00')
  expect(await payer.balance()).toBe(25)
  const form = { amount: '10', reason: 'as agreed', key: keyOf(shown) }
  for (let time = 0; time < 3; time++) expect((await admin.post(`${path}/refund/order`, form)).status).toBe(303)
  expect(await payer.entries()).toEqual(['TOPUP 25', 'TOPUP_REFUND -10'])
  expect(await text(admin.get(path))).toContain('partly refunded')
})

test('a refund of money that is spent is warned about', async () => {
  await payer.client.debit(payer.serviceUserId, 20)
  expect(await text(admin.post(`${path}/refund`, { amount: '10', reason: 'x' }))).toContain('falls below zero')
})

test.each(['25.01', '0', '-1', 'abc', ''])('a refund of %p is refused where it is typed', async (amount) => {
  const response = await admin.post(`${path}/refund`, { amount, reason: 'x' })
  expect(response.status).toBe(422)
  expect(await response.text()).toContain('at most 25.00')
})

test('more than the processor gives back is refused by the processor, and nothing moves', async () => {
  const form = { amount: '25.01', reason: 'x', key: crypto.randomUUID() as string }
  expect((await admin.post(`${path}/refund/order`, form)).status).toBe(409)
  expect(await payer.balance()).toBe(25)
})

test('a payment that is not what was ordered is marked, and can be refunded without touching the wallet', async () => {
  const odd = await payer.begin(25)
  Object.assign(bench.standIn.state.intent(odd), { amount: 2400 })
  bench.standIn.state.pay(odd)
  await payer.confirm(odd)
  expect(await text(viewer.get('/admin/topups?state=problem'))).toContain(odd)
  const here = `/admin/topups/${(await bench.topup(odd)).id}`
  expect(await text(viewer.get(here))).toContain('Nothing was credited')
  const form = { amount: '24', reason: 'not ordered', key: crypto.randomUUID() as string }
  expect((await admin.post(`${here}/refund/order`, form)).status).toBe(303)
  expect(await payer.balance()).toBe(25)
})

test('an unknown top-up is not found', async () => {
  for (const unknown of [crypto.randomUUID(), 'x'])
    expect((await admin.get(`/admin/topups/${unknown}`)).status).toBe(404)
})

test('a refund of money that an app holds warns that the wallet will be frozen', async () => {
  const payer = await bench.newPayer()
  const payment = await payer.begin(25)
  bench.standIn.state.pay(payment)
  await payer.confirm(payment)
  const client = newClient(bench.app.fetch, bench.credentials)
  await holdClient(client, bench.credentials).place(payer.serviceUserId, 20)
  const { id } = await bench.topup(payment)
  const confirm = async (amount: string) =>
    await (await admin.post(`/admin/topups/${id}/refund`, { amount, reason: 'as agreed' })).text()
  expect(await confirm('5')).not.toContain('Apps hold more than would be left')
  expect(await confirm('5.01')).toContain('Apps hold more than would be left')
})
