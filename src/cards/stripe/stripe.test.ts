import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { Stripe } from 'stripe'
import { ProcessorUnavailable, type CardProcessor, type Payment, type PaymentOrder } from '../processor.ts'
import { createStripeProcessor, stripeApiVersion, type StripeSettings } from './stripe.ts'
import { startStripeStandIn, type StripeStandIn } from '../../../test/cards/stripe-stand-in.ts'

const order: PaymentOrder = {
  topupId: 'top_1',
  userId: 'usr_1',
  amountMinor: 2500n,
  currency: 'USD',
  description: 'Top-up & more',
  idempotencyKey: 'topup-top_1',
}

let standIn: StripeStandIn
let processor: CardProcessor

beforeEach(() => {
  standIn = startStripeStandIn()
  processor = connect()
})
afterEach(() => standIn.stop())

function decimalsOf(currency: string): number {
  return currency === 'BHD' ? 3 : 2
}

/** With a long time-out, so that no test meets one unintentionally. */
function connect(changes: Partial<StripeSettings> = {}): CardProcessor {
  const { secretKey, webhookSecret, api } = standIn
  const keys = { secretKey, webhookSecret, publishableKey: 'pk_test_standin' }
  return createStripeProcessor({ ...keys, api, decimalsOf, timeoutMs: 60_000, ...changes })
}
const brief = () => connect({ timeoutMs: 1_400 })

async function createPaid(): Promise<Payment> {
  const payment = (await processor.createPayment(order)) as Payment
  standIn.state.pay(payment.id)
  return payment
}

function fault(asked: Promise<unknown>): Promise<unknown> {
  return asked.then(
    (answer) => ({ answer }),
    (error: unknown) => error,
  )
}

describe('what is sent', () => {
  test('the API version asked for is the one the SDK describes', () => {
    expect(stripeApiVersion).toBe(new Stripe('sk_test_x').getApiField('version') as typeof stripeApiVersion)
  })

  test('a payment is form encoded, with its key, its metadata and automatic payment methods', async () => {
    await processor.createPayment(order)
    const [sent] = standIn.requests
    expect(sent).toMatchObject({ method: 'POST', path: '/v1/payment_intents', idempotencyKey: order.idempotencyKey })
    expect(Object.fromEntries(new URLSearchParams(sent!.body))).toEqual({
      amount: '2500',
      currency: 'usd',
      description: 'Top-up & more',
      'automatic_payment_methods[enabled]': 'true',
      'metadata[topup_id]': 'top_1',
      'metadata[user_id]': 'usr_1',
      'expand[0]': 'latest_charge',
    })
  })

  test('an amount below the smallest Stripe takes is refused', async () => {
    const answer = await processor.createPayment({ ...order, amountMinor: 49n })
    expect(answer).toMatchObject({ refused: 'amount-unsupported' })
  })

  test('a three-decimal amount that does not end in 0 is refused before anything is sent', async () => {
    const answer = await processor.createPayment({ ...order, amountMinor: 5124n, currency: 'BHD' })
    expect(answer).toMatchObject({ refused: 'amount-unsupported' })
    expect(standIn.requests).toHaveLength(0)
  })
})

describe('faults', () => {
  test.each(['../refunds', 'pi_1/cancel', 'pi_1?expand[]=customer', 'pi_%2e%2e', 'ch_1', 'pi_', ''])(
    'text that is no PaymentIntent id never becomes part of a path: %p',
    async (id) => {
      expect(await processor.retrievePayment(id)).toBeUndefined()
      expect(await processor.cancelPayment(id)).toMatchObject({ refused: 'payment-unknown' })
      const refund = { paymentIntentId: id, amountMinor: 100n, idempotencyKey: 'refund-1' }
      expect(await processor.refundPayment(refund)).toMatchObject({ refused: 'payment-unknown' })
      expect(standIn.requests).toEqual([])
    },
  )

  test('one failure is tried again with the same key and is never seen', async () => {
    standIn.failNext(500)
    expect(await processor.createPayment(order)).toMatchObject({ amountMinor: 2500n })
    expect(standIn.requests.map((request) => request.idempotencyKey)).toEqual([
      order.idempotencyKey,
      order.idempotencyKey,
    ])
    expect(standIn.state.intents.size).toBe(1)
  })

  test.each([
    [500, 'server'],
    [503, 'server'],
    [409, 'busy'],
    [429, 'busy'],
  ] as const)('a lasting %p is a ProcessorUnavailable (%s)', async (status, reason) => {
    standIn.failNext(status, 2)
    const error = await fault(processor.createPayment(order))
    expect(error).toBeInstanceOf(ProcessorUnavailable)
    expect(error).toMatchObject({ reason })
  })

  test('silence is a time-out within the time allowed', async () => {
    standIn.failNext('timeout', 4)
    const patient = connect({ timeoutMs: 200_000 }).createPayment({ ...order, idempotencyKey: 'patient' })
    const timedOut = fault(brief().createPayment(order))
    // The other call waits longer, even on a slow machine.
    expect(await Promise.race([timedOut, fault(patient).then(() => 'patient')])).toMatchObject({ reason: 'timeout' })
  })

  test('an answer that came too late is found by asking again with the same key: one payment, not two', async () => {
    standIn.failNext('afterAnswer', 2)
    expect(await fault(brief().createPayment(order))).toMatchObject({ reason: 'timeout' })
    expect(standIn.state.intents.size).toBe(1)
    const [id] = standIn.state.intents.keys()
    expect(await processor.createPayment(order)).toMatchObject({ id })
    expect(standIn.state.intents.size).toBe(1)
  })

  test('a refund whose answer was lost is made once', async () => {
    const { id } = await createPaid()
    const refund = (by: CardProcessor) =>
      by.refundPayment({ paymentIntentId: id, amountMinor: 1000n, idempotencyKey: 'r1' })
    // The first lookup is answered. Then the refund is made, after two requests, and both answers are lost.
    standIn.failNext('none')
    standIn.failNext('afterAnswer', 2)
    expect(await fault(refund(brief()))).toMatchObject({ reason: 'timeout' })
    expect(await refund(processor)).toMatchObject({ amountMinor: 1000n })
    expect(await processor.retrievePayment(id)).toMatchObject({ refundedMinor: 1000n })
  })

  test('a wrong key is a fault that tells of credentials and shows none', async () => {
    const error = await fault(connect({ secretKey: 'sk_test_wrong_and_secret' }).createPayment(order))
    expect(error).toMatchObject({ reason: 'credentials' })
    expect(Bun.inspect(error)).not.toContain('sk_test')
  })
})

describe('disputes as Stripe tells of them', () => {
  test('an inquiry withdraws nothing and is no dispute', async () => {
    const { id } = await createPaid()
    standIn.state.dispute(id, { status: 'warning_needs_response' })
    expect(await processor.retrievePayment(id)).toMatchObject({ disputed: 'none', disputedMinor: 0n })
  })

  test('a dispute about a part holds that part', async () => {
    const { id } = await createPaid()
    standIn.state.dispute(id, { amount: 900 })
    expect(await processor.retrievePayment(id)).toMatchObject({ disputed: 'open', disputedMinor: 900n })
  })

  test('a disputed amount above the payment counts only up to the payment', async () => {
    const { id } = await createPaid()
    standIn.state.dispute(id, { amount: 2600 })
    expect(await processor.retrievePayment(id)).toMatchObject({ disputedMinor: 2500n })
  })

  test('a won dispute holds nothing, also before its money is booked back', async () => {
    const { id } = await createPaid()
    standIn.state.dispute(id, { amount: 900, status: 'won' })
    expect(await processor.retrievePayment(id)).toMatchObject({ disputed: 'won', disputedMinor: 0n })
  })

  test('two disputes add up, and the payment is open while one of them is', async () => {
    const { id } = await createPaid()
    standIn.state.dispute(id, { amount: 900 })
    standIn.state.loseDispute(id)
    standIn.state.dispute(id, { amount: 600 })
    expect(await processor.retrievePayment(id)).toMatchObject({ disputed: 'open', disputedMinor: 1500n })
    standIn.state.winDispute(id)
    expect(await processor.retrievePayment(id)).toMatchObject({ disputed: 'lost', disputedMinor: 900n })
  })
})

describe('webhooks over HTTP', () => {
  test('every event of a payment reaches the endpoint signed, twice when told so, and is read', async () => {
    const read: unknown[] = []
    const endpoint = Bun.serve({
      port: 0,
      hostname: '127.0.0.1',
      fetch: async (request) => {
        read.push(await processor.parseWebhook(await request.bytes(), request.headers, new Date()))
        return new Response()
      },
    })
    standIn.webhooks.url = endpoint.url.href
    standIn.webhooks.mode = 'twice'
    const { id } = await createPaid()
    await standIn.delivered()
    await endpoint.stop(true)
    const paid = read.filter((reading) => (reading as { type?: string }).type === 'payment_intent.succeeded')
    expect(paid).toEqual([
      expect.objectContaining({ paymentIntentId: id }),
      expect.objectContaining({ paymentIntentId: id }),
    ])
    // `payment_intent.created` and `charge.succeeded` add nothing to the other events.
    expect(read.filter((reading) => reading === 'ignored')).toHaveLength(4)
  })

  test('held events come in the order asked for', async () => {
    const types: string[] = []
    const endpoint = Bun.serve({
      port: 0,
      hostname: '127.0.0.1',
      fetch: async (request) => {
        types.push(((await request.json()) as { type: string }).type)
        return new Response()
      },
    })
    standIn.webhooks.url = endpoint.url.href
    standIn.webhooks.mode = 'held'
    await createPaid()
    expect(types).toEqual([])
    await standIn.release('reversed')
    await endpoint.stop(true)
    expect(types).toEqual(['payment_intent.succeeded', 'charge.succeeded', 'payment_intent.created'])
  })
})

test('the page allows Stripe and nothing else', () => {
  expect(processor.page.kind).toBe('stripe')
  expect(processor.page.publishableKey).toBe('pk_test_standin')
  const sources = [...processor.page.scriptSources, ...processor.page.frameSources, ...processor.page.connectSources]
  expect(sources.every((source) => /^https:\/\/[a-z*.]*\.?stripe\.com$/.test(source))).toBe(true)
})
