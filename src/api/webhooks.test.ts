import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { openBench, type Bench, type Payer } from '../../test/topup/rig.ts'
import { openTestService } from '../../test/service.ts'

let bench: Bench
let payer: Payer
let event: object
let id: string

beforeAll(async () => {
  bench = await openBench({}, 20_000)
})
beforeEach(async () => {
  payer = await bench.newPayer()
  id = await payer.begin()
  bench.standIn.state.pay(id)
  event = bench.eventsOf('payment_intent.succeeded', id)[0]!
})
afterAll(() => bench.close())

const seconds = (ago: number) => Math.floor(Date.now() / 1000) - ago
const signed = (body: string, options: Parameters<Bench['standIn']['sign']>[1] = {}) => ({
  'stripe-signature': bench.standIn.sign(body, options),
})

const send = (what: object, options: Parameters<Bench['standIn']['sign']>[1]) => {
  const body = JSON.stringify(what)
  return bench.sendRaw(body, signed(body, options))
}

describe('it refuses, and nothing moves', () => {
  const refused: [string, () => Promise<{ status: number; body: Record<string, unknown> }>][] = [
    ['no signature', () => bench.sendRaw(JSON.stringify(event), {})],
    ['a signature of another secret', () => send(event, { secret: 'whsec_other' })],
    ['a signature older than five minutes', () => send(event, { timestamp: seconds(301) })],
    [
      'a body that was parsed and written again',
      () => bench.sendRaw(JSON.stringify(event), signed(JSON.stringify(event, null, 2))),
    ],
    ['a signature of another body', () => bench.sendRaw(JSON.stringify(event), signed('{}'))],
    ['a signed body that is no event', () => bench.sendRaw('null', signed('null'))],
    ['a signed body that is no JSON', () => bench.sendRaw('hello', signed('hello'))],
  ]
  test.each(refused)('a webhook is refused, and nothing moves: %s', async (_, ask) => {
    expect(await ask()).toMatchObject({ status: 400, body: { code: 'INVALID_REQUEST' } })
    expect(await payer.balance()).toBe(0)
  })

  test('a body beyond a mebibyte', async () => {
    const body = ' '.repeat(1024 * 1024 + 1)
    expect(await bench.sendRaw(body, signed(body))).toMatchObject({ status: 413 })
  })

  test('webhooks of a processor that is not in use', async () => {
    const request = new Request('http://billfold.test/api/processor/sandbox', { method: 'POST', body: '{}' })
    expect((await bench.app.fetch(request)).status).toBe(404)
  })
})

describe('it works', () => {
  test('a webhook of an unknown kind, about a foreign payment, or four minutes old is answered 200', async () => {
    expect(await bench.sendEvent({ ...event, type: 'invoice.paid' })).toEqual({
      status: 200,
      body: { received: true, isOurs: false },
    })
    const foreign = bench.standIn.state.createIntent({ amount: '2500', currency: 'usd', metadata: {} })
    const about = { ...event, data: { object: { ...foreign } } }
    expect(await bench.sendEvent(about)).toEqual({ status: 200, body: { received: true, isOurs: false } })
    const unknown = { ...event, data: { object: { ...foreign, id: 'pi_unknown' } } }
    expect(await bench.sendEvent(unknown)).toEqual({ status: 200, body: { received: true, isOurs: false } })
    const body = JSON.stringify(event)
    const old = await bench.sendRaw(body, signed(body, { timestamp: seconds(240) }))
    expect(old).toEqual({ status: 200, body: { received: true, isOurs: true } })
    expect(await payer.balance()).toBe(25)
  })
})

test('a storm of 480 events for 12 payments is answered 200, and asks the processor once for each event that is new', async () => {
  const events: object[] = []
  const paid: { readonly payer: Payer; readonly id: string }[] = []
  for (let i = 0; i < 12; i++) {
    const one = await bench.newPayer()
    const payment = await one.begin()
    bench.standIn.state.pay(payment)
    paid.push({ payer: one, id: payment })
    const [succeeded] = bench.eventsOf('payment_intent.succeeded', payment)
    for (let n = 0; n < 40; n++) events.push(succeeded!)
  }
  const asked = () =>
    bench.standIn.requests.filter(({ method, path }) => method === 'GET' && paid.some(({ id: p }) => path.includes(p)))
  const before = asked().length
  const replies = await Promise.all(events.map((one) => bench.sendEvent(one)))
  expect(replies.filter(({ status }) => status !== 200)).toEqual([])
  expect(asked().length - before).toBe(12)
  for (const { payer: one } of paid) expect(await one.balance()).toBe(25)
  // A repeat days later is answered from its row too, also while the processor is away.
  bench.standIn.failNext(500, 2)
  expect(await bench.sendEvent(events[0]!)).toEqual({ status: 200, body: { received: true, isOurs: true } })
  bench.standIn.recover()
  expect(asked().length - before).toBe(12)
})

test('nothing of the body, the signature or the client secret is logged', async () => {
  await bench.sendEvent(event)
  const log = bench.opened.logged.join('')
  expect(log).not.toContain('_secret_')
  expect(log).not.toContain('v1=')
  expect(log).not.toContain('whsec_')
})

test('a service without cards has neither webhooks nor top-ups', async () => {
  const opened = await openTestService({ CARD_PROCESSOR: 'none' })
  for (const kind of ['stripe', 'sandbox']) {
    const request = new Request(`http://billfold.test/api/processor/${kind}`, { method: 'POST', body: '{}' })
    expect((await opened.app.fetch(request)).status).toBe(404)
  }
  expect((await opened.app.fetch(new Request('http://billfold.test/sandbox/panel'))).status).toBe(404)
  await opened.close()
})
