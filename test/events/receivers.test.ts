/** The receivers of docs/events.md, run as real processes through what a network and a shop do to them. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { newWebhookSecret, webhookHeaders } from '../../src/actions/webhooks/webhook-signature.ts'
import { eventually } from '../eventually.ts'
import { lockWaitsSql } from '../lock-waits.ts'
import { openShop, programs, type Receiver, type Shop } from './guide-programs.ts'

setDefaultTimeout(180_000)

const minuteMs = 60_000
const oldSecret = newWebhookSecret()
const secret = newWebhookSecret()

type Delivery = {
  readonly body: string | Uint8Array<ArrayBuffer>
  readonly id?: string
  readonly secrets?: readonly string[]
  readonly at?: Date
  readonly headers?: Record<string, string>
}

const ago = (minutes: number) => new Date(Date.now() - minutes * minuteMs)

let count = 0
const nextNumber = () => ++count
const idOf = (number: number) => `evt_${number.toString(16).padStart(32, '0')}`

const eventOf = (number: number, type: string, data: object) =>
  JSON.stringify({ id: idOf(number), number, timestamp: '2026-01-01T00:00:00.000Z', type, data })

const payment = (number: number, order: string, description: string | null = null) =>
  eventOf(number, 'wallet.debited', {
    serviceUserId: 'su_1',
    amount: 19.99,
    referenceType: 'ORDER_PAYMENT',
    referenceId: order,
    description,
  })

/** The status of the answer; 0 if the connection was closed without one. */
async function deliver(to: Receiver, number: number, delivery: Delivery): Promise<number> {
  const { body, id = idOf(number), secrets = [secret], at = new Date(), headers = {} } = delivery
  const signed = webhookHeaders(id, body, secrets, at)
  const all = { 'content-type': 'application/json', connection: 'close', ...signed, ...headers }
  try {
    const answer = await fetch(to.url, { method: 'POST', headers: all, body, redirect: 'manual' })
    await answer.arrayBuffer()
    return answer.status
  } catch {
    return 0
  }
}

for (const program of programs) {
  if (program.missing) {
    test.skip(`the receiver ${program.file}: there is ${program.missing}`, () => {})
    continue
  }
  describe(program.file, () => {
    let shop: Shop
    let receiver: Receiver

    beforeAll(async () => {
      shop = await openShop(program)
      receiver = await shop.receive(secret)
    })
    afterAll(() => shop.close())

    const newOrder = async (number: number, status = 'open') => {
      const order = `order-${number}`
      await shop.db.query('insert into orders values ($1, $2)', [order, status])
      return order
    }
    const effectsOf = async (order: string) =>
      (await shop.db.query('select 1 from effects where reference_id = $1', [order])).rows.length
    const isRecorded = async (number: number) =>
      (await shop.db.query('select 1 from billfold_events where id = $1', [idOf(number)])).rows.length === 1
    const sendSigned = async (to: Receiver, secrets: string[]) => {
      const number = nextNumber()
      const order = await newOrder(number)
      const status = await deliver(to, number, { body: payment(number, order), secrets })
      return [status, await effectsOf(order)]
    }
    const waits = async () => (await shop.db.query(lockWaitsSql.text)).rows.length

    test('acts on a delivery, and answers a repeat without acting again', async () => {
      const number = nextNumber()
      const order = await newOrder(number)
      const body = payment(number, order, 'Zwölf Blätter – 本 😀')
      expect(await deliver(receiver, number, { body })).toBe(204)
      expect(await deliver(receiver, number, { body })).toBe(204)
      expect(await effectsOf(order)).toBe(1)
      const { rows } = await shop.db.query('select status from orders where reference_id = $1', [order])
      expect(rows).toEqual([{ status: 'paid' }])
    })

    test('refuses what the service did not sign now, and keeps nothing of it', async () => {
      const number = nextNumber()
      const order = await newOrder(number)
      const body = payment(number, order)
      const good = webhookHeaders(idOf(number), body, [secret], new Date())
      const refused: Record<string, Delivery> = {
        'another secret': { body, secrets: [newWebhookSecret()] },
        'an old timestamp': { body, at: ago(6) },
        'a timestamp ahead': { body, at: ago(-6) },
        'a changed body': { body: payment(number, order, 'changed'), headers: good },
        'a space more': { body: `${body} `, headers: good },
        'another id': { body, headers: { ...good, 'webhook-id': idOf(number + 1_000_000) } },
        'a newer timestamp': {
          body,
          headers: { ...good, 'webhook-timestamp': String(Number(good['webhook-timestamp']) + 1) },
        },
        'an empty signature': { body, headers: { 'webhook-signature': 'v1,' } },
        'no signature': { body, headers: { 'webhook-signature': '' } },
        'another version': { body, headers: { 'webhook-signature': good['webhook-signature']!.replace('v1,', 'v2,') } },
        'text that is not ASCII': { body, headers: { 'webhook-signature': 'v1,é', 'webhook-id': 'é' } },
        'no time': { body, headers: { 'webhook-timestamp': '' } },
        'a time that is none': { body, headers: { 'webhook-timestamp': 'now' } },
        'a time too long': { body, headers: { 'webhook-timestamp': '9'.repeat(5_000) } },
      }
      for (const [name, delivery] of Object.entries(refused))
        expect([name, await deliver(receiver, number, delivery)]).toEqual([name, 400])
      expect(await fetch(receiver.url, { method: 'POST', body }).then(({ status }) => status)).toBe(400)
      expect([await effectsOf(order), await isRecorded(number)]).toEqual([0, false])
      // A clock may be off by four minutes.
      expect(await deliver(receiver, number, { body, at: ago(4) })).toBe(204)
      expect(await effectsOf(order)).toBe(1)
    })

    test('accepts an event that was signed with two secrets, whichever of them it has', async () => {
      const holdsOld = await shop.receive(oldSecret)
      const holdsBoth = await shop.receive(`${oldSecret} ${secret}`)
      for (const to of [receiver, holdsOld, holdsBoth]) {
        expect(await sendSigned(to, [secret, oldSecret])).toEqual([204, 1])
        expect(await sendSigned(to, [oldSecret, secret])).toEqual([204, 1])
      }
      expect(await sendSigned(holdsBoth, [oldSecret])).toEqual([204, 1])
      expect(await sendSigned(holdsBoth, [secret])).toEqual([204, 1])
      expect(await sendSigned(holdsOld, [secret])).toEqual([400, 0])
      await holdsOld.kill()
      await holdsBoth.kill()
    })

    test('without a whole secret it accepts nothing, not even what is signed with an empty key', async () => {
      for (const broken of ['', 'whsec_', `whsec_${Buffer.from('short').toString('base64')}`]) {
        const number = nextNumber()
        const order = await newOrder(number)
        // It may also refuse to start.
        const careless = await shop.receive(broken).catch(() => undefined)
        if (!careless) continue
        const status = await deliver(careless, number, { body: payment(number, order), secrets: [broken] })
        expect([400, 500]).toContain(status)
        expect(await effectsOf(order)).toBe(0)
        await careless.kill()
      }
    })

    test('answers 500 if the effect fails, and acts when the event comes again', async () => {
      const number = nextNumber()
      const order = await newOrder(number, 'broken')
      const body = payment(number, order)
      expect(await deliver(receiver, number, { body })).toBe(500)
      expect(await deliver(receiver, number, { body })).toBe(500)
      expect([await effectsOf(order), await isRecorded(number)]).toEqual([0, false])
      await shop.db.query(`update orders set status = 'open' where reference_id = $1`, [order])
      expect(await deliver(receiver, number, { body })).toBe(204)
      expect([await effectsOf(order), await isRecorded(number)]).toEqual([1, true])
    })

    test('two deliveries of one event at the same moment act once', async () => {
      const number = nextNumber()
      const order = await newOrder(number)
      const other = await shop.receive(secret)
      await shop.holder.query('begin')
      await shop.holder.query('select 1 from orders where reference_id = $1 for update', [order])
      const both = [receiver, other].map((to) => deliver(to, number, { body: payment(number, order) }))
      // One waits for the order, the other one for the first.
      await eventually(waits, 2)
      await shop.holder.query('commit')
      expect(await Promise.all(both)).toEqual([204, 204])
      expect(await effectsOf(order)).toBe(1)
      await other.kill()
    })

    test('killed in the middle, it has done nothing, and the next attempt acts', async () => {
      const number = nextNumber()
      const order = await newOrder(number)
      const body = payment(number, order)
      const doomed = await shop.receive(secret)
      await shop.holder.query('begin')
      await shop.holder.query('select 1 from orders where reference_id = $1 for update', [order])
      const lost = deliver(doomed, number, { body })
      await eventually(waits, 1)
      await doomed.kill()
      expect(await lost).toBe(0)
      await shop.holder.query('commit')
      expect(await deliver(receiver, number, { body })).toBe(204)
      expect([await effectsOf(order), await isRecorded(number)]).toEqual([1, true])
    })

    test('refuses a body that is no event, though it is signed', async () => {
      const number = nextNumber()
      const texts = ['', '{', 'null', '7', '"evt"', '[]', '{}', '{"id":null}', `{"id":"${idOf(number + 1)}"}`]
      const deep = '['.repeat(60_000)
      const bytes = [new Uint8Array([0xff, 0xfe, 0x00, 0x80]), new Uint8Array(500)]
      for (const body of [...texts, deep, ...bytes])
        expect([String(body).slice(0, 20), await deliver(receiver, number, { body })]).toEqual([
          String(body).slice(0, 20),
          400,
        ])
      expect(await deliver(receiver, number, { body: '{}', id: ' ' })).toBe(400)
      expect(await isRecorded(number)).toBe(false)
    })

    test('refuses a huge body, though it is signed, and works on', async () => {
      for (const megabytes of [0.1, 1, 20]) {
        const number = nextNumber()
        const order = await newOrder(number)
        const body = payment(number, order, 'x'.repeat(megabytes * 2 ** 20))
        // A receiver that does not read it to the end may close the connection before its answer is read.
        expect([413, 0]).toContain(await deliver(receiver, number, { body }))
        expect([await effectsOf(order), await isRecorded(number)]).toEqual([0, false])
        expect(await deliver(receiver, number, { body: payment(number, order) })).toBe(204)
      }
    })

    test('an older event does not overwrite a newer state', async () => {
      const [first, second, third] = [nextNumber(), nextNumber(), nextNumber()] as const
      const serviceUserId = `su_${first}`
      const send = (number: number, type: string) =>
        deliver(receiver, number, { body: eventOf(number, type, { serviceUserId }) })
      const state = async () =>
        (await shop.db.query('select is_active from billfold_wallets where service_user_id = $1', [serviceUserId])).rows
      expect(await send(second, 'wallet.unfrozen')).toBe(204)
      expect(await send(first, 'wallet.frozen')).toBe(204)
      expect(await state()).toEqual([{ is_active: true }])
      expect(await send(third, 'wallet.frozen')).toBe(204)
      expect(await state()).toEqual([{ is_active: false }])
    })

    test('accepts a type that it does not know', async () => {
      for (const type of ['test.ping', 'wallet.of_the_future']) {
        const number = nextNumber()
        expect(await deliver(receiver, number, { body: eventOf(number, type, {}) })).toBe(204)
        expect(await isRecorded(number)).toBe(true)
      }
    })
  })
}
