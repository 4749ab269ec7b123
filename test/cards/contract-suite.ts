import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import {
  isRefusal,
  ProcessorUnavailable,
  refundableMinor,
  type CardProcessor,
  type Payment,
  type PaymentOrder,
  type Refund,
  type Refusal,
} from '../../src/cards/processor.ts'
import type { Bench } from './contract-rig.ts'
import { webhookSuite } from './contract-webhooks.ts'

/** The contract of a card processor: a new implementation has to pass this suite. */
export function contractSuite(name: string, open: () => Promise<Bench>): void {
  describe(`${name} keeps the contract of a card processor`, () => {
    let bench: Bench
    let processor: CardProcessor
    let orders = 0

    beforeEach(async () => {
      bench = await open()
      processor = bench.processor
    })
    afterEach(() => bench.close())

    function order(changes: Partial<PaymentOrder> = {}): PaymentOrder {
      orders += 1
      const names = { topupId: `top_${orders}`, userId: 'usr_1', idempotencyKey: `${name}-create-${orders}` }
      return { ...names, amountMinor: 2500n, currency: 'USD', description: 'Top-up', ...changes }
    }

    async function create(changes: Partial<PaymentOrder> = {}): Promise<Payment> {
      return accepted(await processor.createPayment(order(changes)))
    }

    async function createPaid(amountMinor = 2500n): Promise<Payment> {
      const { id } = await create({ amountMinor })
      await bench.pay(id)
      return retrieve(id)
    }

    async function retrieve(id: string): Promise<Payment> {
      const payment = await processor.retrievePayment(id)
      if (!payment) throw new Error('the payment is unknown')
      return payment
    }

    function refund(paymentIntentId: string, amountMinor: bigint, idempotencyKey: string = crypto.randomUUID()) {
      return processor.refundPayment({ paymentIntentId, amountMinor, idempotencyKey })
    }

    function change(paymentIntentId: string, amountMinor: bigint, idempotencyKey: string = crypto.randomUUID()) {
      return processor.changeAmount({ paymentIntentId, amountMinor, currency: 'USD', idempotencyKey })
    }

    describe('paying', () => {
      test('a new payment carries exactly the ordered values and has received nothing', async () => {
        const ordered = order({ amountMinor: 1999n, currency: 'EUR' })
        const payment = accepted(await processor.createPayment(ordered))
        expect(payment).toMatchObject({
          status: 'requires_payment_method',
          amountMinor: 1999n,
          amountReceivedMinor: 0n,
          currency: 'EUR',
          refundedMinor: 0n,
          disputed: 'none',
          disputedMinor: 0n,
          declineCode: undefined,
          nextAction: undefined,
          userId: ordered.userId,
          topupId: ordered.topupId,
        })
        expect(payment.clientSecret.startsWith(`${payment.id}_secret_`)).toBe(true)
        expect(await retrieve(payment.id)).toEqual(payment)
      })

      test('an amount in a currency without decimals stays exact', async () => {
        expect(await create({ amountMinor: 500n, currency: 'JPY' })).toMatchObject({
          amountMinor: 500n,
          currency: 'JPY',
        })
      })

      test('the largest amount that can be topped up stays exact', async () => {
        const { id } = await create({ amountMinor: 99_999_999_999n })
        await bench.pay(id)
        expect((await retrieve(id)).amountReceivedMinor).toBe(99_999_999_999n)
      })

      test('the same order with the same key is one payment, even twenty times at once', async () => {
        const ordered = order()
        const answers = await Promise.all(Array.from({ length: 20 }, () => processor.createPayment(ordered)))
        expect(new Set(answers.map((answer) => accepted(answer).id)).size).toBe(1)
        expect(new Set(answers.map((answer) => accepted(answer).clientSecret)).size).toBe(1)
      })

      test('two orders with two keys are two payments', async () => {
        expect((await create()).id).not.toBe((await create()).id)
      })

      test('the same key with another amount is refused', async () => {
        const ordered = order()
        await processor.createPayment(ordered)
        const answer = await processor.createPayment({ ...ordered, amountMinor: 9900n })
        expect(answer).toMatchObject({ refused: 'key-conflict' })
      })

      test('an amount of zero and a negative one are refused', async () => {
        for (const amountMinor of [0n, -1n]) {
          expect(await processor.createPayment(order({ amountMinor }))).toMatchObject({ refused: 'amount-unsupported' })
        }
      })

      test('an id the processor does not know, or that is no id at all, is undefined', async () => {
        for (const id of [
          'pi_unknown',
          '',
          'settings',
          '../refunds',
          'pi_/../../v1/refunds',
          'pi_%2e%2e',
          'x'.repeat(5_000),
        ]) {
          expect(await processor.retrievePayment(id)).toBeUndefined()
        }
      })

      test('a paid payment has succeeded with the whole amount received', async () => {
        expect(await createPaid()).toMatchObject({ status: 'succeeded', amountReceivedMinor: 2500n })
      })

      test('a decline names its code, takes nothing, and leaves the payment open for another card', async () => {
        const { id } = await create()
        await bench.decline(id)
        const payment = await retrieve(id)
        expect(payment).toMatchObject({ status: 'requires_payment_method', declineCode: 'insufficient_funds' })
        expect(payment.declineMessage).toBeString()
        expect(payment.amountReceivedMinor).toBe(0n)
        await bench.pay(id)
        expect(await retrieve(id)).toMatchObject({ status: 'succeeded', declineCode: undefined })
      })

      test('a payment that needs the payer to act says what to do', async () => {
        const { id } = await create()
        await bench.requireAction(id)
        const payment = await retrieve(id)
        expect(payment.status).toBe('requires_action')
        expect(payment.nextAction).toBeDefined()
      })

      test('a processing payment has received nothing until it succeeds', async () => {
        const { id } = await create()
        await bench.process(id)
        expect(await retrieve(id)).toMatchObject({ status: 'processing', amountReceivedMinor: 0n })
        await bench.settle(id)
        expect(await retrieve(id)).toMatchObject({ status: 'succeeded', amountReceivedMinor: 2500n })
      })
    })

    describe('changing the amount', () => {
      test('an unpaid payment gets the new amount, also when it is sent twice, and takes that one', async () => {
        const { id, clientSecret } = await create()
        for (const _ of [1, 2])
          expect(await change(id, 4000n, `${id}-4000`)).toMatchObject({ id, clientSecret, amountMinor: 4000n })
        await bench.pay(id)
        expect(await retrieve(id)).toMatchObject({ status: 'succeeded', amountReceivedMinor: 4000n })
      })

      test('a payment that is processing, paid or cancelled keeps its amount', async () => {
        const [processing, paid, cancelled] = [await create(), await createPaid(), await create()]
        await bench.process(processing.id)
        await processor.cancelPayment(cancelled.id)
        for (const { id } of [processing, paid, cancelled]) {
          expect(await change(id, 4000n)).toMatchObject({ refused: 'not-changeable' })
          expect((await retrieve(id)).amountMinor).toBe(2500n)
        }
      })

      test('an unknown payment and an amount of zero are refused', async () => {
        expect(await change('pi_unknown', 4000n)).toMatchObject({ refused: 'payment-unknown' })
        expect(await change((await create()).id, 0n)).toMatchObject({ refused: 'amount-unsupported' })
      })
    })

    describe('cancelling', () => {
      test('an unpaid payment is cancelled, and cancelling it again is harmless', async () => {
        const { id } = await create()
        expect(await processor.cancelPayment(id)).toMatchObject({ id, status: 'cancelled' })
        expect(await processor.cancelPayment(id)).toMatchObject({ id, status: 'cancelled' })
        expect(await retrieve(id)).toMatchObject({ status: 'cancelled' })
      })

      test('a payment that has succeeded or is processing cannot be cancelled', async () => {
        const { id } = await createPaid()
        expect(await processor.cancelPayment(id)).toMatchObject({ refused: 'not-cancellable' })
        const other = await create()
        await bench.process(other.id)
        expect(await processor.cancelPayment(other.id)).toMatchObject({ refused: 'not-cancellable' })
      })

      test('an unknown payment cannot be cancelled', async () => {
        expect(await processor.cancelPayment('pi_unknown')).toMatchObject({ refused: 'payment-unknown' })
      })
    })

    describe('refunding', () => {
      test('parts add up to the whole, and then nothing is left', async () => {
        const { id } = await createPaid()
        expect(acceptedRefund(await refund(id, 1000n))).toMatchObject({ amountMinor: 1000n, status: 'succeeded' })
        expect(await retrieve(id)).toMatchObject({ status: 'succeeded', refundedMinor: 1000n })
        await refund(id, 1500n)
        expect(await retrieve(id)).toMatchObject({ refundedMinor: 2500n, amountReceivedMinor: 2500n })
        expect(await refund(id, 1n)).toMatchObject({ refused: 'exceeds-refundable' })
      })

      test('more than was paid is refused and refunds nothing', async () => {
        const { id } = await createPaid()
        expect(await refund(id, 2501n)).toMatchObject({ refused: 'exceeds-refundable' })
        expect((await retrieve(id)).refundedMinor).toBe(0n)
      })

      test('the same refund with the same key is made once', async () => {
        const { id } = await createPaid()
        const answers = await Promise.all(Array.from({ length: 5 }, () => refund(id, 1000n, `${id}-refund`)))
        expect(new Set(answers.map((answer) => acceptedRefund(answer).id)).size).toBe(1)
        expect((await retrieve(id)).refundedMinor).toBe(1000n)
        expect(await refund(id, 1100n, `${id}-refund`)).toMatchObject({ refused: 'key-conflict' })
      })

      test('of two refunds at once that together exceed the payment, one is refused', async () => {
        const { id } = await createPaid()
        const answers = await Promise.all([refund(id, 1500n), refund(id, 1500n)])
        expect(answers.filter((answer) => isRefusal(answer))).toHaveLength(1)
        expect((await retrieve(id)).refundedMinor).toBe(1500n)
      })

      test('an unpaid payment, an unknown one and an amount of zero are refused', async () => {
        const { id } = await create()
        expect(await refund(id, 1n)).toMatchObject({ refused: 'not-refundable' })
        expect(await refund('pi_unknown', 1n)).toMatchObject({ refused: 'payment-unknown' })
        expect(await refund((await createPaid()).id, 0n)).toMatchObject({ refused: 'amount-unsupported' })
      })
    })

    describe('disputes', () => {
      test('an open dispute holds the amount that was not refunded, and such a payment cannot be refunded', async () => {
        const { id } = await createPaid()
        await refund(id, 500n)
        await bench.dispute(id)
        const payment = await retrieve(id)
        expect(payment).toMatchObject({
          status: 'succeeded',
          disputed: 'open',
          disputedMinor: 2000n,
          refundedMinor: 500n,
        })
        expect(refundableMinor(payment)).toBe(0n)
        expect(await refund(id, 1n)).toMatchObject({ refused: 'not-refundable' })
      })

      test('a won dispute gives everything back', async () => {
        const { id } = await createPaid()
        await bench.dispute(id)
        await bench.closeDispute(id, 'won')
        expect(await retrieve(id)).toMatchObject({ disputed: 'won', disputedMinor: 0n, amountReceivedMinor: 2500n })
        expect(isRefusal(await refund(id, 2500n))).toBe(false)
      })

      test('a lost dispute keeps the amount that it held', async () => {
        const { id } = await createPaid()
        await bench.dispute(id)
        await bench.closeDispute(id, 'lost')
        expect(await retrieve(id)).toMatchObject({ disputed: 'lost', disputedMinor: 2500n })
      })
    })

    webhookSuite(() => ({ bench, createPaid, refund }))

    describe('the bookings in the account', () => {
      const hourMs = 3_600_000
      const span = (changes = {}) => {
        const now = Date.now()
        const around = { from: new Date(now - hourMs), until: new Date(now + hourMs) }
        return { ...around, currency: 'USD', after: undefined, ...changes }
      }
      const list = async (changes = {}) =>
        (await processor.listLines(span(changes))).lines
          .map(
            ({ kind, paymentIntentId, amountMinor, isOurs }) => `${kind} ${paymentIntentId} ${amountMinor} ${isOurs}`,
          )
          .toSorted()

      test('are the amounts that a payment took, refunded and lost, and the amounts that came back', async () => {
        const { id } = await createPaid()
        await create()
        acceptedRefund(await refund(id, 400n))
        acceptedRefund(await refund(id, 100n))
        await bench.dispute(id)
        const open = [
          `charge ${id} 2500 true`,
          `dispute ${id} -2000 true`,
          `refund ${id} -100 true`,
          `refund ${id} -400 true`,
        ]
        expect(await list()).toEqual(open)
        await bench.closeDispute(id, 'won')
        expect(await list()).toEqual([...open, `dispute ${id} 2000 true`].toSorted())
        expect(await list({ until: new Date(Date.now() - hourMs) })).toEqual([])
      })

      test('come page by page, each once', async () => {
        for (let i = 0; i < 102; i++) await createPaid(1_000n)
        const ids: string[] = []
        let after: string | undefined
        let pages = 0
        do {
          const { lines, next } = await processor.listLines(span({ after }))
          ids.push(...lines.map((line) => line.id))
          after = next
          pages++
        } while (after !== undefined)
        expect([ids.length, new Set(ids).size, pages]).toEqual([102, 102, 2])
      })
    })

    describe('when the processor is down', () => {
      test('every call fails with ProcessorUnavailable, never with a refusal', async () => {
        const { id } = await createPaid()
        await bench.takeDown()
        const asked = [
          () => processor.createPayment(order()),
          () => processor.retrievePayment(id),
          () => refund(id, 100n),
          () => processor.cancelPayment(id),
          () => change(id, 100n),
          () => processor.listLines({ from: new Date(0), until: new Date(), currency: 'USD', after: undefined }),
        ]
        for (const ask of asked) {
          const fault = await ask().then(
            () => 'no fault',
            (error: unknown) => error,
          )
          expect(fault).toBeInstanceOf(ProcessorUnavailable)
        }
      })
    })
  })
}

function accepted(answer: Payment | Refusal): Payment {
  if (isRefusal(answer)) throw new Error(`refused: ${answer.refused} ${answer.message}`)
  return answer
}

function acceptedRefund(answer: Refund | Refusal): Refund {
  if (isRefusal(answer)) throw new Error(`refused: ${answer.refused} ${answer.message}`)
  return answer
}
