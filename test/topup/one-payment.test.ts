/** One need, one payment: the amount of an open payment changes, and an older payment is cancelled before a newer one can be paid. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { startProcess, type ServiceProcess } from '../process.ts'
import type { Reply } from '../client.ts'
import { letPass, topupTables } from '../time.ts'
import { linkUser, newApp } from '../service.ts'
import { openBench, payerOf, stripeEnvironment, type Bench, type Payer } from './rig.ts'

setDefaultTimeout(180_000)

let bench: Bench
let payer: Payer
let other: ServiceProcess

beforeAll(async () => {
  bench = await openBench()
  other = await startProcess({ DATABASE_URL: bench.opened.databaseUrl, ...stripeEnvironment(bench.standIn) })
})
beforeEach(async () => {
  payer = await bench.newPayer()
})
afterEach(() => bench.expectReconciled())
afterAll(async () => {
  await other.stop()
  await bench.close()
})

const idOf = ({ status, body }: Reply): string => {
  expect([status, body['code']]).toEqual([200, undefined])
  return String(body['paymentIntentId'])
}
/** The same user in another app. */
async function payerInOtherApp(): Promise<Payer> {
  const credentials = await newApp(bench.service)
  const serviceUserId = await linkUser(bench.service, credentials, payer.userId)
  return await payerOf(bench.app.fetch, 'http://billfold.test', credentials, { ...payer, serviceUserId })
}
const intent = (id: string) => bench.standIn.state.intent(id)
const cancel = (paymentIntentId: string) =>
  payer.page.post(`/api/widget/topup/cancel?session=${payer.session()}`, { paymentIntentId })
const wallet = async () => (await payer.page.get(`/api/widget/wallet?session=${payer.session()}`)).body
const failed = async () =>
  ((await wallet())['failedTopups'] as { reason: string; amount: number }[] | undefined)?.map(
    ({ reason, amount }) => `${reason} ${amount}`,
  )
/** The payments that could still charge a card. */
const openIntents = () => {
  const own = [...bench.standIn.state.intents.values()].filter(
    (one) => (one['metadata'] as Record<string, string>)['user_id'] === payer.userId,
  )
  return own.filter(({ status }) => status === 'requires_payment_method' || status === 'requires_action')
}

describe('another amount', () => {
  test('changes the same payment, here and at the processor, and that amount is credited', async () => {
    const id = idOf(await payer.order(20))
    const changed = await payer.order(35, id)
    expect(idOf(changed)).toBe(id)
    expect(changed.body).toMatchObject({ amount: 35, status: 'requires_payment_method' })
    expect(intent(id).amount).toBe(3500)
    expect(await bench.topup(id)).toMatchObject({ amountMinor: 3500n, nextAmountMinor: null })
    bench.standIn.state.pay(id)
    await bench.sendEvent(bench.eventsOf('payment_intent.succeeded', id)[0]!)
    expect(await payer.entries()).toEqual(['TOPUP 35'])
  })

  test('can be chosen thirty times: only attempts to pay count for the limit', async () => {
    let id = idOf(await payer.order(20))
    for (let amount = 21; amount <= 50; amount++) expect(idOf(await payer.order(amount, id))).toBe(id)
    for (let time = 0; time < 15; time++) id = idOf(await payer.order(20))
    expect(openIntents().map((one) => one.id)).toEqual([id])
  })

  test('the limit counts payments that were tried, and says when the next one is possible', async () => {
    for (let time = 0; time < 10; time++) {
      const id = idOf(await payer.order(5))
      bench.standIn.state.requireAction(id)
    }
    const refused = await payer.order(5)
    expect(refused).toMatchObject({ status: 429, body: { code: 'RATE_LIMITED' } })
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(3_000)
    expect(openIntents()).toEqual([])
  })

  test('a payer who pays while the amount changes pays one of both amounts, and is credited with it', async () => {
    for (const moment of ['before', 'after'] as const) {
      const id = idOf(await payer.order(20))
      const change = bench.standIn.state.changeAmount.bind(bench.standIn.state)
      bench.standIn.state.changeAmount = (changedId, amount) => {
        if (moment === 'before') bench.standIn.state.pay(changedId)
        const changed = change(changedId, amount)
        bench.standIn.state.pay(changedId)
        return changed
      }
      const answer = await payer.order(30, id).finally(() => (bench.standIn.state.changeAmount = change))
      expect(answer.body).toMatchObject({
        paymentIntentId: id,
        status: 'succeeded',
        amount: moment === 'before' ? 20 : 30,
      })
    }
    expect(await payer.entries()).toEqual(['TOPUP 20', 'TOPUP 30'])
  })

  test('a lost answer of the processor leaves both amounts payable, and the paid one is credited', async () => {
    const id = idOf(await payer.order(20))
    bench.standIn.failNext('none', 1, id)
    bench.standIn.failNext('afterAnswer', 2, id)
    expect(await payer.order(30, id)).toMatchObject({ status: 503, body: { code: 'PROCESSOR_UNAVAILABLE' } })
    bench.standIn.recover()
    expect(await bench.topup(id)).toMatchObject({ amountMinor: 2000n, nextAmountMinor: 3000n })
    bench.standIn.state.pay(id)
    await bench.sendEvent(bench.eventsOf('payment_intent.succeeded', id)[0]!)
    expect(await bench.topup(id)).toMatchObject({ amountMinor: 3000n, nextAmountMinor: null, problem: null })
    expect(await payer.entries()).toEqual(['TOPUP 30'])
  })

  test('after an attempt the amount of a payment stays as it is: another amount is another payment', async () => {
    for (const attempt of ['decline', 'requireAction'] as const) {
      const id = idOf(await payer.order(20))
      if (attempt === 'decline') bench.standIn.state.decline(id, 'generic_decline')
      else bench.standIn.state.requireAction(id)
      const next = idOf(await payer.order(30, id))
      expect(next).not.toBe(id)
      expect(intent(id)).toMatchObject({ status: 'canceled', amount: 2000 })
      expect(openIntents().map((one) => one.id)).toEqual([next])
    }
  })

  test('a payment of another user, of another app or of no one is not changed', async () => {
    const stranger = await bench.newPayer()
    const id = idOf(await stranger.order(20))
    const elsewhere = idOf(await (await payerInOtherApp()).order(20))
    for (const replaces of [id, elsewhere, 'pi_unknown'])
      expect(await payer.order(30, replaces)).toMatchObject({ status: 404, body: { code: 'PAYMENT_INTENT_NOT_FOUND' } })
    for (const replaces of [5, '', 'x'.repeat(256), ['pi_1'], 'a\u0000b'])
      expect(await payer.order(30, replaces)).toMatchObject({ status: 400, body: { code: 'INVALID_REQUEST' } })
    for (const one of [id, elsewhere])
      expect(intent(one)).toMatchObject({ status: 'requires_payment_method', amount: 2000 })
  })
})

describe('a second payment', () => {
  test('cancels the first one at the processor, so that a late approval charges nothing', async () => {
    const first = idOf(await payer.order(25))
    bench.standIn.state.requireAction(first)
    const second = idOf(await payer.order(25))
    expect(second).not.toBe(first)
    expect(intent(first).status).toBe('canceled')
    bench.standIn.state.pay(second)
    await payer.confirm(second)
    expect(await payer.entries()).toEqual(['TOPUP 25'])
  })

  test('is not made when the first one was paid meanwhile, or may be about to be: that one is the answer', async () => {
    const first = idOf(await payer.order(25))
    bench.standIn.state.pay(first)
    const answer = await payer.order(40)
    expect(answer.body).toMatchObject({ paymentIntentId: first, status: 'succeeded', amount: 25 })
    expect(await payer.entries()).toEqual(['TOPUP 25'])
    const slow = idOf(await payer.order(30))
    bench.standIn.state.process(slow)
    expect((await payer.order(30)).body).toMatchObject({ paymentIntentId: slow, status: 'processing' })
    expect(openIntents()).toEqual([])
    bench.standIn.state.pay(slow)
    await payer.confirm(slow)
  })

  test('is not made while the processor cannot cancel the first one', async () => {
    const first = idOf(await payer.order(25))
    bench.standIn.failNext('none', 1, first)
    bench.standIn.failNext(500, 2, first)
    expect(await payer.order(25)).toMatchObject({ status: 503, body: { code: 'PROCESSOR_UNAVAILABLE' } })
    bench.standIn.recover()
    expect(openIntents().map((one) => one.id)).toEqual([first])
  })

  test('of ten windows on two processes at once, one payment at most can be paid', async () => {
    const elsewhere = await bench.newPayer(other.send, other.url, payer)
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, at) => (at % 2 === 0 ? payer : elsewhere).order(20 + at)),
    )
    expect(answers.map(({ status }) => status).filter((status) => status >= 500 && status !== 503)).toEqual([])
    const open = openIntents()
    expect(open.length).toBeLessThanOrEqual(1)
    const usable = answers.filter(({ body }) => body['status'] === 'requires_payment_method')
    for (const { body } of usable)
      if (body['paymentIntentId'] === open[0]?.id) expect(open[0]!.amount).toBe(Number(body['amount']) * 100)
  })

  test('in another app leaves the first one alone, and so does a call without the field', async () => {
    const first = idOf(await payer.order(25))
    idOf(await (await payerInOtherApp()).order(40))
    idOf(await payer.create(30))
    expect(openIntents()).toHaveLength(3)
    expect(intent(first).status).toBe('requires_payment_method')
  })
})

describe('cancelling', () => {
  test('ends a payment at the processor, however often it is asked for', async () => {
    const id = idOf(await payer.order(25))
    bench.standIn.state.requireAction(id)
    for (const _ of [1, 2])
      expect(await cancel(id)).toMatchObject({ status: 200, body: { status: 'cancelled', balance: 0 } })
    expect(intent(id).status).toBe('canceled')
  })

  test('of a payment that was paid meanwhile credits it and says so', async () => {
    const id = idOf(await payer.order(25))
    bench.standIn.state.pay(id)
    expect(await cancel(id)).toMatchObject({ status: 200, body: { status: 'succeeded', balance: 25 } })
    const slow = idOf(await payer.order(30))
    bench.standIn.state.process(slow)
    expect(await cancel(slow)).toMatchObject({ status: 202, body: { status: 'processing' } })
    bench.standIn.state.pay(slow)
    await payer.confirm(slow)
  })

  test('is refused for a payment of another user or app, and says so when the processor does not answer', async () => {
    const id = idOf(await (await bench.newPayer()).order(25))
    const elsewhere = await payerInOtherApp()
    const there = idOf(await elsewhere.order(25))
    for (const one of [id, there])
      expect(await cancel(one)).toMatchObject({ status: 404, body: { code: 'PAYMENT_INTENT_NOT_FOUND' } })
    expect((await payer.confirm(there)).body).not.toHaveProperty('intent')
    expect((await elsewhere.confirm(there)).body).toHaveProperty('intent')
    const own = idOf(await payer.order(25))
    bench.standIn.failNext(500, 2, own)
    expect(await cancel(own)).toMatchObject({ status: 503, body: { code: 'PROCESSOR_UNAVAILABLE' } })
    expect([intent(id).status, intent(own).status]).toEqual(['requires_payment_method', 'requires_payment_method'])
  })
})

describe('the wallet', () => {
  test('lists open payments, which a page can continue with after a reload', async () => {
    expect(await wallet()).not.toHaveProperty('openTopups')
    const id = idOf(await payer.order(25))
    bench.standIn.state.requireAction(id)
    expect((await wallet())['openTopups']).toEqual([{ amount: 25, createdAt: expect.any(String), paymentIntentId: id }])
    const { body } = await payer.confirm(id)
    expect(body).toMatchObject({
      status: 'requires_action',
      intent: { paymentIntentId: id, clientSecret: `${id}_secret_standin`, amount: 25 },
    })
  })

  test('lists top-ups that took no money for a week, with the reason, and none that was not tried', async () => {
    const declined = idOf(await payer.order(21))
    bench.standIn.state.decline(declined, 'generic_decline')
    expect((await payer.confirm(declined)).status).toBe(402)
    const refused = idOf(await payer.order(22))
    bench.standIn.state.decline(refused, 'authentication_required')
    expect((await payer.confirm(refused)).status).toBe(402)
    const cancelled = idOf(await payer.order(23))
    bench.standIn.state.requireAction(cancelled)
    await payer.page.post(`/api/widget/topup/cancel?session=${payer.session()}`, { paymentIntentId: cancelled })
    const left = idOf(await payer.order(24))
    bench.standIn.state.requireAction(left)
    await payer.confirm(left)
    const listed = ['cancelled 23', 'authentication 22', 'declined 21']
    expect(await failed()).toEqual(listed)
    await bench.sweepLater(61 * 60_000)
    await bench.sweepLater(61 * 60_000)
    expect(intent(left).status).toBe('canceled')
    await payer.renew()
    idOf(await payer.order(5))
    idOf(await payer.order(6))
    expect(await failed()).toEqual(['unconfirmed 24', ...listed])
    await letPass(bench.service.db.pool, 7 * 24 * 3_600_000, topupTables)
    await payer.renew()
    expect(await failed()).toBeUndefined()
  })
})
