/** The programs of docs/events.md beside a real service: they read its feed, and receive what it posts. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import type { EventsResponse } from '../../sdk/contract.ts'
import { freezeWallet, unfreezeWallet } from '../../src/actions/money/manage-wallets.ts'
import { startDeliverer } from '../../src/actions/webhooks/deliverer.ts'
import { addEndpoint, rotateEndpointSecret } from '../../src/actions/webhooks/manage-endpoints.ts'
import { newWebhookSecret, webhookHeaders } from '../../src/actions/webhooks/webhook-signature.ts'
import { findEndpoint } from '../../src/store/events/endpoints.ts'
import { newClient } from '../client.ts'
import { eventually } from '../eventually.ts'
import { freePort } from '../free-port.ts'
import { lockWaitsSql } from '../lock-waits.ts'
import { newUser, openTestService, operator, type Credentials, type TestService, type TestUser } from '../service.ts'
import { openShop, programs, type Feed, type Shop } from './guide-programs.ts'
import { newAppWithEvents, numberAll } from './rig.ts'

setDefaultTimeout(240_000)

let opened: TestService
let server: ReturnType<typeof Bun.serve>
/** While it is false, the service does not answer. */
let isUp = true

beforeAll(async () => {
  opened = await openTestService()
  server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    idleTimeout: 60,
    fetch: (request) => (isUp ? opened.app.fetch(request) : new Response('down', { status: 503 })),
  })
})
afterAll(async () => {
  await server.stop(true)
  await opened.close()
})

for (const program of programs) {
  if (program.missing) {
    test.skip(`the reader ${program.file}: there is ${program.missing}`, () => {})
    continue
  }
  describe(program.file, () => {
    let shop: Shop
    let app: Credentials
    let user: TestUser
    let feed: Feed
    let orders = 0

    beforeAll(async () => {
      shop = await openShop(program)
      app = await newAppWithEvents(opened.service)
      user = await newUser(opened.service, app)
      feed = { url: server.url.origin, ...app }
      await newClient(opened.app.fetch, app).credit(user.serviceUserId, 100)
    })
    afterAll(() => shop.close())

    const client = () => newClient(opened.app.fetch, app)
    const newOrder = async () => {
      const order = `order-${++orders}`
      await shop.db.query(`insert into orders values ($1, 'open')`, [order])
      return order
    }
    const pay = async (order: string) => {
      const about = { serviceUserId: user.serviceUserId, referenceType: 'ORDER_PAYMENT', referenceId: order }
      expect((await client().post('/api/server/wallet/debit', { ...app, ...about, amount: 1 })).status).toBe(200)
      await numberAll(opened.service)
    }
    const payNew = async (count: number) => {
      for (let i = 0; i < count; i++) await pay(await newOrder())
    }
    /** How often each order was paid. */
    const effects = async () => {
      const { rows } = await shop.db.query<{ times: number }>(
        `select (select count(*)::int from effects e where e.reference_id = o.reference_id) as times from orders o`,
      )
      return rows.map(({ times }) => times)
    }
    const cursor = async () => Number((await shop.db.query('select after from billfold_feed')).rows[0].after)
    const readFeed = async (after: number) =>
      (await client().get('/api/server/events', { after: String(after) })).body as unknown as EventsResponse
    const expectAllPaidOnce = () =>
      eventually(
        effects,
        Array.from({ length: orders }, () => 1),
      )
    /** Also that nothing came twice after that. */
    const expectFeedReadToEnd = async () => {
      const { last } = await readFeed(0)
      await eventually(cursor, last)
      await expectAllPaidOnce()
    }
    const holdOrder = async (order: string) => {
      await shop.holder.query('begin')
      await shop.holder.query('select 1 from orders where reference_id = $1 for update', [order])
    }
    const untilItWaits = () => eventually(async () => (await shop.db.query(lockWaitsSql.text)).rows.length, 1)

    test('reads each event once, though it is killed in the middle, runs twice and loses the service', async () => {
      await payNew(2)
      const first = shop.follow(feed)
      await expectFeedReadToEnd()
      const before = await cursor()
      const order = await newOrder()
      await holdOrder(order)
      await pay(order)
      await untilItWaits()
      const said = [await first.kill()]
      await shop.holder.query('commit')
      expect(await cursor()).toBe(before)
      const two = [shop.follow(feed), shop.follow(feed)]
      await payNew(5)
      await expectFeedReadToEnd()
      isUp = false
      await payNew(1)
      isUp = true
      await payNew(1)
      await expectFeedReadToEnd()
      for (const reader of two) said.push(await reader.kill())
      expect(said.join()).not.toContain(app.clientSecret)
    })

    test('the reader acts on what no webhook brought, and not on what one did', async () => {
      const secret = newWebhookSecret()
      const receiver = await shop.receive(secret)
      const { last } = await readFeed(0)
      await payNew(5)
      const { events } = await readFeed(last)
      expect(events).toHaveLength(5)
      // The newest first, as it happens when an older one is tried again.
      for (const event of [events[4]!, events[2]!]) {
        const body = JSON.stringify(event)
        const headers = webhookHeaders(event.id, body, [secret], new Date())
        expect((await fetch(receiver.url, { method: 'POST', headers, body })).status).toBe(204)
      }
      expect((await effects()).filter((times) => times === 0)).toHaveLength(3)
      const reader = shop.follow(feed)
      await expectFeedReadToEnd()
      await reader.kill()
      await receiver.kill()
    })

    test('the reader ends where the service refuses its cursor, and does not write the secret', async () => {
      const before = await cursor()
      await shop.db.query('update billfold_feed set after = 1000000')
      const { said, exitCode } = await shop.followToEnd(feed)
      expect(exitCode).not.toBe(0)
      expect(said).toContain('INVALID_REQUEST')
      expect(said).not.toContain(app.clientSecret)
      await shop.db.query('update billfold_feed set after = $1', [before])
    })

    test('the service delivers to the receiver, also while its secret is rotated', async () => {
      const port = await freePort()
      const url = `http://127.0.0.1:${port}/billfold/events`
      const added = await addEndpoint(opened.service, operator, app.clientId, { url, types: null })
      if (added.kind !== 'added') throw new Error(added.kind)
      const deliverer = startDeliverer(opened.service, {}, { everyMs: 50 })
      const hasOldSecret = await shop.receive(added.secret, port)
      await payNew(10)
      await expectAllPaidOnce()
      const secret = (await rotateEndpointSecret(opened.service, operator, added.id, '24h'))!
      await payNew(2)
      await expectAllPaidOnce()
      await hasOldSecret.kill()
      const hasNewSecret = await shop.receive(secret, port)
      await payNew(2)
      await expectAllPaidOnce()
      expect(await freezeWallet(opened.service, operator, user.userId, 'a test')).toBe('done')
      expect(await unfreezeWallet(opened.service, operator, user.userId, 'a test')).toBe('done')
      await numberAll(opened.service)
      const { last, events } = await readFeed(0)
      const states = async () => (await shop.db.query('select * from billfold_wallets')).rows
      expect(events.at(-1)!.type).toBe('wallet.unfrozen')
      await eventually(states, [{ service_user_id: user.serviceUserId, is_active: true, number: BigInt(last) }])
      await eventually(async () => (await findEndpoint(opened.service.db.pool, added.id))!.deliveredUpTo, last)
      await deliverer.stop()
      await hasNewSecret.kill()
    })
  })
}
