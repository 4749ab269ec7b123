import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { newClient, type Client } from '../../../test/client.ts'
import { deviceOf } from '../../../test/devices.ts'
import { holdClient, holdOf, letHoldsAge, sweepHolds } from '../../../test/holds.ts'
import { newPage, type Page } from '../../../test/page.ts'
import {
  linkUser,
  newApp,
  newUser,
  openTestService,
  type Credentials,
  type TestService,
} from '../../../test/service.ts'

setDefaultTimeout(120_000)

let opened: TestService
let page: Page
let app: Credentials
let other: Credentials
let client: Client
let others: Client

beforeAll(async () => {
  opened = await openTestService()
  app = await newApp(opened.service, { name: 'Bookshop' })
  other = await newApp(opened.service, { name: 'Pharmacy' })
  page = newPage(opened.app.fetch)
  client = newClient(opened.app.fetch, app)
  others = newClient(opened.app.fetch, other)
})
afterAll(() => opened.close())

/** A user of both apps with 100 in the wallet, a session of the first app, and the browser where the user signed in. */
async function newPerson() {
  const { userId, serviceUserId } = await newUser(opened.service, app)
  const otherId = await linkUser(opened.service, other, userId)
  await client.credit(serviceUserId, 100)
  const { body } = await client.post('/api/widget/session', { ...app, serviceUserId })
  const session = String(body['sessionToken'])
  const { deviceToken } = await deviceOf(opened.service, { userId, clientId: app.clientId })
  const cookie = { cookie: `__Host-billfold-device=${deviceToken}` }
  const read = (headers: Record<string, string> = {}) =>
    page.call('GET', `/api/widget/holds?session=${session}`, undefined, headers)
  return { userId, serviceUserId, otherId, session, cookie, read }
}

test('an open hold is in the wallet and in the list, with its app, text, amounts and end', async () => {
  const { serviceUserId, session, read } = await newPerson()
  const mine = holdClient(client, app)
  const placed = holdOf(await mine.place(serviceUserId, 18, { description: 'Order 1042', referenceId: 'order-1042' }))
  const shown = {
    id: placed.id,
    amount: 18,
    captured: 0,
    remaining: 18,
    referenceType: 'ORDER',
    referenceId: 'order-1042',
    description: 'Order 1042',
    createdAt: placed.createdAt,
    expiresAt: placed.expiresAt,
    app: { clientId: app.clientId, name: 'Bookshop', logo: null, color: expect.any(String) },
  }
  const figures = { balance: 100, available: 82, held: 18 }
  expect((await read()).body).toEqual({ ...figures, holds: [shown], currency: 'USD' })
  expect((await page.wallet(session)).body).toMatchObject({ ...figures, holds: [shown] })

  await mine.capture(placed.id, { amount: 5, final: false, referenceType: 'ORDER', referenceId: 'part-1' })
  expect((await read()).body).toMatchObject({ balance: 95, available: 82, holds: [{ captured: 5, remaining: 13 }] })
})

test('a hold that ended is in neither, also between its end and the job that closes it', async () => {
  const { serviceUserId, session, read } = await newPerson()
  const mine = holdClient(client, app)
  const [captured, voided] = [holdOf(await mine.place(serviceUserId, 1)), holdOf(await mine.place(serviceUserId, 2))]
  await mine.place(serviceUserId, 3, { expiresIn: 60 })
  await mine.capture(captured.id)
  await mine.void(voided.id)
  expect((await read()).body['holds']).toMatchObject([{ amount: 3 }])
  await letHoldsAge(opened, 61)
  for (const sweep of [async () => undefined, sweepHolds]) {
    await sweep(opened)
    expect((await read()).body).toMatchObject({ balance: 99, available: 99, held: 0, holds: [] })
    expect((await page.wallet(session)).body).not.toHaveProperty('holds')
  }
})

const amounts = ({ body }: { body: Record<string, unknown> }) =>
  (body['holds'] as { amount: number }[]).map(({ amount }) => amount)

test('the wallet has the newest three, and the list has all, newest first', async () => {
  const { serviceUserId, session, read } = await newPerson()
  for (const amount of [1, 2, 3, 4, 5]) await holdClient(client, app).place(serviceUserId, amount)
  expect(amounts(await page.wallet(session))).toEqual([5, 4, 3])
  expect(amounts(await read())).toEqual([5, 4, 3, 2, 1])
})

test('a session alone sees another app’s hold without app, text and reference; the person sees all of it', async () => {
  const { otherId, session, cookie, read } = await newPerson()
  const text = { description: 'Test strips', referenceId: 'rx-1' }
  const placed = holdOf(await holdClient(others, other).place(otherId, 7, text))
  const redacted = { remaining: 7, app: null, description: null, referenceType: '', referenceId: '', isPrivate: true }
  const whole = { remaining: 7, app: { name: 'Pharmacy' }, ...text, id: placed.id }
  for (const get of [
    read,
    (headers = {}) => page.call('GET', `/api/widget/wallet?session=${session}`, undefined, headers),
  ]) {
    const [alone] = (await get()).body['holds'] as Record<string, unknown>[]
    expect(alone).toMatchObject(redacted)
    expect(JSON.stringify(alone)).not.toContain(placed.id)
    const [person] = (await get(cookie)).body['holds'] as Record<string, unknown>[]
    expect(person).toMatchObject(whole)
    expect(person).not.toHaveProperty('isPrivate')
  }
})

test('the list is of the session’s own user', async () => {
  const [one, two] = [await newPerson(), await newPerson()]
  await holdClient(client, app).place(one.serviceUserId, 5)
  expect((await two.read()).body).toMatchObject({ held: 0, holds: [] })
  expect((await page.call('GET', '/api/widget/holds?session=ws_none')).status).toBe(401)
})

test('the list of connected apps has what each of them holds', async () => {
  const { serviceUserId, otherId, session, cookie } = await newPerson()
  const links = async () => {
    const { body } = await page.call('GET', `/api/widget/links?session=${session}`, undefined, cookie)
    const apps = body['links'] as { appName: string; held: number }[]
    return Object.fromEntries(apps.map(({ appName, held }) => [appName, held]))
  }
  expect(await links()).toEqual({ Bookshop: 0, Pharmacy: 0 })
  for (const amount of [1.5, 2]) await holdClient(client, app).place(serviceUserId, amount)
  await holdClient(others, other).place(otherId, 7, { expiresIn: 60 })
  expect(await links()).toEqual({ Bookshop: 3.5, Pharmacy: 7 })
  await letHoldsAge(opened, 61)
  expect(await links()).toEqual({ Bookshop: 3.5, Pharmacy: 0 })
})
