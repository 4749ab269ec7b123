import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { maxDeclinesAnHour } from '../actions/topups/topup-limits.ts'
import { refundTopup } from '../actions/topups/refund-topup.ts'
import { maxBalanceMinor } from '../ledger/money.ts'
import { holdClient } from '../../test/holds.ts'
import { operator } from '../../test/service.ts'
import { letPass, topupTables } from '../../test/time.ts'
import { openBench, type Bench, type Payer } from '../../test/topup/rig.ts'

let bench: Bench
let payer: Payer

beforeAll(async () => {
  bench = await openBench({ TOPUP_MIN: '2', TOPUP_MAX: '500' }, 20_000)
})
beforeEach(async () => {
  payer = await bench.newPayer()
})
afterAll(() => bench.close())

const setBalance = (minor: bigint) =>
  bench.service.db.pool.query('update wallets set balance = $2 where id = $1', [payer.userId, minor])

describe('new top-ups', () => {
  test('a new top-up creates a payment of exactly that amount that names the user and the top-up, and answers as the contract says', async () => {
    const { status, body } = await payer.create(19.99)
    expect(status).toBe(200)
    const id = String(body['paymentIntentId'])
    expect(body).toEqual({
      paymentIntentId: id,
      clientSecret: `${id}_secret_standin`,
      amount: 19.99,
      currency: 'USD',
      status: 'requires_payment_method',
      publishableKey: 'pk_test_standin',
      expiresAt: expect.stringMatching(/Z$/),
    })
    const topup = await bench.topup(id)
    expect(topup).toMatchObject({ userId: payer.userId, amountMinor: 1999n, state: 'created', processor: 'stripe' })
    expect(bench.standIn.state.intent(id)).toMatchObject({
      amount: 1999,
      currency: 'usd',
      metadata: { user_id: payer.userId, topup_id: topup.id },
    })
    expect(bench.standIn.requests.at(-1)).toMatchObject({ idempotencyKey: `topup-${topup.id}` })
  })

  test.each([1.99, 500.01, 0, -5, 0.001, '5', null, true, Infinity, [[5]]])(
    'a new top-up of %p is refused',
    async (amount) => {
      const { status, body } = await payer.create(amount)
      expect([status, body['code']]).toEqual([400, 'INVALID_AMOUNT'])
      expect(body['fields']).toHaveProperty('amount')
    },
  )

  test('a refusal of a too high top-up names the highest amount', async () => {
    const { body } = await payer.create(500.01)
    expect(body['error']).toBe('A top-up must be from 2.00 to 500.00 USD.')
    expect(body['fields']).toEqual({ amount: 'must be from 2.00 to 500.00 USD' })
  })

  test('a new top-up at either bound is taken', async () => {
    expect((await payer.create(2)).status).toBe(200)
    expect((await payer.create(500)).status).toBe(200)
  })

  test('beyond what a wallet can hold is refused before anything is charged', async () => {
    await setBalance(maxBalanceMinor - 499n)
    expect(await payer.create(5)).toMatchObject({ status: 400, body: { code: 'BALANCE_LIMIT' } })
    await setBalance(maxBalanceMinor - 500n)
    expect((await payer.create(5)).status).toBe(200)
  })

  test('a new top-up that finds no room in the wallet once it is paid is left for the operator, who gives it back', async () => {
    const id = await payer.begin(5)
    await setBalance(maxBalanceMinor - 100n)
    bench.standIn.state.pay(id)
    expect(await payer.confirm(id)).toMatchObject({ status: 202, body: { status: 'processing' } })
    const { id: topupId, ...topup } = await bench.topup(id)
    expect(topup).toMatchObject({ problem: 'credit-refused', creditedMinor: 0n })
    const order = { topupId, amountMinor: 500n, key: crypto.randomUUID(), reason: 'no room' }
    expect(await refundTopup(bench.service, operator, order)).toMatchObject({ kind: 'refunded' })
    expect(await payer.entries()).toEqual([])
  })

  test('a new top-up from another site is refused, and without a session too', async () => {
    const path = '/api/widget/topup/create-intent?session=ws_none'
    const cross = await payer.page.call('POST', path, '{"amount":5}', { 'sec-fetch-site': 'cross-site' })
    expect(cross).toMatchObject({ status: 403, body: { code: 'CROSS_SITE_REFUSED' } })
    expect(await payer.page.post(path, { amount: 5 })).toMatchObject({ status: 401, body: { code: 'INVALID_SESSION' } })
    const confirm = await payer.page.post('/api/widget/topup/confirm?session=ws_none', { paymentIntentId: 'pi_1' })
    expect(confirm).toMatchObject({ status: 401, body: { code: 'INVALID_SESSION' } })
  })
})

describe('limits', () => {
  test('a session can start ten top-ups and a user twenty an hour; then they are refused with Retry-After', async () => {
    for (let i = 0; i < 10; i++) expect((await payer.create(5)).status).toBe(200)
    const eleventh = await payer.create(5)
    expect(eleventh).toMatchObject({ status: 429, body: { code: 'RATE_LIMITED' } })
    expect(Number(eleventh.headers.get('retry-after'))).toBeGreaterThan(3_000)
    await payer.renew()
    for (let i = 0; i < 10; i++) expect((await payer.create(5)).status).toBe(200)
    await payer.renew()
    expect((await payer.create(5)).status).toBe(429)
    await bench.pass(61 * 60_000)
    await payer.renew()
    expect((await payer.create(5)).status).toBe(200)
  })

  test('of twenty new top-ups at once no more pass than one after the other', async () => {
    const statuses = (await Promise.all(Array.from({ length: 20 }, () => payer.create(5)))).map(({ status }) => status)
    expect(statuses.filter((status) => status === 200)).toHaveLength(10)
    expect(statuses.filter((status) => status === 429)).toHaveLength(10)
  })

  test('after ten declined cards in an hour no top-up starts, and the open payment is cancelled', async () => {
    const id = await payer.begin(5)
    for (let i = 0; i < maxDeclinesAnHour; i++) {
      bench.standIn.state.decline(id, 'generic_decline')
      await bench.sendEvent(bench.eventsOf('payment_intent.payment_failed', id).at(-1)!)
      if (i < maxDeclinesAnHour - 1) expect(bench.standIn.state.intent(id).status).toBe('requires_payment_method')
    }
    expect(bench.standIn.state.intent(id).status).toBe('canceled')
    const refused = await payer.create(5)
    expect(refused).toMatchObject({ status: 429, body: { code: 'RATE_LIMITED' } })
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(3_000)
    await bench.pass(61 * 60_000)
    await letPass(bench.service.db.pool, 61 * 60_000, topupTables)
    await payer.renew()
    expect((await payer.create(5)).status).toBe(200)
  })

  test('a decline counts once, whether a confirm, a webhook or both report it, and however often', async () => {
    const id = await payer.begin(5)
    bench.standIn.state.decline(id, 'generic_decline')
    for (let i = 0; i < 12; i++) expect((await payer.confirm(id)).status).toBe(402)
    const [event] = bench.eventsOf('payment_intent.payment_failed', id)
    for (let i = 0; i < 12; i++) await bench.sendEvent(event!)
    expect(await bench.topup(id)).toMatchObject({ declinesSeen: 1, declinesReported: 1 })
    expect((await payer.create(5)).status).toBe(200)
  })

  test('repeated confirms of an open payment are rate-limited; a decided payment is always answered', async () => {
    const id = await payer.begin(5)
    const asked = await Promise.all(Array.from({ length: 205 }, () => payer.confirm(id)))
    expect(asked.filter(({ status }) => status === 429).length).toBeGreaterThanOrEqual(5)
    bench.standIn.state.pay(id)
    await bench.sendEvent(bench.eventsOf('payment_intent.succeeded', id)[0]!)
    expect(await payer.confirm(id)).toMatchObject({ status: 200, body: { status: 'succeeded' } })
  })

  test('a confirmed payment returns what is available: the balance without what is on hold', async () => {
    const id = await payer.begin(25)
    const open = { balance: 10, available: 4, held: 6 }
    await payer.client.credit(payer.serviceUserId, 10)
    await holdClient(payer.client, bench.credentials).place(payer.serviceUserId, 6)
    expect((await payer.confirm(id)).body).toMatchObject({ status: 'requires_payment_method', ...open })
    bench.standIn.state.pay(id)
    const paid = { status: 'succeeded', balance: 35, available: 29, held: 6 }
    for (let time = 0; time < 2; time++) expect((await payer.confirm(id)).body).toMatchObject(paid)
  })

  test('one user’s declines are no other user’s', async () => {
    const id = await payer.begin(5)
    for (let i = 0; i < maxDeclinesAnHour; i++) {
      bench.standIn.state.decline(id, `code_${i}`)
      await payer.confirm(id)
    }
    expect(await payer.confirm(id)).toMatchObject({ status: 200, body: { status: 'cancelled' } })
    expect((await payer.create(5)).status).toBe(429)
    expect((await (await bench.newPayer()).create(5)).status).toBe(200)
  })
})
