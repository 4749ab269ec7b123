/** The sandbox in two real processes: its webhooks travel over HTTP back to the service, in every mode its panel offers. */
import { afterAll, afterEach, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { deliveryModes, type DeliveryMode } from '../../sandbox/events.ts'
import { writeSettings } from '../../sandbox/settings.ts'
import { expectBalancedBooks } from '../books.ts'
import { newClient } from '../client.ts'
import { newPage } from '../page.ts'
import { startProcess, type ServiceProcess } from '../process.ts'
import { newApp, newUser, openTestService, type Credentials, type TestService } from '../service.ts'
import { makeTopupsDue } from '../time.ts'

setDefaultTimeout(180_000)

let opened: TestService
let processes: ServiceProcess[]
let credentials: Credentials

beforeAll(async () => {
  opened = await openTestService({ CARD_PROCESSOR: 'sandbox' })
  const environment = { DATABASE_URL: opened.databaseUrl, CARD_PROCESSOR: 'sandbox' }
  processes = await Promise.all([startProcess(environment), startProcess(environment)])
  credentials = await newApp(opened.service)
})
afterEach(() => expectBalancedBooks(opened.service))
afterAll(async () => {
  await Promise.all(processes.map((one) => one.stop()))
  await opened.close()
})

async function pay(mode: DeliveryMode, number: string) {
  const { send, url } = processes[0]!
  await writeSettings(opened.service.sandbox!.store, { mode, outage: false })
  const { serviceUserId, userId } = await newUser(opened.service, credentials)
  const client = newClient(send, credentials, url)
  const { body } = await client.post('/api/widget/session', { ...credentials, serviceUserId })
  const page = newPage(send, url)
  const session = String(body['sessionToken'])
  const intent = (await page.post(`/api/widget/topup/create-intent?session=${session}`, { amount: 25 })).body
  const { paymentIntentId, clientSecret } = intent as Record<string, string>
  const card = { paymentIntentId, clientSecret, number, expiry: '12 / 40', cvc: '123' }
  const paid = await fetch(`${processes[1]!.url}/sandbox/confirm`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(card),
  })
  expect(paid.status).toBe(200)
  const entries = async () => ((await client.wallet(serviceUserId)).body['transactions'] as object[]).length
  return { client, serviceUserId, userId, entries, paymentIntentId, page, session }
}

async function until(probe: () => Promise<boolean>, withinMs = 60_000): Promise<boolean> {
  for (const endsAt = Date.now() + withinMs; Date.now() < endsAt; await Bun.sleep(50)) if (await probe()) return true
  return false
}

const delivered = async (id: string) => {
  const { rows } = await opened.service.db.pool.query<{ document: string }>(
    'select document from sandbox_payments where id = $1',
    [id],
  )
  const { events } = JSON.parse(rows[0]!.document) as {
    events: { deliveries: { state: string; answered?: number }[] }[]
  }
  return events.flatMap((event) => event.deliveries)
}

test.each(['once', 'twice', 'out-of-order'] as const)(
  'a payment whose webhooks come %s is credited once, without the browser’s help',
  async (mode) => {
    const { client, serviceUserId, entries, paymentIntentId } = await pay(mode, '4242424242424242')
    expect(await until(async () => (await client.balance(serviceUserId)) === 25)).toBeTrue()
    const isOver = async () => (await delivered(paymentIntentId!)).every(({ state }) => state === 'delivered')
    expect(await until(isOver)).toBeTrue()
    expect((await delivered(paymentIntentId!)).length).toBe(mode === 'twice' ? 2 : 1)
    expect(await entries()).toBe(1)
  },
)

test('a payment whose webhook never comes is credited by a sweeper', async () => {
  const { client, serviceUserId, userId, entries } = await pay('never', '4242424242424242')
  await Bun.sleep(1_000)
  expect(await client.balance(serviceUserId)).toBe(0)
  await makeTopupsDue(opened.service.db.pool, 'user_id = $1', [userId])
  expect(await until(async () => (await client.balance(serviceUserId)) === 25)).toBeTrue()
  expect(await entries()).toBe(1)
})

test('a payment whose webhook is late is credited by confirm in the meantime, and only once', async () => {
  const { page, session, paymentIntentId, entries } = await pay('late', '4242424242424242')
  const { body } = await page.post(`/api/widget/topup/confirm?session=${session}`, { paymentIntentId })
  expect(body).toMatchObject({ status: 'succeeded', balance: 25 })
  expect(await entries()).toBe(1)
})

test('a card that is disputed later takes the money back by webhook', async () => {
  const { client, serviceUserId, entries } = await pay('once', '4000000000000259')
  expect(await until(async () => (await entries()) === 2)).toBeTrue()
  expect(await client.balance(serviceUserId)).toBe(0)
})

test('every mode of the panel is tested here', () => {
  expect([...deliveryModes].sort((a, b) => a.localeCompare(b))).toEqual([
    'late',
    'never',
    'once',
    'out-of-order',
    'twice',
  ])
})
