/** Refunds and disputes: the wallet loses the amount that the processor gives back, once, and owes what it has spent. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { freezeWallet } from '../../src/actions/money/manage-wallets.ts'
import { refundTopup } from '../../src/actions/topups/refund-topup.ts'
import { resolveTopup } from '../../src/actions/topups/resolve-topup.ts'
import { operator } from '../service.ts'
import { openBench, type Bench, type Payer } from './rig.ts'

setDefaultTimeout(180_000)

let bench: Bench
let payer: Payer
let id: string

beforeAll(async () => {
  bench = await openBench()
})
beforeEach(async () => {
  payer = await bench.newPayer()
  id = await payer.begin(25)
  bench.standIn.state.pay(id)
  await payer.confirm(id)
})
afterEach(() => bench.expectReconciled())
afterAll(() => bench.close())

const state = () => bench.standIn.state
/** Sends every event that the processor made about this payment, the newest last. */
const sendAll = async (pattern: RegExp) => {
  const events = bench.standIn.events.filter((event) => JSON.stringify(event).includes(id))
  for (const event of events.filter(({ type }) => pattern.test(String(type)))) await bench.sendEvent(event)
}
const refund = async (amountMinor: bigint, key = crypto.randomUUID() as string) =>
  await refundTopup(bench.service, operator, { topupId: (await bench.topup(id)).id, amountMinor, key, reason: 'test' })

describe('disputes', () => {
  test('a dispute of money that is still there takes it, and the wallet stays active', async () => {
    state().dispute(id)
    await sendAll(/dispute/)
    const counted = await bench.service.metrics.render()
    for (const state of ['created', 'succeeded'])
      expect(counted).toContain(`billfold_topups_total{state="${state}"} 1\n`)
    expect(counted).toContain('billfold_disputes_total{state="open"} 1\n')
    expect(await payer.entries()).toEqual(['TOPUP 25', 'TOPUP_DISPUTE -25'])
    expect([await payer.balance(), await payer.isActive()]).toEqual([0, true])
    expect(await bench.topup(id)).toMatchObject({ state: 'succeeded', dispute: 'open', disputedMinor: 2500n })
  })

  test('a dispute of spent money freezes the wallet below zero; when won, the wallet is active again', async () => {
    await payer.client.debit(payer.serviceUserId, 20)
    state().dispute(id)
    await sendAll(/dispute/)
    expect([await payer.balance(), await payer.isActive()]).toEqual([-20, false])
    expect(await payer.client.debit(payer.serviceUserId, 1)).toMatchObject({ status: 403 })
    state().winDispute(id)
    await sendAll(/closed|reinstated/)
    expect([await payer.balance(), await payer.isActive()]).toEqual([5, true])
    expect((await payer.entries()).slice(2)).toEqual(['TOPUP_DISPUTE -25', 'TOPUP_DISPUTE_RETURNED 25'])
    expect(await bench.topup(id)).toMatchObject({ dispute: 'won', disputedMinor: 0n })
  })

  test('a lost dispute keeps the money, and the wallet is active again when the debt is repaid', async () => {
    await payer.client.debit(payer.serviceUserId, 25)
    state().dispute(id)
    await sendAll(/dispute/)
    state().loseDispute(id)
    await sendAll(/closed/)
    expect([await payer.balance(), await payer.isActive()]).toEqual([-25, false])
    await payer.client.credit(payer.serviceUserId, 24)
    expect(await payer.isActive()).toBeFalse()
    await payer.client.credit(payer.serviceUserId, 1)
    expect([await payer.balance(), await payer.isActive()]).toEqual([0, true])
    expect(await bench.topup(id)).toMatchObject({ dispute: 'lost' })
  })

  test('a debt is repaid by card, in parts and beyond the debt, and the credit activates the wallet again', async () => {
    await payer.client.debit(payer.serviceUserId, 20)
    state().dispute(id)
    await sendAll(/dispute/)
    expect([await payer.balance(), await payer.isActive()]).toEqual([-20, false])
    const part = await payer.begin(19.99)
    state().pay(part)
    expect(await payer.confirm(part)).toMatchObject({ status: 200, body: { balance: -0.01 } })
    expect(await payer.isActive()).toBeFalse()
    expect(await payer.client.debit(payer.serviceUserId, 1)).toMatchObject({ status: 403 })
    const rest = await payer.begin(1)
    state().pay(rest)
    // Two confirms and the webhook at once: one credit, and the wallet is unfrozen once.
    await Promise.all([payer.confirm(rest), payer.confirm(rest), sendAll(/succeeded/)])
    expect([await payer.balance(), await payer.isActive()]).toEqual([0.99, true])
    expect(await payer.client.debit(payer.serviceUserId, 0.99)).toMatchObject({ status: 200 })
  })

  test('a wallet in debt that an operator froze too takes no new top-up, and an earlier one does not unfreeze it', async () => {
    await payer.client.debit(payer.serviceUserId, 20)
    state().dispute(id)
    await sendAll(/dispute/)
    const begun = await payer.begin(30)
    await freezeWallet(bench.service, operator, payer.userId, 'test')
    expect(await payer.create(30)).toMatchObject({ status: 403, body: { code: 'WALLET_INACTIVE' } })
    state().pay(begun)
    await payer.confirm(begun)
    expect([await payer.balance(), await payer.isActive()]).toEqual([10, false])
  })

  test('a dispute whose events arrive in any order, several times and at once, counts once', async () => {
    state().dispute(id)
    state().winDispute(id)
    const events = bench.standIn.events.filter((event) => JSON.stringify(event).includes(id)).toReversed()
    await Promise.all([...events, ...events].map((event) => bench.sendEvent(event)))
    // The dispute was over before its first event arrived: there is nothing to book.
    expect(await payer.entries()).toEqual(['TOPUP 25'])
  })

  test('a dispute without any webhook is found by the sweeper', async () => {
    state().dispute(id)
    await bench.sweepLater(61 * 60_000)
    expect(await payer.entries()).toEqual(['TOPUP 25', 'TOPUP_DISPUTE -25'])
    state().winDispute(id)
    await bench.sweepLater(25 * 60 * 60_000)
    expect(await payer.balance()).toBe(25)
  })

  test('a dispute that is only an inquiry takes nothing', async () => {
    state().dispute(id, { status: 'warning_needs_response' })
    await sendAll(/dispute/)
    expect(await payer.entries()).toEqual(['TOPUP 25'])
  })
})

describe('refunds', () => {
  test('a refund by an operator goes back to the card and out of the wallet, with an entry in the audit log', async () => {
    expect(await refund(1000n)).toMatchObject({ kind: 'refunded' })
    expect(await payer.entries()).toEqual(['TOPUP 25', 'TOPUP_REFUND -10'])
    expect(await bench.topup(id)).toMatchObject({ refundedMinor: 1000n })
    const { rows } = await bench.service.db.pool.query(`select action, detail from audit where subject = $1`, [
      `topup:${(await bench.topup(id)).id}`,
    ])
    expect(rows).toMatchObject([{ action: 'topup.refund-ordered', detail: { amountMinor: '1000', reason: 'test' } }])
  })

  test('a refund in two parts at once takes both, and never more than was paid', async () => {
    const both = await Promise.all([refund(1000n), refund(1000n)])
    expect(both.map((result) => result.kind)).toEqual(['refunded', 'refunded'])
    await resolveTopup(bench.service, (await bench.topup(id)).id)
    expect(await payer.balance()).toBe(5)
    const more = await Promise.all([refund(300n), refund(300n)])
    expect(more.map((result) => result.kind).sort()).toEqual(['refunded', 'refused'])
    await resolveTopup(bench.service, (await bench.topup(id)).id)
    expect(await payer.balance()).toBe(2)
    expect(await refund(201n)).toMatchObject({ kind: 'refused', code: 'exceeds-refundable' })
  })

  test('a refund form submitted five times at once makes one refund', async () => {
    const key = crypto.randomUUID()
    const results = await Promise.all(Array.from({ length: 5 }, () => refund(1000n, key)))
    expect(new Set(results.map((result) => result.kind))).toEqual(new Set(['refunded']))
    await resolveTopup(bench.service, (await bench.topup(id)).id)
    expect(await payer.entries()).toEqual(['TOPUP 25', 'TOPUP_REFUND -10'])
  })

  test('a repeated form gets the first result without a second request to the processor, and other content is refused', async () => {
    const [done, refused] = [crypto.randomUUID(), crypto.randomUUID()]
    const results = async () => [await refund(1000n, done), await refund(2600n, refused)]
    const first = await results()
    expect(first).toMatchObject([{ kind: 'refunded' }, { kind: 'refused', code: 'exceeds-refundable' }])
    const asked = bench.standIn.requests.length
    expect(await results()).toEqual(first)
    for (const key of [done, refused]) expect(await refund(500n, key)).toEqual({ kind: 'reused' })
    expect(bench.standIn.requests).toHaveLength(asked)
    const { rows } = await bench.service.db.pool.query('select action from audit where subject = $1 order by at, id', [
      `topup:${(await bench.topup(id)).id}`,
    ])
    expect(rows.map(({ action }) => action as string)).toEqual([
      'topup.refund-ordered',
      'topup.refund-ordered',
      'topup.refund-refused',
    ])
  })

  test('a refund made at the processor itself is booked once, however many webhooks report it at once', async () => {
    state().refund(id, 700)
    state().refund(id, 800)
    const events = bench.standIn.events.filter(
      (event) => /refund/.test(String(event['type'])) && JSON.stringify(event).includes(id),
    )
    await Promise.all([...events, ...events].map((event) => bench.sendEvent(event)))
    expect(await payer.balance()).toBe(10)
  })

  test('a refund that the bank sends back is credited again, and can be repeated', async () => {
    await refund(1000n)
    const charge = state().charges.get(state().intent(id).latest_charge!)!
    charge.amount_refunded = 0
    await sendAll(/^charge\.refunded|^refund\./)
    expect(await payer.balance()).toBe(25)
    expect(await refund(1000n)).toMatchObject({ kind: 'refunded' })
    expect((await payer.entries()).slice(1)).toEqual([
      'TOPUP_REFUND -10',
      'TOPUP_REFUND_RETURNED 10',
      'TOPUP_REFUND -10',
    ])
  })

  test('a refund of spent money puts the wallet into debt', async () => {
    await payer.client.debit(payer.serviceUserId, 25)
    expect(await refund(2500n)).toMatchObject({ kind: 'refunded' })
    expect([await payer.balance(), await payer.isActive()]).toEqual([-25, false])
  })

  test('a refund whose answer was lost is found by the sweeper, and the same form again makes no second one', async () => {
    const key = crypto.randomUUID()
    // The first request reads the payment; the answers to the refund itself are lost.
    const results = await Promise.all([failSecond(), refund(1000n, key)])
    expect(results[1]).toEqual({ kind: 'unavailable' })
    await bench.sweepLater()
    expect(await payer.entries()).toEqual(['TOPUP 25', 'TOPUP_REFUND -10'])
    expect(await refund(1000n, key)).toMatchObject({ kind: 'refunded' })
    expect(await payer.entries()).toEqual(['TOPUP 25', 'TOPUP_REFUND -10'])
  })

  test('a refund of an unknown top-up, an unpaid one, and of nothing is refused', async () => {
    const order = { amountMinor: 100n, key: crypto.randomUUID(), reason: 'r' }
    const unknown = { ...order, topupId: crypto.randomUUID() }
    expect(await refundTopup(bench.service, operator, unknown)).toEqual({ kind: 'unknown-topup' })
    const { id: topupId } = await bench.topup(await payer.begin())
    expect(await refundTopup(bench.service, operator, { ...order, topupId })).toMatchObject({ code: 'not-refundable' })
    expect(await refund(0n)).toMatchObject({ kind: 'refused', code: 'amount-unsupported' })
  })
})

/** Waits until the payment was read, and drops the answers to the refund request that follows. */
async function failSecond(): Promise<void> {
  const isRead = () => bench.standIn.requests.at(-1)?.path.endsWith(id)
  const seen = bench.standIn.requests.length
  while (bench.standIn.requests.length === seen || !isRead()) await new Promise((resolve) => setImmediate(resolve))
  bench.standIn.failNext('afterAnswer', 2)
}

describe('stale answers', () => {
  test('a stale answer of the processor that arrives after a newer one was stored changes nothing', async () => {
    const { service, standIn } = bench
    const { id: topupId } = await bench.topup(id)
    const cards = service.cards!
    const gate = Promise.withResolvers<void>()
    const asked = Promise.withResolvers<void>()
    let isFirst = true
    const slow = {
      ...cards,
      retrievePayment: async (payment: string) => {
        const answer = await cards.retrievePayment(payment)
        if (isFirst) {
          isFirst = false
          asked.resolve()
          await gate.promise
        }
        return answer
      },
    }
    const late = resolveTopup({ ...service, cards: slow }, topupId)
    await asked.promise
    standIn.state.refund(id, 1000)
    await resolveTopup(service, topupId)
    expect(await payer.balance()).toBe(15)
    gate.resolve()
    await late
    expect(await payer.entries()).toEqual(['TOPUP 25', 'TOPUP_REFUND -10'])
  })
})
