/** Pre-orders of the example shop: after every kind of failure the order and the hold agree, and money is taken once or not at all. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Answer } from '../../example/answers.ts'
import { buildShop } from '../../example/app.ts'
import { openStore } from '../../example/store.ts'
import { openEvents } from '../../example/shop-events.ts'
import { freezeWallet } from '../../src/actions/money/manage-wallets.ts'
import { updateLinkDisconnected } from '../../src/store/links.ts'
import { parseHoldId } from '../../src/store/outcomes.ts'
import { expectBalancedBooks } from '../books.ts'
import { newClient } from '../client.ts'
import { eventually } from '../eventually.ts'
import { newAppWithEvents, numberAll } from '../events/rig.ts'
import { letHoldsAge, sweepHolds } from '../holds.ts'
import { newUser, openTestService, operator, type Credentials, type TestService } from '../service.ts'
import { openLossyWay } from './lossy-way.ts'

setDefaultTimeout(120_000)

const price = 42

let opened: TestService
let app: Credentials
let way: Awaited<ReturnType<typeof openLossyWay>>
let folder = ''

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'billfold-pre-orders-'))
  opened = await openTestService()
  app = await newAppWithEvents(opened.service)
  way = await openLossyWay((request) => opened.app.fetch(request))
})
afterAll(async () => {
  way.close()
  await expectBalancedBooks(opened.service)
  await opened.close()
  await rm(folder, { recursive: true, force: true })
})

let count = 0

/** A guest of a separate shop, with this much in the wallet, and an order of the moon clock. */
async function enter(money = 100) {
  const { userId, serviceUserId } = await newUser(opened.service, app)
  const client = newClient(opened.app.fetch, app)
  if (money > 0) await client.credit(serviceUserId, money)
  const file = join(folder, `shop-${++count}.json`)
  // With a secret it reads to the end of the feed, and does not wait there.
  const webhookSecrets = [`whsec_${Buffer.alloc(24).toString('base64')}`]
  const billfold = { baseUrl: way.url, ...app }
  const config = { host: '127.0.0.1', port: 0, dataDir: folder, currency: 'USD', webhookSecrets, billfold }
  const start = () => {
    const store = openStore(file)
    return { store, shop: buildShop(config, store, { script: '', style: '' }), events: openEvents(config, store) }
  }
  let running = start()
  const user = running.store.getOrInsertUser('Guest')
  running.store.setLink(user, serviceUserId)
  const headers = {
    cookie: `shop_session=${running.store.insertSession(user)}`,
    host: 'shop.test',
    origin: 'http://shop.test',
    'content-type': 'application/json',
  }
  const send = async (path: string, body: object): Promise<Answer> => {
    const request = { method: 'POST', headers, body: JSON.stringify(body) }
    return (await (await running.shop.request(path, request)).json()) as Answer
  }
  const placed = await send('/api/orders', { productId: 'clock' })
  const { id } = placed.state.orders[0]!
  const stored = () => openStore(file).findOrder(user, id)!
  return {
    id,
    userId,
    serviceUserId,
    click: async (verb: 'pay' | 'ship' | 'cancel' | 'refund') =>
      (await send(`/api/orders/${id}/${verb}`, {})).outcome.kind,
    /** What the page shows: the status of the order, and what is left in the wallet. */
    shown: async () => {
      const { state } = (await (await running.shop.request('/api/state', { headers })).json()) as Answer
      return [state.orders[0]!.status, state.wallet?.balance, state.wallet?.available]
    },
    /** Read from the file: a status that is only in memory would be lost when the shop ends. */
    status: () => stored().status,
    holdId: () => stored().hold!.id,
    /** As if the process had been killed: what is not in the file is gone. */
    restart: () => void (running = start()),
    catchUp: async () => {
      await numberAll(opened.service)
      await running.events.start()
    },
    figures: async () => {
      const { balance, available } = (await client.wallet(serviceUserId)).body
      return [balance, available]
    },
    client,
  }
}

test('an order is reserved, ships once, and can be refunded', async () => {
  const guest = await enter()
  expect([await guest.click('pay'), await guest.click('pay')]).toEqual(['reserved', 'reserved'])
  expect(await guest.shown()).toEqual(['reserved', 100, 100 - price])
  expect([await guest.click('ship'), await guest.click('ship')]).toEqual(['shipped', 'failed'])
  expect(await guest.shown()).toEqual(['paid', 100 - price, 100 - price])
  expect([await guest.click('cancel'), await guest.click('refund')]).toEqual(['failed', 'refunded'])
  expect(await guest.shown()).toEqual(['refunded', 100, 100])
})

test('a cancelled order costs nothing, and can be ordered again', async () => {
  const guest = await enter()
  await guest.click('pay')
  expect(await guest.click('cancel')).toBe('cancelled')
  expect(await guest.shown()).toEqual(['cancelled', 100, 100])
  expect([await guest.click('ship'), await guest.click('pay')]).toEqual(['failed', 'reserved'])
  expect(await guest.shown()).toEqual(['reserved', 100, 100 - price])
})

test.each(['answer', 'request'] as const)(
  'a lost %s at the hold: the same reference asks again, and reserves once',
  async (loss) => {
    const guest = await enter()
    way.lose(guest.id, loss)
    expect([await guest.click('pay'), guest.status()]).toEqual(['unknown', 'reserving'])
    guest.restart()
    expect(await guest.click('pay')).toBe(loss === 'answer' ? 'reserved-once' : 'reserved')
    expect(await guest.shown()).toEqual(['reserved', 100, 100 - price])
  },
)

test.each(['answer', 'request'] as const)(
  'a lost %s at the capture: the money is taken once, and nothing else is done meanwhile',
  async (loss) => {
    const guest = await enter()
    await guest.click('pay')
    way.lose(guest.holdId(), loss)
    expect([await guest.click('ship'), guest.status()]).toEqual(['unknown', 'shipping'])
    guest.restart()
    expect(await guest.click('cancel')).toBe('failed')
    expect(await guest.click('ship')).toBe(loss === 'answer' ? 'paid-once' : 'shipped')
    expect(await guest.shown()).toEqual(['paid', 100 - price, 100 - price])
  },
)

test('a lost answer at the cancellation: it is asked again, and does not ship', async () => {
  const guest = await enter()
  await guest.click('pay')
  way.lose(guest.holdId(), 'answer')
  expect([await guest.click('cancel'), guest.status()]).toEqual(['unknown', 'cancelling'])
  guest.restart()
  expect([await guest.click('ship'), await guest.click('cancel')]).toEqual(['failed', 'cancelled'])
  expect(await guest.shown()).toEqual(['cancelled', 100, 100])
})

test('a shop that was killed before the answer finds by the feed what became of its orders', async () => {
  const [reserving, shipping] = [await enter(), await enter()]
  way.lose(reserving.id, 'answer')
  await reserving.click('pay')
  await shipping.click('pay')
  way.lose(shipping.holdId(), 'answer')
  await shipping.click('ship')
  for (const guest of [reserving, shipping]) {
    guest.restart()
    await guest.catchUp()
  }
  expect([reserving.status(), shipping.status()]).toEqual(['reserved', 'paid'])
  expect(await reserving.click('ship')).toBe('shipped')
})

test('an order whose hold expired is shown as expired, before and after it is closed, and does not ship', async () => {
  const [late, looked, followed] = [await enter(), await enter(), await enter()]
  for (const guest of [late, looked, followed]) await guest.click('pay')
  await letHoldsAge(opened, 8 * 86_400)
  expect(await late.click('ship')).toBe('expired')
  expect(await looked.shown()).toEqual(['expired', 100, 100])
  await sweepHolds(opened)
  await followed.catchUp()
  expect(followed.status()).toBe('expired')
  for (const guest of [late, looked, followed]) {
    expect(await guest.figures()).toEqual([100, 100])
    expect(await guest.click('pay')).toBe('reserved')
  }
})

test('a hold whose answer was lost until it expired is no reservation', async () => {
  const guest = await enter()
  way.lose(guest.id, 'answer')
  await guest.click('pay')
  await letHoldsAge(opened, 8 * 86_400)
  expect([await guest.click('pay'), guest.status()]).toEqual(['expired', 'expired'])
  expect([await guest.click('ship'), await guest.click('pay')]).toEqual(['failed', 'reserved'])
})

test('a wallet without the money reserves nothing, and does after a top-up', async () => {
  const guest = await enter(10)
  expect([await guest.click('pay'), await guest.shown()]).toEqual(['refused', ['refused', 10, 10]])
  await guest.client.credit(guest.serviceUserId, 50)
  expect([await guest.click('pay'), await guest.shown()]).toEqual(['reserved', ['reserved', 60, 60 - price]])
})

test('a disconnect or a freeze keeps what was promised, and stops what is new', async () => {
  const [gone, frozen] = [await enter(), await enter()]
  for (const guest of [gone, frozen]) await guest.click('pay')
  await updateLinkDisconnected(opened.service.db.pool, gone.userId, gone.serviceUserId)
  await freezeWallet(opened.service, operator, frozen.userId, 'a test')
  expect([await gone.click('ship'), await frozen.click('ship')]).toEqual(['shipped', 'shipped'])
  const late = await enter()
  await updateLinkDisconnected(opened.service.db.pool, late.userId, late.serviceUserId)
  expect([await late.click('pay'), late.status()]).toEqual(['not-linked', 'open'])
})

test('an operator’s void is shown as cancelled', async () => {
  const guest = await enter()
  await guest.click('pay')
  const holdId = parseHoldId(guest.holdId())!
  await opened.service.writer.postHold({
    by: { walletId: guest.userId },
    amountMinor: 0n,
    isReversal: false,
    referenceKey: holdId,
    counterAccount: '',
    referenceType: '',
    referenceId: '',
    description: null,
    hold: { kind: 'void', holdId, actor: 'operator:ann', reason: 'a test' },
  })
  await eventually(async () => await guest.shown(), ['cancelled', 100, 100])
  expect(await guest.click('ship')).toBe('failed')
})
