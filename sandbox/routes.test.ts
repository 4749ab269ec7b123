import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { Hono } from 'hono'
import type { CardProcessor, Payment } from '../src/cards/processor.ts'
import { createSandboxProcessor } from './sandbox.ts'
import { sandboxRoutes } from './routes.tsx'
import type { SandboxPageDeps } from './sandbox-page.tsx'
import { writeSettings } from './settings.ts'
import { openSandboxStore, type TestSandboxStore } from '../test/cards/sandbox-store.ts'

const host = 'http://billfold.test'
const card = { number: '4242 4242 4242 4242', expiry: '12 / 40', cvc: '987' }

let deps: SandboxPageDeps
let app: Hono
let processor: CardProcessor
let orders = 0
let store: TestSandboxStore

beforeAll(async () => void (store = await openSandboxStore()))
afterAll(() => store.close())

beforeEach(async () => {
  await store.clear()
  deps = {
    store,
    webhookUrl: () => 'http://127.0.0.1:9/',
    webhookSecret: 'whsec_sandbox',
    now: () => new Date(),
    newId: () => crypto.randomUUID().replaceAll('-', ''),
    basePath: '/sandbox',
    decimalsOf: () => 2,
    frameAncestors: async () => ['https://shop.example', "https://x.example; script-src 'unsafe-inline'"],
  }
  app = new Hono().route('/sandbox', sandboxRoutes(deps))
  processor = createSandboxProcessor(deps)
})

async function create(description = 'Top-up'): Promise<Payment> {
  orders += 1
  const names = { topupId: `top_${orders}`, userId: 'usr_1', idempotencyKey: `order-${orders}`, description }
  return (await processor.createPayment({ ...names, amountMinor: 123_456n, currency: 'USD' })) as Payment
}

function get(path: string) {
  return app.request(`${host}${path}`)
}

function post(path: string, form: Record<string, string>, headers: Record<string, string> = {}) {
  const body = new URLSearchParams(form)
  return app.request(`${host}${path}`, { method: 'POST', body, headers: { host: 'billfold.test', ...headers } })
}

function confirm(body: unknown) {
  const headers = { 'content-type': 'application/json' }
  return app.request(`${host}/sandbox/confirm`, { method: 'POST', body: JSON.stringify(body), headers })
}

async function paid(): Promise<Payment> {
  const payment = await create()
  await confirm({ ...card, paymentIntentId: payment.id, clientSecret: payment.clientSecret })
  return payment
}

async function statusOf({ id }: Payment): Promise<string | undefined> {
  return (await processor.retrievePayment(id))?.status
}

describe('the form', () => {
  test('the card form shows the amount and the test cards, and needs no script', async () => {
    const { id, clientSecret } = await create()
    const html = await (await get(`/sandbox/card/${id}?secret=${clientSecret}`)).text()
    expect(html).toContain('$1,234.56')
    expect(html).toContain('4000 0025 0000 3155')
    expect(html).not.toContain('<script')
    expect(html).not.toMatch(/ on[a-z]+=| style=/)
  })

  test('the card form pays and returns to the given page', async () => {
    const payment = await create()
    const form = { ...card, secret: payment.clientSecret, return: '/widget/topup?done=1' }
    const answer = await post(`/sandbox/card/${payment.id}`, form)
    expect([answer.status, answer.headers.get('location')]).toEqual([303, '/widget/topup?done=1'])
    expect(await statusOf(payment)).toBe('succeeded')
  })

  test('the card form shows a decline and what was wrong with a card, and never what was typed', async () => {
    const payment = await create()
    const declined = await post(`/sandbox/card/${payment.id}`, {
      ...card,
      number: '4000000000009995',
      secret: payment.clientSecret,
    })
    expect(declined.status).toBe(402)
    expect(await declined.text()).toContain('insufficient funds')
    const real = await post(`/sandbox/card/${payment.id}`, {
      ...card,
      number: '5105105105105100',
      secret: payment.clientSecret,
    })
    const html = await real.text()
    expect(real.status).toBe(422)
    expect(html).toContain('never type a real card')
    expect(html).toContain('aria-invalid="true"')
    expect(html).not.toContain('5105105105105100')
    // The page also contains random ids, so check for a whole value or word only.
    expect(html).not.toMatch(/["'>\s]987["'<\s]/)
  })

  test('the card form leads to the challenge, which can be approved and refused without a script', async () => {
    const [first, second] = [await create(), await create()]
    for (const [payment, answer, status] of [
      [first, 'approve', 'succeeded'],
      [second, 'refuse', 'requires_payment_method'],
    ] as const) {
      const form = { ...card, number: '4000002500003155', secret: payment.clientSecret, return: '/back' }
      const asked = await post(`/sandbox/card/${payment.id}`, form)
      const url = asked.headers.get('location')!
      expect(url).toContain(`/sandbox/challenge/${payment.id}?secret=`)
      expect(await (await get(url)).text()).toContain('Yes, approve')
      const done = await post(`/sandbox/challenge/${payment.id}`, {
        secret: payment.clientSecret,
        return: '/back',
        answer,
      })
      expect([done.status, done.headers.get('location')]).toEqual([303, '/back'])
      expect(await statusOf(payment)).toBe(status)
    }
  })

  test('a refused challenge without a page to return to shows the card form with the reason', async () => {
    const { id, clientSecret: secret } = await create()
    await post(`/sandbox/card/${id}`, { ...card, number: '4000002500003155', secret })
    const refused = await post(`/sandbox/challenge/${id}`, { secret, answer: 'refuse' })
    const html = await refused.text()
    expect(refused.status).toBe(402)
    expect(html).toContain('could not confirm that this was you')
    expect(html).toContain(`action="/sandbox/card/${id}"`)
  })

  test('the card form is unknown without the right secret', async () => {
    const payment = await create()
    for (const secret of ['', 'wrong', `${payment.clientSecret}x`]) {
      expect((await get(`/sandbox/card/${payment.id}?secret=${secret}`)).status).toBe(404)
      expect((await post(`/sandbox/card/${payment.id}`, { ...card, secret })).status).toBe(404)
      expect((await post(`/sandbox/challenge/${payment.id}`, { secret, answer: 'approve' })).status).toBe(404)
    }
    expect(await statusOf(payment)).toBe('requires_payment_method')
  })

  test('the card form never sends anyone to another origin', async () => {
    for (const to of [
      'https://evil.example',
      '//evil.example',
      '/\\evil.example',
      'javascript:alert(1)',
      '/a\\b',
      '/a\r\nx: y',
    ]) {
      const payment = await create()
      const answer = await post(`/sandbox/card/${payment.id}`, { ...card, secret: payment.clientSecret, return: to })
      expect([answer.status, answer.headers.get('location')]).toEqual([200, null])
    }
  })

  test('the card form escapes what comes from outside', async () => {
    const { id, clientSecret } = await create('<img src=x onerror=alert(1)>')
    const html = await (await get(`/sandbox/card/${id}?secret=${clientSecret}&return=/%22%3E%3Cscript%3E`)).text()
    expect(html).not.toContain('<img')
    expect(html).not.toContain('<script')
  })
})

describe('the form for a script', () => {
  test.each([
    ['4242424242424242', { status: 'succeeded' }],
    ['4000000000000002', { status: 'requires_payment_method', declineCode: 'generic_decline' }],
    ['4000000000009995', { status: 'requires_payment_method', declineCode: 'insufficient_funds' }],
    ['4000000000000069', { status: 'requires_payment_method', declineCode: 'expired_card' }],
    ['4000000000000127', { status: 'requires_payment_method', declineCode: 'incorrect_cvc' }],
    ['4000002500003155', { status: 'requires_action', nextAction: { kind: 'redirect' } }],
    ['4000000000006066', { status: 'processing' }],
    ['4000000000007007', { status: 'processing' }],
    ['4000000000000259', { status: 'succeeded' }],
  ])('the card form answers a script with what the card %s is for', async (number, expected) => {
    const { id, clientSecret } = await create()
    const answer = await confirm({ ...card, number, paymentIntentId: id, clientSecret })
    expect(answer.status).toBe(200)
    expect(await answer.json()).toMatchObject(expected)
  })

  test('the card form for a script names the field at fault', async () => {
    const { id, clientSecret } = await create()
    const answer = await confirm({ ...card, cvc: '1', paymentIntentId: id, clientSecret })
    expect(answer.status).toBe(422)
    expect(await answer.json()).toMatchObject({ field: 'cvc' })
  })

  test('the card form for a script refuses nonsense without a fault', async () => {
    const { id, clientSecret } = await create()
    for (const body of [
      null,
      1,
      'x',
      [],
      {},
      { paymentIntentId: 7 },
      { paymentIntentId: id },
      { paymentIntentId: 'settings' },
    ]) {
      expect((await confirm(body)).status).toBe(404)
    }
    const odd = { paymentIntentId: id, clientSecret, number: [card.number], expiry: {}, cvc: 123 }
    expect((await confirm(odd)).status).toBe(422)
    expect((await confirm({ x: 'y'.repeat(10_000) })).status).toBe(413)
  })

  test('the card form for a script is 503 during an outage, and so is the page', async () => {
    const { id, clientSecret } = await create()
    await writeSettings(deps.store, { mode: 'once', outage: true })
    expect((await confirm({ ...card, paymentIntentId: id, clientSecret })).status).toBe(503)
    expect((await get(`/sandbox/card/${id}?secret=${clientSecret}`)).status).toBe(503)
    expect((await get('/sandbox/panel')).status).toBe(200)
  })

  test('the card form for a script keeps nothing of a card', async () => {
    const { id, clientSecret } = await create()
    for (const number of ['5105105105105100', '4000000000009995', card.number]) {
      await confirm({ ...card, number, paymentIntentId: id, clientSecret })
    }
    const kept = JSON.stringify(await deps.store.listNewest(10))
    for (const part of ['5105', '9995', '4242', '987', '12 / 40']) {
      // Ids and times are long runs of digits, so check for the card's text between quotes or spaces only.
      expect(kept).not.toMatch(new RegExp(`["\\s]${part}`))
    }
    expect(kept).not.toContain('4242424242424242')
  })
})

describe('panel', () => {
  test('the panel says what to do while there is nothing', async () => {
    expect(await (await get('/sandbox/panel')).text()).toContain('No payments yet')
  })

  test('the panel lists payments with their webhooks, and no client secret', async () => {
    const payment = await paid()
    const html = await (await get('/sandbox/panel')).text()
    expect(html).toContain(payment.id)
    expect(html).toContain('payment.succeeded')
    expect(html).not.toContain(payment.clientSecret)
  })

  test('refunds a part, then everything, then nothing more', async () => {
    const { id } = await paid()
    expect((await post(`/sandbox/panel/payments/${id}/refund`, { amount: '200.5' })).status).toBe(303)
    expect(await processor.retrievePayment(id)).toMatchObject({ refundedMinor: 20_050n })
    expect((await post(`/sandbox/panel/payments/${id}/refund`, { amount: '2000' })).status).toBe(422)
    expect((await post(`/sandbox/panel/payments/${id}/refund`, { amount: '1.234' })).status).toBe(422)
    expect((await post(`/sandbox/panel/payments/${id}/refund`, { amount: '' })).status).toBe(303)
    expect(await processor.retrievePayment(id)).toMatchObject({ refundedMinor: 123_456n })
  })

  test.each([
    ['win', { disputed: 'won', disputedMinor: 0n }],
    ['lose', { disputed: 'lost', disputedMinor: 123_456n }],
  ])('the panel disputes, and can %s', async (end, expected) => {
    const { id } = await paid()
    await post(`/sandbox/panel/payments/${id}/dispute`, {})
    expect(await processor.retrievePayment(id)).toMatchObject({ disputed: 'open' })
    await post(`/sandbox/panel/payments/${id}/${end}`, {})
    expect(await processor.retrievePayment(id)).toMatchObject(expected)
  })

  test('the panel sends one webhook again, late or never', async () => {
    const { id } = await paid()
    const event = JSON.parse((await deps.store.find(id))!.document).events[0].id as string
    for (const when of ['now', 'late', 'never']) {
      expect((await post(`/sandbox/panel/payments/${id}/events/${event}/${when}`, {})).status).toBe(303)
    }
    const { events } = JSON.parse((await deps.store.find(id))!.document)
    expect(events[0].deliveries).toHaveLength(3)
    expect(events[0].deliveries.every((delivery: { state: string }) => delivery.state === 'held')).toBe(true)
  })

  test('switches how webhooks are delivered, and the processor off and on', async () => {
    expect((await post('/sandbox/panel/settings', { mode: 'twice', outage: 'on' })).status).toBe(303)
    expect(await processor.retrievePayment('pi_x').catch(String)).toContain('switched off')
    expect((await post('/sandbox/panel/settings', { mode: 'once' })).status).toBe(303)
    expect(await processor.retrievePayment('pi_x')).toBeUndefined()
    expect((await post('/sandbox/panel/settings', { mode: 'sometimes' })).status).toBe(422)
  })

  test('the panel refuses an unknown payment, action or event', async () => {
    const { id } = await paid()
    for (const path of [
      'pi_none/dispute',
      'settings/dispute',
      'pi_none/refund',
      `${id}/constructor`,
      `${id}/events/x/__proto__`,
    ]) {
      expect((await post(`/sandbox/panel/payments/${path}`, {})).status).toBe(404)
    }
  })

  test('another site cannot press the buttons of the panel', async () => {
    const { id } = await paid()
    const foreign: Record<string, string>[] = [
      { origin: 'https://evil.example' },
      { origin: 'null' },
      { 'sec-fetch-site': 'cross-site' },
    ]
    for (const headers of foreign) {
      expect((await post(`/sandbox/panel/payments/${id}/dispute`, {}, headers)).status).toBe(403)
    }
    const own = { origin: host, 'sec-fetch-site': 'same-origin' }
    expect((await post(`/sandbox/panel/payments/${id}/dispute`, {}, own)).status).toBe(303)
  })
})

describe('headers', () => {
  test('the card form may be framed by the app of its top-up, and the panel by no page', async () => {
    const { id, clientSecret } = await create()
    const form = (await get(`/sandbox/card/${id}?secret=${clientSecret}`)).headers
    expect(form.get('content-security-policy')).toBe(
      "default-src 'none'; style-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'self' https://shop.example",
    )
    expect((await get('/sandbox/panel')).headers.get('content-security-policy')).toContain("frame-ancestors 'none'")
  })

  test('nothing is stored or sniffed, errors included', async () => {
    for (const path of ['/sandbox/panel', '/sandbox/card/pi_none?secret=x', '/sandbox/style.css']) {
      const { headers } = await get(path)
      expect(headers.get('cache-control')).toBe('no-store')
      expect(headers.get('x-content-type-options')).toBe('nosniff')
      expect(headers.get('content-security-policy')).toContain("default-src 'none'")
    }
  })
})
