/** The shop's events: real processes of the shop and the service, and a shop that is stopped or killed in the middle. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { createHash } from 'node:crypto'
import { mkdir, mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buildShop } from '../../example/app.ts'
import { openEvents } from '../../example/shop-events.ts'
import { openStore, type Order, type ShopUser } from '../../example/store.ts'
import type { BillfoldEvent } from '../../sdk/contract.ts'
import { setAppEvents } from '../../src/actions/apps/manage-apps.ts'
import { postForService } from '../../src/actions/money/post.ts'
import { addEndpoint } from '../../src/actions/webhooks/manage-endpoints.ts'
import { newWebhookSecret, webhookHeaders } from '../../src/actions/webhooks/webhook-signature.ts'
import { updateLinkDisconnected } from '../../src/store/links.ts'
import { locks } from '../../src/store/locks.ts'
import type { Answer } from '../../example/answers.ts'
import { newClient, type Client } from '../client.ts'
import { newAppWithEvents, numberAll } from '../events/rig.ts'
import { eventually } from '../eventually.ts'
import { freePort } from '../free-port.ts'
import { holdClient, holdOf } from '../holds.ts'
import { startProcess, type ServiceProcess } from '../process.ts'
import { newApp, newUser, openTestService, operator, secretsKey } from '../service.ts'
import type { Credentials, TestService, TestUser } from '../service.ts'
import { startShop, stopShop, type Shop } from './rig.ts'

setDefaultTimeout(240_000)

const token = 'the-cookie-of-ann'
type Stored = { users: ShopUser[]; orders: Order[]; feedNumber?: number }

let opened: TestService
let app: Credentials
let ann: TestUser
let bob: TestUser
let client: Client
let service: ServiceProcess
let way: ReturnType<typeof Bun.serve>
let shop: Shop
let dataDir: string
let port: number
/** Empty until there is an endpoint. */
let secret = ''
/** What becomes of the answer to a debit or credit; the request itself always reaches the service. */
let onPosted: (response: Response) => Response | Promise<Response> = (response) => response
/** While it is set, a read of the feed that finds no event is answered at once, and it is called. */
let onRead: (() => void) | undefined

beforeAll(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'billfold-shop-events-'))
  opened = await openTestService()
  app = await newAppWithEvents(opened.service)
  ann = await newUser(opened.service, app)
  bob = await newUser(opened.service, app)
  client = newClient(opened.app.fetch, app)
  await client.credit(ann.serviceUserId, 100)
  await numberAll(opened.service)
  port = await freePort()
  service = await startProcess({ DATABASE_URL: opened.databaseUrl, SECRETS_KEY: secretsKey })
  way = Bun.serve({ port: 0, hostname: '127.0.0.1', idleTimeout: 60, fetch: pass })
  const hash = createHash('sha256').update(token).digest('hex')
  const user = { id: 'user_ann', name: 'Ann', serviceUserId: ann.serviceUserId }
  const other = { id: 'user_bob', name: 'Bob', serviceUserId: bob.serviceUserId }
  await mkdir(join(dataDir, 'shop'))
  await Bun.write(
    join(dataDir, 'shop/shop.json'),
    JSON.stringify({ users: [user, other], orders: [], sessions: { [hash]: user.id } }),
  )
  shop = await start()
})
afterAll(async () => {
  await stopShop(shop)
  await way.stop(true)
  await service.stop()
  await opened.close()
  await rm(dataDir, { recursive: true })
})

async function pass(request: Request): Promise<Response> {
  const { pathname, searchParams } = new URL(request.url)
  const body = request.method === 'POST' ? await request.text() : undefined
  const isRead = pathname === '/api/server/events'
  if (isRead && onRead) searchParams.set('wait', '0')
  const answer = await fetch(`${service.url}${pathname}?${searchParams}`, {
    method: request.method,
    headers: { 'content-type': 'application/json' },
    // A shop that was stopped no longer waits for events.
    signal: request.signal,
    ...(body !== undefined && { body }),
  })
  const response = new Response(await answer.text(), {
    status: answer.status,
    headers: { 'content-type': 'application/json' },
  })
  if (isRead) onRead?.()
  return /\/(debit|credit)$/.test(pathname) ? await onPosted(response) : response
}

/** Meanwhile no event gets its number: the service's job finds the lock taken. */
async function withoutNumbers(work: () => Promise<void>): Promise<void> {
  const key = await opened.service.db.pool.connect()
  await key.query('select pg_advisory_lock($1)', [locks.numberEvents])
  await work()
  await key.query('select pg_advisory_unlock($1)', [locks.numberEvents])
  key.release()
}

const start = () => startShop({ port, dataDir, serviceOrigin: way.url.origin, app, webhookSecret: secret })
const stored = async () => JSON.parse(await readFile(join(dataDir, 'shop/shop.json'), 'utf8')) as Stored
const orderOf = async (id: string) => (await stored()).orders.find((order) => order.id === id)!
const statusOf = async (id: string) => (await orderOf(id)).status
const lost = () => new Response('{}', { status: 502 })

async function click(path: string, body: object = {}): Promise<Record<string, unknown>> {
  const headers = {
    cookie: `shop_session=${token}`,
    origin: `http://127.0.0.1:${port}`,
    'content-type': 'application/json',
  }
  const response = await fetch(`http://127.0.0.1:${port}/api${path}`, {
    method: 'POST',
    headers,
    body: JSON.stringify(body),
  })
  return ((await response.json()) as { outcome: Record<string, unknown> }).outcome
}

async function shownShortfall(id: string): Promise<number | undefined> {
  const response = await fetch(`http://127.0.0.1:${port}/api/state`, { headers: { cookie: `shop_session=${token}` } })
  const { state } = (await response.json()) as Answer
  return state.orders.find((order) => order.id === id)?.shortfall
}

const place = async (productId: string) => String((await click('/orders', { productId }))['orderId'])

const topUp = (amountMinor: bigint) =>
  postForService(opened.service, {
    walletId: ann.userId,
    counterAccount: 'cards',
    amountMinor,
    isReversal: false,
    referenceType: 'TOPUP',
    referenceId: crypto.randomUUID(),
    description: null,
  })

/** The shop dies after the service has moved the money, and before the shop knows. */
async function killedAt(path: string): Promise<void> {
  onPosted = async () => {
    shop.kill('SIGKILL')
    await shop.exited
    return lost()
  }
  await click(path).catch(() => undefined)
  await shop.exited
  onPosted = (response) => response
}

describe('a shop that was down, without webhooks,', () => {
  test('finds the payment and the refund that the service made meanwhile, each by itself', async () => {
    const id = await place('mug')
    await killedAt(`/orders/${id}/pay`)
    expect([await statusOf(id), await client.balance(ann.serviceUserId)]).toEqual(['paying', 82])
    shop = await start()
    await eventually(() => statusOf(id), 'paid')
    await killedAt(`/orders/${id}/refund`)
    expect([await statusOf(id), await client.balance(ann.serviceUserId)]).toEqual(['refunding', 100])
    shop = await start()
    await eventually(() => statusOf(id), 'refunded')
    expect(await orderOf(id)).toMatchObject({ attempts: 1 })
  })

  test('knows after a top-up what is still missing', async () => {
    const id = await place('radio')
    expect(await click(`/orders/${id}/pay`)).toMatchObject({ kind: 'refused' })
    expect(await orderOf(id)).toMatchObject({ status: 'refused', shortfall: 20 })
    await stopShop(shop)
    await topUp(750n)
    shop = await start()
    await eventually(async () => (await orderOf(id)).shortfall, 12.5)
    expect(await statusOf(id)).toBe('refused')
  })

  test('finds what gets its number only after the shop has read the feed', async () => {
    const id = await place('radio')
    expect(await click(`/orders/${id}/pay`)).toMatchObject({ kind: 'refused' })
    expect(await orderOf(id)).toMatchObject({ shortfall: 12.5 })
    await stopShop(shop)
    await withoutNumbers(async () => {
      await topUp(250n)
      const { promise: isRead, resolve } = Promise.withResolvers<void>()
      onRead = resolve
      shop = await start()
      await isRead
      onRead = undefined
    })
    await eventually(async () => (await orderOf(id)).shortfall, 10)
  })

  test('knows after a top-up what is still missing beside money that is on hold; the page knows it also when the hold ends', async () => {
    const holds = holdClient(client, app)
    const { id: holdId } = holdOf(await holds.place(ann.serviceUserId, 10))
    const id = await place('radio')
    expect(await click(`/orders/${id}/pay`)).toMatchObject({ kind: 'refused' })
    const { shortfall = 0 } = await orderOf(id)
    await stopShop(shop)
    await topUp(200n)
    shop = await start()
    await eventually(async () => (await orderOf(id)).shortfall, shortfall - 2)
    expect(await shownShortfall(id)).toBe(shortfall - 2)
    await holds.void(holdId)
    expect(await shownShortfall(id)).toBe(shortfall - 12)
  })

  test('removes the link of a user who disconnected it', async () => {
    await stopShop(shop)
    await updateLinkDisconnected(opened.service.db.pool, bob.userId, bob.serviceUserId)
    shop = await start()
    await eventually(async () => (await stored()).users[1], { id: 'user_bob', name: 'Bob' })
  })
})

describe('a shop that runs', () => {
  beforeAll(async () => {
    const url = `http://127.0.0.1:${port}/webhooks/billfold`
    const added = await addEndpoint(opened.service, operator, app.clientId, { url, types: null })
    if (added.kind !== 'added') throw new Error(added.kind)
    secret = added.secret
    await stopShop(shop)
    shop = await start()
  })

  test('learns of a payment without an answer from the webhook', async () => {
    onPosted = lost
    const id = await place('candle')
    expect(await click(`/orders/${id}/pay`)).toEqual({ kind: 'unknown', orderId: id })
    await eventually(() => statusOf(id), 'paid')
    onPosted = (response) => response
    expect(await orderOf(id)).toMatchObject({ attempts: 1 })
  })

  test('refuses a webhook with another signature or too much of a body, and takes one that it had', async () => {
    const events = (await client.get('/api/server/events', { limit: '1' })).body['events'] as BillfoldEvent[]
    const body = JSON.stringify(events[0])
    const post = async (text: string, secrets: string[]) => {
      const headers = webhookHeaders(events[0]!.id, text, secrets, new Date())
      return (await fetch(`http://127.0.0.1:${port}/webhooks/billfold`, { method: 'POST', body: text, headers })).status
    }
    expect(await post(body, [secret])).toBe(204)
    expect(await post(body, [newWebhookSecret()])).toBe(400)
    expect(await post(`${body} `, [])).toBe(400)
    expect(await post(body + ' '.repeat(70_000), [secret])).toBe(413)
  })
})

const settings = (credentials: Credentials, webhookSecrets: string[] = []) => ({
  host: '127.0.0.1',
  port: 0,
  dataDir,
  currency: 'USD',
  webhookSecrets,
  billfold: { baseUrl: service.url, ...credentials },
})
const newStore = () => openStore(join(dataDir, `${crypto.randomUUID()}.json`))

describe('the events of a shop', () => {
  test('are none while they are off, and begin again at the oldest when some are gone', async () => {
    const other = await newApp(opened.service)
    const store = newStore()
    // With a secret the shop waits for webhooks, not at the feed.
    const read = () => openEvents(settings(other, [newWebhookSecret()]), store).start()
    await read()
    expect(store.feedNumber()).toBe(0)
    await setAppEvents(opened.service, operator, other.clientId, true)
    for (let i = 0; i < 4; i++) await newUser(opened.service, other)
    await numberAll(opened.service)
    await opened.service.db.pool.query('delete from event_pages where client_id = $1 and first < 4', [other.clientId])
    await read()
    expect(store.feedNumber()).toBe(5)
  })

  test('have no route without a secret', async () => {
    const shop = buildShop(settings(app), newStore(), { script: '', style: '' })
    expect((await shop.request('/webhooks/billfold', { method: 'POST', body: '{}' })).status).toBe(404)
  })

  test('whose effect is not stored count as not seen: the number and the effect are one write', async () => {
    const file = join(dataDir, 'failing.json')
    const store = openStore(file)
    const order = store.insertOrder({ userId: 'user_ann', productId: 'mug', amount: 18 }, new Date())
    order.status = 'paying'
    order.payment = { referenceId: `${order.id}-1`, serviceUserId: ann.serviceUserId }
    store.save()
    expect((await client.debit(ann.serviceUserId, 1)).status).toBe(200)
    await numberAll(opened.service)
    const events = (await client.get('/api/server/events', { types: 'wallet.debited' })).body[
      'events'
    ] as BillfoldEvent[]
    const debited = events[0] as BillfoldEvent & { type: 'wallet.debited' }
    const event = { ...debited, data: { ...debited.data, referenceId: `${order.id}-1` } }
    // The draft of the file cannot be written.
    await mkdir(`${file}.new`)
    expect(() => store.applyEvent(event)).toThrow('EISDIR')
    const read = () => {
      const again = openStore(file)
      return [again.feedNumber(), again.listOrders({ id: 'user_ann', name: 'Ann' })[0]!.status]
    }
    expect(read()).toEqual([0, 'paying'])
    await rm(`${file}.new`, { recursive: true })
    openStore(file).applyEvent(event)
    expect(read()).toEqual([event.number, 'paid'])
  })
})
