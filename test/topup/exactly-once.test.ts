/** Every failure of a top-up ends with exactly one credit of the paid amount, or with none if nothing was paid. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { findWorkDueAt } from '../../src/store/work/work-report.ts'
import { openBench, type Bench, type Payer } from './rig.ts'

setDefaultTimeout(180_000)

let bench: Bench
let payer: Payer

beforeAll(async () => {
  bench = await openBench()
})
beforeEach(async () => {
  payer = await bench.newPayer()
})
afterEach(() => bench.expectReconciled())
afterAll(() => bench.close())

const paid = async (amount = 25) => {
  const id = await payer.begin(amount)
  bench.standIn.state.pay(id)
  return id
}
const succeededEvent = (id: string) => bench.eventsOf('payment_intent.succeeded', id)[0]!

describe('credits', () => {
  test('confirm, repeated, credits once and always returns the first answer', async () => {
    const id = await paid()
    const first = await payer.confirm(id)
    expect(first).toMatchObject({ status: 200, body: { status: 'succeeded', balance: 25 } })
    expect(first.body['transaction']).toMatchObject({
      type: 'CREDIT',
      amount: 25,
      referenceType: 'TOPUP',
      referenceId: id,
    })
    await payer.client.debit(payer.serviceUserId, 5)
    for (let time = 0; time < 3; time++) expect((await payer.confirm(id)).body).toEqual(first.body)
    expect(await payer.entries()).toEqual(['TOPUP 25', 'ORDER -5'])
  })

  test('a webhook that arrives three times, and again with the same event id later, credits once', async () => {
    const id = await paid()
    for (let time = 0; time < 3; time++) expect((await bench.sendEvent(succeededEvent(id))).status).toBe(200)
    expect(await bench.sendEvent(succeededEvent(id))).toMatchObject({ status: 200, body: { isOurs: true } })
    expect(await payer.entries()).toEqual(['TOPUP 25'])
  })

  test('a webhook before confirm credits once', async () => {
    const id = await paid()
    await bench.sendEvent(succeededEvent(id))
    expect(await payer.balance()).toBe(25)
    expect((await payer.confirm(id)).body).toMatchObject({ status: 'succeeded', balance: 25 })
    expect(await payer.entries()).toEqual(['TOPUP 25'])
  })

  test('twenty confirms and ten webhooks at once credit once', async () => {
    const id = await paid()
    const answers = await Promise.all([
      ...Array.from({ length: 20 }, () => payer.confirm(id)),
      ...Array.from({ length: 10 }, () => bench.sendEvent(succeededEvent(id))),
    ])
    // A busy lane refuses some of them with 503, to be repeated; no answer is wrong.
    for (const { status } of answers) expect([200, 503]).toContain(status)
    expect((await payer.confirm(id)).body).toMatchObject({ status: 'succeeded', balance: 25 })
    expect(await payer.entries()).toEqual(['TOPUP 25'])
  })

  test('the sweeper alone credits once when the browser was closed and no webhook ever came', async () => {
    await paid()
    await bench.sweepLater()
    expect(await payer.entries()).toEqual(['TOPUP 25'])
  })

  test('a webhook credits once when the session expired between paying and confirming', async () => {
    const id = await paid()
    await bench.pass(6 * 60_000)
    expect(await payer.confirm(id)).toMatchObject({ status: 401, body: { code: 'SESSION_EXPIRED' } })
    await bench.sendEvent(succeededEvent(id))
    expect(await payer.entries()).toEqual(['TOPUP 25'])
    await payer.renew()
    expect((await payer.confirm(id)).body).toMatchObject({ status: 'succeeded', balance: 25 })
  })

  test('events in the reverse of their order credit once', async () => {
    const id = await payer.begin()
    bench.standIn.state.decline(id, 'insufficient_funds')
    bench.standIn.state.requireAction(id)
    bench.standIn.state.process(id)
    bench.standIn.state.pay(id)
    const events = bench.standIn.events.filter((event) => JSON.stringify(event).includes(id)).toReversed()
    for (const event of events) expect((await bench.sendEvent(event)).status).toBe(200)
    expect(await payer.entries()).toEqual(['TOPUP 25'])
    expect(await bench.topup(id)).toMatchObject({ state: 'succeeded', declineCode: null })
  })

  test('a decline and then another card on the same payment credit once', async () => {
    const id = await payer.begin()
    bench.standIn.state.decline(id, 'insufficient_funds')
    expect(await payer.confirm(id)).toMatchObject({
      status: 402,
      body: { code: 'CARD_DECLINED', declineCode: 'insufficient_funds' },
    })
    bench.standIn.state.pay(id)
    expect((await payer.confirm(id)).body).toMatchObject({ status: 'succeeded', balance: 25 })
  })

  test('a wallet that was frozen after it paid is credited once', async () => {
    const id = await paid()
    await bench.service.db.pool.query(`update wallets set frozen_for = 'operator' where id = $1`, [payer.userId])
    expect((await payer.confirm(id)).body).toMatchObject({ status: 'succeeded', balance: 25 })
    expect(await payer.create(25)).toMatchObject({ status: 403, body: { code: 'WALLET_INACTIVE' } })
  })

  test('a payment whose creation was answered after our time-out is credited once', async () => {
    bench.standIn.failNext('afterAnswer', 2)
    expect(await payer.create(25)).toMatchObject({ status: 503, body: { code: 'PROCESSOR_UNAVAILABLE' } })
    const [intent] = [...bench.standIn.state.intents.values()].slice(-1)
    // No browser has its client secret; if it is paid nevertheless, the money reaches its wallet.
    bench.standIn.state.pay(intent!.id)
    await bench.sendEvent(succeededEvent(intent!.id))
    expect(await payer.entries()).toEqual(['TOPUP 25'])
  })
})

describe('a failing processor', () => {
  test.each([
    ['errors', 500],
    ['does not answer', 'timeout'],
    ['answers after our time-out', 'afterAnswer'],
  ] as const)(
    'confirm and webhook are 503 when the processor %s, the wallet still works, and later the money lands',
    async (_, failure) => {
      const id = await paid()
      bench.standIn.failNext(failure, 2, id)
      expect(await payer.confirm(id)).toMatchObject({ status: 503, body: { code: 'PROCESSOR_UNAVAILABLE' } })
      bench.standIn.failNext(failure, 2, id)
      expect((await bench.sendEvent(succeededEvent(id))).status).toBe(503)
      expect(await payer.balance()).toBe(0)
      expect((await payer.client.credit(payer.serviceUserId, 1)).status).toBe(200)
      bench.standIn.failNext(failure, 2, id)
      await bench.sweepLater()
      await bench.sweepLater()
      expect(await payer.entries()).toEqual(['ORDER 1', 'TOPUP 25'])
    },
  )

  test('an error of the processor that its SDK retries successfully is invisible to the caller', async () => {
    bench.standIn.failNext(500, 1)
    const id = await paid()
    bench.standIn.failNext(500, 1, id)
    expect((await payer.confirm(id)).body).toMatchObject({ status: 'succeeded' })
  })

  test('a payment that was never created is given up, and costs no one anything', async () => {
    bench.standIn.failNext('timeout', 2)
    expect((await payer.create(25)).status).toBe(503)
    await bench.sweepLater()
    const { rows } = await bench.service.db.pool.query(
      `select state, (select due_at from work w where w.key = t.id::text) as due_at from topups t where user_id = $1`,
      [payer.userId],
    )
    expect(rows).toEqual([{ state: 'failed', due_at: null }])
    expect(await payer.entries()).toEqual([])
  })
})

describe('refusals', () => {
  test('an unpaid top-up is never credited, by confirm, webhook or sweeper, and in the end it is cancelled', async () => {
    const id = await payer.begin()
    expect(await payer.confirm(id)).toMatchObject({
      status: 200,
      body: { status: 'requires_payment_method', balance: 0 },
    })
    await bench.sweepLater()
    await bench.sweepLater(61 * 60_000)
    const topup = await bench.topup(id)
    expect([topup.state, await findWorkDueAt(bench.service.db.pool, 'resolve-topup', topup.id)]).toEqual([
      'cancelled',
      null,
    ])
    expect(bench.standIn.state.intent(id).status).toBe('canceled')
    expect(await payer.entries()).toEqual([])
  })

  test('a declined card credits nothing', async () => {
    const id = await payer.begin()
    bench.standIn.state.decline(id, 'expired_card')
    await bench.sendEvent(bench.eventsOf('payment_intent.payment_failed', id)[0]!)
    expect(await payer.confirm(id)).toMatchObject({ status: 402, body: { declineCode: 'expired_card' } })
    expect(await payer.entries()).toEqual([])
  })

  test('nothing is credited while the bank asks for a challenge or is slow', async () => {
    const id = await payer.begin()
    bench.standIn.state.requireAction(id)
    expect(await payer.confirm(id)).toMatchObject({
      status: 200,
      body: { status: 'requires_action', nextAction: { kind: 'script' } },
    })
    bench.standIn.state.process(id)
    expect(await payer.confirm(id)).toMatchObject({ status: 202, body: { status: 'processing', balance: 0 } })
    bench.standIn.state.pay(id)
    expect(await payer.confirm(id)).toMatchObject({ status: 200, body: { status: 'succeeded', balance: 25 } })
  })

  test('an amount that the browser makes up is not credited', async () => {
    const id = await paid(1)
    const { body } = await payer.confirm(id, { amount: 1_000_000, status: 'succeeded', currency: 'BTC' })
    expect(body).toMatchObject({ status: 'succeeded', balance: 1 })
    expect(await payer.entries()).toEqual(['TOPUP 1'])
  })

  test('another user’s payment is not credited, nor is a word said about it', async () => {
    const id = await paid()
    const other = await bench.newPayer()
    expect(await other.confirm(id)).toMatchObject({ status: 404, body: { code: 'PAYMENT_INTENT_NOT_FOUND' } })
    expect(await other.confirm('pi_nobody')).toMatchObject({ status: 404, body: { code: 'PAYMENT_INTENT_NOT_FOUND' } })
    expect(await other.balance()).toBe(0)
    await payer.confirm(id)
  })
})

describe('mismatches', () => {
  test('a payment whose creation got no answer, and that names our top-up and another user, is not ours', async () => {
    const id = await payer.begin()
    const topup = await bench.topup(id)
    const other = await bench.newPayer()
    // Simulates an answer of the processor that was lost before the payment's id was stored.
    await bench.service.db.pool.query('update topups set payment_intent_id = null where id = $1', [topup.id])
    const intent = bench.standIn.state.intent(id)
    Object.assign(intent, { metadata: { user_id: other.userId, topup_id: topup.id } })
    bench.standIn.state.pay(id)
    expect(await bench.sendEvent(succeededEvent(id))).toMatchObject({ status: 200, body: { isOurs: false } })
    expect([await payer.entries(), await other.entries()]).toEqual([[], []])
    Object.assign(intent, { metadata: { user_id: payer.userId, topup_id: topup.id } })
    expect(await bench.sendEvent(succeededEvent(id))).toMatchObject({ status: 200, body: { isOurs: true } })
    expect(await payer.entries()).toEqual(['TOPUP 25'])
  })

  test.each([
    ['amount', { amount: 9_900 }],
    ['currency', { currency: 'eur' }],
    ['user', { metadata: { user_id: 'somebody', topup_id: 'something' } }],
  ])(
    'a payment of another %s than was ordered is not credited, is shown to the operator, and can be refunded',
    async (_, changes) => {
      const id = await payer.begin()
      Object.assign(bench.standIn.state.intent(id), changes)
      bench.standIn.state.pay(id)
      expect(await payer.confirm(id)).toMatchObject({ status: 202, body: { status: 'processing', balance: 0 } })
      await bench.sendEvent(succeededEvent(id))
      expect(await bench.topup(id)).toMatchObject({ problem: 'mismatch', creditedMinor: 0n })
      expect(await payer.entries()).toEqual([])
      bench.standIn.state.refund(id, bench.standIn.state.intent(id).amount)
      await bench.sendEvent(bench.eventsOf('charge.refunded', id)[0]!)
      expect(await payer.entries()).toEqual([])
    },
  )
})
