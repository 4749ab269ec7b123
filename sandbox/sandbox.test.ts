import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import type { Payment, WebhookReading } from '../src/cards/processor.ts'
import { changeAsPayer, createSandboxProcessor } from './sandbox.ts'
import { changePayment, findPayment, listPayments, type SandboxDeps } from './change.ts'
import { deliverDue } from './deliver.ts'
import { deliverReversed, nextDueAt, type DeliveryMode } from './events.ts'
import { answerChallenge, attempt } from './payment.ts'
import { writeSettings } from './settings.ts'
import { readSignedBody, signatureHeader, signBody } from './signature.ts'
import { openSandboxStore, type TestSandboxStore } from '../test/cards/sandbox-store.ts'
import type { CardScenario } from './test-cards.ts'

let endpoint: Bun.Server<undefined>
let answers: number[]
let heard: WebhookReading[]
let clock: number
let deps: SandboxDeps
let store: TestSandboxStore

beforeAll(async () => void (store = await openSandboxStore()))
afterAll(() => store.close())

beforeEach(async () => {
  await store.clear()
  answers = []
  heard = []
  clock = Date.parse('2030-01-01T00:00:00Z')
  deps = {
    store,
    webhookUrl: () => `${endpoint.url.href}api/processor/sandbox`,
    webhookSecret: 'whsec_sandbox',
    now: () => new Date(clock),
    newId: () => crypto.randomUUID().replaceAll('-', ''),
    basePath: '/sandbox',
  }
  endpoint = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    fetch: async (request) => {
      heard.push(await createSandboxProcessor(deps).parseWebhook(await request.bytes(), request.headers, deps.now()))
      return new Response(null, { status: answers.shift() ?? 200 })
    },
  })
})
afterEach(() => endpoint.stop(true))

async function create(): Promise<Payment> {
  const names = { topupId: 'top_1', userId: 'usr_1', description: 'Top-up', idempotencyKey: deps.newId() }
  return (await createSandboxProcessor(deps).createPayment({
    ...names,
    amountMinor: 2500n,
    currency: 'USD',
  })) as Payment
}

function play({ id, clientSecret }: Payment, scenario: CardScenario) {
  return changeAsPayer(deps, id, clientSecret, attempt(scenario))
}

function retrieve({ id }: Payment) {
  return createSandboxProcessor(deps).retrievePayment(id)
}

function types(): string[] {
  return heard.map((reading) => (typeof reading === 'string' ? reading : reading.type))
}

async function setMode(mode: DeliveryMode): Promise<void> {
  await writeSettings(deps.store, { mode, outage: false })
}

/** Advances the clock in small steps and delivers after each. */
async function pass(seconds: number): Promise<void> {
  for (let step = 0; step < seconds * 2; step += 1) {
    clock += 500
    await deliverAll()
  }
}

/** Delivers like the queue, by the test's clock. */
async function deliverAll(): Promise<void> {
  const due = (await listPayments(store, 100)).filter((payment) => (nextDueAt(payment) ?? Infinity) <= clock)
  await Promise.all(due.map(({ id }) => deliverDue(deps, id)))
}

describe('what a card does', () => {
  test('a challenge that is approved pays, and one that is refused declines', async () => {
    const [first, second] = [await create(), await create()]
    await play(first, { kind: 'challenge' })
    await play(second, { kind: 'challenge' })
    const url = (await retrieve(first))?.nextAction as { url: string }
    expect(url.url).toBe(`/sandbox/challenge/${first.id}?secret=${first.clientSecret}`)
    await changeAsPayer(deps, first.id, first.clientSecret, answerChallenge(true))
    await changeAsPayer(deps, second.id, second.clientSecret, answerChallenge(false))
    expect(await retrieve(first)).toMatchObject({ status: 'succeeded', amountReceivedMinor: 2500n })
    const refused = {
      status: 'requires_payment_method',
      declineCode: 'authentication_required',
      amountReceivedMinor: 0n,
    }
    expect(await retrieve(second)).toMatchObject(refused)
  })

  test('processing ends by itself, in success or for good', async () => {
    const [first, second] = [await create(), await create()]
    await play(first, { kind: 'processing', end: 'succeeded' })
    await play(second, { kind: 'processing', end: 'failed' })
    clock += 4_999
    expect(await retrieve(first)).toMatchObject({ status: 'processing' })
    clock += 1
    expect(await retrieve(first)).toMatchObject({ status: 'succeeded' })
    expect(await retrieve(second)).toMatchObject({ status: 'failed', amountReceivedMinor: 0n })
    await play(second, { kind: 'succeeds' })
    expect(await retrieve(second)).toMatchObject({ status: 'failed' })
  })

  test('a card of a later dispute pays first and is disputed later', async () => {
    const payment = await create()
    await play(payment, { kind: 'disputed-later' })
    expect(await retrieve(payment)).toMatchObject({ status: 'succeeded', disputed: 'none' })
    await pass(6)
    expect(await retrieve(payment)).toMatchObject({ disputed: 'open', disputedMinor: 2500n })
    expect(types()).toEqual(['payment.succeeded', 'dispute.opened'])
  })

  test('paying twice at once charges once and sends one event', async () => {
    const payment = await create()
    await Promise.all(Array.from({ length: 10 }, () => play(payment, { kind: 'succeeds' })))
    expect((await findPayment(deps.store, payment.id))?.events.map((event) => event.type)).toEqual([
      'payment.succeeded',
    ])
  })

  test('a wrong client secret changes nothing', async () => {
    const payment = await create()
    expect(
      await changeAsPayer(deps, payment.id, `${payment.clientSecret}x`, attempt({ kind: 'succeeds' })),
    ).toBeUndefined()
    expect(await retrieve(payment)).toMatchObject({ status: 'requires_payment_method' })
  })
})

describe('webhooks', () => {
  test('webhooks reach our endpoint once, signed, and name the payment', async () => {
    const payment = await create()
    await play(payment, { kind: 'succeeds' })
    await pass(3)
    expect(heard).toEqual([{ id: expect.any(String), type: 'payment.succeeded', paymentIntentId: payment.id }])
  })

  test('webhooks reach our endpoint twice with the same event id', async () => {
    await setMode('twice')
    await play(await create(), { kind: 'succeeds' })
    await pass(3)
    expect(types()).toEqual(['payment.succeeded', 'payment.succeeded'])
    expect(heard[0]).toEqual(heard[1])
  })

  test('late webhooks still have a valid signature', async () => {
    await setMode('late')
    const payment = await create()
    await play(payment, { kind: 'succeeds' })
    await pass(19)
    expect(heard).toEqual([])
    await pass(1)
    expect(heard).toMatchObject([{ paymentIntentId: payment.id }])
  })

  test('webhooks reach our endpoint never', async () => {
    await setMode('never')
    await play(await create(), { kind: 'succeeds' })
    await pass(600)
    expect(heard).toEqual([])
  })

  test('out of order, the newer webhook overtakes the older one', async () => {
    await setMode('out-of-order')
    const payment = await create()
    await play(payment, { kind: 'declined', code: 'generic_decline', message: 'no' })
    clock += 1_000
    await play(payment, { kind: 'succeeds' })
    await pass(10)
    expect(types()).toEqual(['payment.succeeded', 'payment.declined'])
  })

  test('webhooks reach our endpoint all again, the newest first', async () => {
    const payment = await create()
    await play(payment, { kind: 'declined', code: 'generic_decline', message: 'no' })
    await play(payment, { kind: 'succeeds' })
    await pass(1)
    await changePayment(deps, 'once', payment.id, (current, { now }) => deliverReversed(current, now))
    await pass(1)
    expect(types()).toEqual(['payment.declined', 'payment.succeeded', 'payment.succeeded', 'payment.declined'])
  })

  test('webhooks are sent again until an answer is a success', async () => {
    answers = [500, 503]
    await play(await create(), { kind: 'succeeds' })
    await pass(10)
    expect(heard).toHaveLength(3)
    await pass(300)
    expect(heard).toHaveLength(3)
  })

  test('webhooks reach our endpoint six times at most', async () => {
    answers = Array.from({ length: 50 }, () => 500)
    const payment = await create()
    await play(payment, { kind: 'succeeds' })
    await pass(600)
    expect(heard).toHaveLength(6)
    const [event] = (await findPayment(deps.store, payment.id))!.events
    expect(event?.deliveries).toMatchObject([{ state: 'gave-up', answered: 500, attempts: 6 }])
  })
})

test.each([
  [-301, 'invalid-signature'],
  [-300, 'ignored'],
  [300, 'ignored'],
  [301, 'invalid-signature'],
])('a webhook signed %p seconds from now is read as: %s', (seconds, reading) => {
  const body = '{"id":"evt_1","type":"other"}'
  const signed = signBody(body, 'secret', new Date(clock + seconds * 1_000))
  expect(readSignedBody(body, new Headers({ [signatureHeader]: signed }), 'secret', new Date(clock)) as string).toBe(
    reading,
  )
})
