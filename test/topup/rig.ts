/** A service that takes cards through the fake Stripe server, payers with sessions, and the checks at the end of every test. */
import { expect } from 'bun:test'
import { decimalsOf } from '../../src/actions/topups/open-processor.ts'
import type { Service } from '../../src/actions/service.ts'
import { createStripeProcessor } from '../../src/cards/stripe/stripe.ts'
import { listMovements } from '../../src/store/topup-movements.ts'
import { verifyBooks } from '../../src/store/verify/verify.ts'
import { findTopupByPayment, type Topup } from '../../src/store/topups.ts'
import { resolveTopup } from '../../src/work/resolve-topup.ts'
import { runDue } from '../../src/work/runner.ts'
import { expectBalancedBooks } from '../books.ts'
import { newClient, type Reply, type Send } from '../client.ts'
import { newPage } from '../page.ts'
import { oidcEnvironment } from '../oidc-stand-in.ts'
import { newApp, newUser, openTestService, type Credentials, type TestUser } from '../service.ts'
import { letPass, topupTables } from '../time.ts'
import { startStripeStandIn, type StripeStandIn } from '../cards/stripe-stand-in.ts'

export type Bench = Awaited<ReturnType<typeof openBench>>
export type Payer = Awaited<ReturnType<Bench['newPayer']>>

const baseUrl = 'http://billfold.test'

export function stripeEnvironment(standIn: StripeStandIn): Record<string, string> {
  const { protocol, host, port } = standIn.api
  return {
    CARD_PROCESSOR: 'stripe',
    STRIPE_SECRET_KEY: standIn.secretKey,
    STRIPE_PUBLISHABLE_KEY: 'pk_test_standin',
    STRIPE_WEBHOOK_SECRET: standIn.webhookSecret,
    STRIPE_API_URL: `${protocol}://${host}:${port}`,
  }
}

function stripeSettings({ secretKey, webhookSecret, api }: StripeStandIn) {
  return { secretKey, webhookSecret, api, publishableKey: 'pk_test_standin', decimalsOf }
}

export async function openBench(environment: Record<string, string> = {}, timeoutMs = 1_600) {
  const standIn = startStripeStandIn()
  const opened = await openTestService({ ...stripeEnvironment(standIn), ...oidcEnvironment(), ...environment })
  const { service, app } = opened
  // Like the configured processor, except for its time-outs: short for requests that the fake server leaves unanswered, long for all
  // others, because a busy machine is slow.
  const processorWith = (ms: number) => createStripeProcessor({ ...stripeSettings(standIn), timeoutMs: ms })
  const shortTimeout = processorWith(timeoutMs)
  const longTimeout = processorWith(20_000)
  // In the object itself: the routes of the widget have a copy of the service.
  const chosen = (): object => (standIn.isFallingSilent() ? shortTimeout : longTimeout)
  for (const [name, value] of Object.entries(longTimeout))
    if (typeof value === 'function')
      Object.assign(service.cards!, {
        [name]: (...values: unknown[]) => (Reflect.get(chosen(), name) as (...values: unknown[]) => unknown)(...values),
      })
  const credentials = await newApp(service)
  standIn.webhooks.mode = 'never'

  async function newPayer(send: Send = app.fetch, url = baseUrl, known?: TestUser) {
    return await payerOf(send, url, credentials, known ?? (await newUser(service, credentials)))
  }

  /** Signed as the processor does, over the exact bytes of the body. */
  async function sendEvent(event: object, headers: Record<string, string> = {}, send: Send = app.fetch, url = baseUrl) {
    const body = JSON.stringify(event, null, 2)
    return await sendRaw(body, { 'stripe-signature': standIn.sign(body), ...headers }, send, url)
  }
  async function sendRaw(body: string, headers: Record<string, string>, send: Send = app.fetch, url = baseUrl) {
    const target = `${url}/api/processor/stripe`
    const request = new Request(target, {
      method: 'POST',
      body,
      headers: {
        'content-type': 'application/json',
        'content-length': String(Buffer.byteLength(body)),
        ...headers,
      },
    })
    const response = await send(request)
    return { status: response.status, body: (await response.json()) as Record<string, unknown> }
  }

  return {
    opened,
    service,
    app,
    standIn,
    pass: (ms: number) => letPass(service.db.pool, ms),
    credentials,
    newPayer,
    sendEvent,
    sendRaw,
    eventsOf: (type: string, id: string) =>
      standIn.events.filter((event) => event['type'] === type && JSON.stringify(event).includes(id)),
    topup: async (id: string): Promise<Topup> => (await findTopupByPayment(service.db.pool, id))!,
    movements: async (id: string) => {
      const topup = await findTopupByPayment(service.db.pool, id)
      const movements = await listMovements(service.db.pool, topup!.id)
      return movements.map(({ referenceType, amountMinor }) => `${referenceType} ${amountMinor}`)
    },
    /** Lets enough time pass that everything is due, and sweeps. */
    sweepLater: async (ms = 2 * 60_000) => {
      await letPass(service.db.pool, ms, topupTables)
      await runDue(service, resolveTopup)
    },
    expectReconciled: () => expectReconciled(service, standIn),
    close: async () => {
      await opened.close()
      await standIn.stop()
    },
  }
}

/** Also works for a service in another process. */
export async function payerOf(send: Send, url: string, credentials: Credentials, user: TestUser) {
  const client = newClient(send, credentials, url)
  const page = newPage(send, url)
  const newSession = async () => {
    const { body } = await client.post('/api/widget/session', { ...credentials, serviceUserId: user.serviceUserId })
    return String(body['sessionToken'])
  }
  let session = await newSession()
  return {
    ...user,
    client,
    page,
    session: () => session,
    renew: async () => void (session = await newSession()),
    create: (amount: unknown): Promise<Reply> =>
      page.post(`/api/widget/topup/create-intent?session=${session}`, { amount }),
    /** Orders a payment as the top-up page does. */
    order: (amount: number, replaces: unknown = null): Promise<Reply> =>
      page.post(`/api/widget/topup/create-intent?session=${session}`, { amount, replaces }),
    confirm: (paymentIntentId: unknown, more: object = {}): Promise<Reply> =>
      page.post(`/api/widget/topup/confirm?session=${session}`, { paymentIntentId, ...more }),
    /** Starts a top-up and returns the id of its payment. */
    begin: async (amount = 25): Promise<string> => {
      const { status, body } = await page.post(`/api/widget/topup/create-intent?session=${session}`, { amount })
      expect([status, body['code']]).toEqual([200, undefined])
      return String(body['paymentIntentId'])
    },
    balance: async () => (await client.wallet(user.serviceUserId)).body['balance'],
    isActive: async () => (await client.wallet(user.serviceUserId)).body['isActive'],
    entries: async () =>
      ((await client.wallet(user.serviceUserId)).body['transactions'] as Record<string, unknown>[])
        .map(
          (entry) =>
            `${String(entry['referenceType'])} ${entry['type'] === 'DEBIT' ? '-' : ''}${String(entry['amount'])}`,
        )
        .toReversed(),
  }
}

/** The books balance, and the position of cards equals the money that the processor holds for us. */
async function expectReconciled(service: Service, standIn: StripeStandIn): Promise<void> {
  await expectBalancedBooks(service)
  expect((await verifyBooks(service.db.connection)).faults).toBe(0)
  let heldMinor = 0n
  for (const id of standIn.state.intents.keys()) {
    const payment = (await service.cards!.retrievePayment(id))!
    heldMinor += payment.amountReceivedMinor - payment.refundedMinor - payment.disputedMinor
  }
  const { rows } = await service.db.pool.query<{ position: bigint }>(
    `select coalesce(sum(credited - debited), 0)::bigint as position from positions where counter_account = 'cards'`,
  )
  expect(rows[0]!.position).toBe(heldMinor)
}
