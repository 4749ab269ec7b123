import { describe, expect, test } from 'bun:test'
import type { Bench } from './contract-rig.ts'
import type { Payment, WebhookReading } from '../../src/cards/processor.ts'

const now = new Date('2030-01-01T12:00:00Z')

type Context = {
  readonly bench: Bench
  createPaid(): Promise<Payment>
  refund(paymentIntentId: string, amountMinor: bigint): Promise<unknown>
}

/** The part of the contract about webhooks. `context` is called anew in every test. */
export function webhookSuite(context: () => Context): void {
  function read(body: string | Uint8Array, headers: Headers): Promise<WebhookReading> {
    return context().bench.processor.parseWebhook(body, headers, now)
  }

  function sign(body: string, options: { at: Date; secret?: string } = { at: now }): Headers {
    return context().bench.sign(body, options)
  }

  async function lastBody(): Promise<{ id: string; body: string }> {
    const { id } = await context().createPaid()
    return { id, body: (await context().bench.webhookBodies(id)).at(-1)! }
  }

  describe('webhooks', () => {
    test('a signed webhook names the payment it is about, read as text and as bytes', async () => {
      const { id, body } = await lastBody()
      const headers = sign(body)
      const event = await read(body, headers)
      expect(event).toMatchObject({ paymentIntentId: id })
      expect(await read(new TextEncoder().encode(body), headers)).toEqual(event)
    })

    test('webhooks about refunds and disputes name the payment they concern', async () => {
      const { id } = await context().createPaid()
      await context().refund(id, 500n)
      const afterRefund = (await context().bench.webhookBodies(id)).at(-1)!
      await context().bench.dispute(id)
      const afterDispute = (await context().bench.webhookBodies(id)).at(-1)!
      for (const body of [afterRefund, afterDispute]) {
        const event = await read(body, sign(body))
        expect(event).toMatchObject({ paymentIntentId: id })
      }
    })

    test('another secret, no signature, and nonsense for a signature are invalid', async () => {
      const { body } = await lastBody()
      const forged = sign(body, { at: now, secret: 'whsec_of_a_stranger' })
      expect(await read(body, forged)).toBe('invalid-signature')
      expect(await read(body, new Headers())).toBe('invalid-signature')
      for (const [header] of forged) {
        for (const value of ['t=1', 'v1=00', 't=,v1=', 't=x,v1=zz', ',,,', 't=1,v1=', `t=${'9'.repeat(400)},v1=0`]) {
          const headers = new Headers({ [header]: value })
          expect(await read(body, headers)).toBe('invalid-signature')
        }
      }
    })

    test('a signature is good for 300 seconds and not for 301', async () => {
      const { id, body } = await lastBody()
      const at = (ageSeconds: number) => sign(body, { at: new Date(now.getTime() - ageSeconds * 1000) })
      expect(await read(body, at(300))).toMatchObject({ paymentIntentId: id })
      expect(await read(body, at(301))).toBe('invalid-signature')
    })

    test('a body that was parsed and written again, or changed by one byte, is invalid', async () => {
      const { body } = await lastBody()
      const headers = sign(body)
      const rewritten = JSON.stringify(JSON.parse(body), null, 1)
      expect(await read(rewritten, headers)).toBe('invalid-signature')
      expect(await read(`${body} `, headers)).toBe('invalid-signature')
      expect(await read('', headers)).toBe('invalid-signature')
    })

    test('a signed event of an unknown kind is ignored, and a signed body that is no event is malformed', async () => {
      const unknown = JSON.stringify({ id: 'evt_1', object: 'event', type: 'plan.created', data: { object: {} } })
      expect(await read(unknown, sign(unknown))).toBe('ignored')
      for (const body of ['not json', 'null', '[]', '{}', '"text"', '{"id":1,"type":2,"data":3}']) {
        expect(await read(body, sign(body))).toBe('malformed')
      }
    })

    test('a webhook can be read while the processor is down', async () => {
      const { id, body } = await lastBody()
      await context().bench.takeDown()
      expect(await read(body, sign(body))).toMatchObject({
        paymentIntentId: id,
      })
    })
  })
}
