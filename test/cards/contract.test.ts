import { afterAll } from 'bun:test'
import type { Bench } from './contract-rig.ts'
import { contractSuite } from './contract-suite.ts'
import { changeAsPayer, createSandboxProcessor } from '../../sandbox/sandbox.ts'
import { changePayment, findPayment, type SandboxDeps } from '../../sandbox/change.ts'
import { attempt, closeDispute, hasten, openDispute, type Transition } from '../../sandbox/payment.ts'
import { signatureHeader, signBody } from '../../sandbox/signature.ts'
import { openSandboxStore } from './sandbox-store.ts'
import { webhookBody } from '../../sandbox/deliver.ts'
import { isCardMistake, parseCard } from '../../sandbox/test-cards.ts'
import { writeSettings } from '../../sandbox/settings.ts'
import { createStripeProcessor } from '../../src/cards/stripe/stripe.ts'
import { startStripeStandIn } from './stripe-stand-in.ts'

function decimalsOf(currency: string): number {
  return currency === 'JPY' ? 0 : 2
}

contractSuite('stripe', async () => {
  const standIn = startStripeStandIn()
  const { secretKey, webhookSecret, api, state } = standIn
  const keys = { secretKey, webhookSecret, publishableKey: 'pk_test_standin' }
  const bench: Bench = {
    processor: createStripeProcessor({ ...keys, decimalsOf, api, timeoutMs: 20_000 }),
    pay: async (id) => state.pay(id),
    decline: async (id) => state.decline(id, 'insufficient_funds'),
    requireAction: async (id) => state.requireAction(id),
    process: async (id) => state.process(id),
    settle: async (id) => state.pay(id),
    dispute: async (id) => state.dispute(id),
    closeDispute: async (id, outcome) => (outcome === 'won' ? state.winDispute(id) : state.loseDispute(id)),
    webhookBodies: async (id) =>
      standIn.events.map((event) => JSON.stringify(event)).filter((body) => body.includes(id)),
    sign: (body, { at, secret }) => {
      const timestamp = Math.floor(at.getTime() / 1000)
      return new Headers({ 'stripe-signature': standIn.sign(body, { timestamp, ...(secret && { secret }) }) })
    },
    takeDown: async () => standIn.stop(),
    close: async () => standIn.stop(),
  }
  return bench
})

const store = await openSandboxStore()
afterAll(() => store.close())

contractSuite('sandbox', async () => {
  await store.clear()
  const deps: SandboxDeps = {
    store,
    webhookUrl: () => 'http://127.0.0.1:9/nobody-listens',
    webhookSecret: 'whsec_sandbox',
    now: () => new Date(),
    newId: () => crypto.randomUUID().replaceAll('-', ''),
    basePath: '/sandbox',
    // A payment is processing until the test ends that, also on a slow machine.
    processingMs: 3_600_000,
  }
  const force = async (id: string, change: Transition) => void (await changePayment(deps, 'once', id, change))
  const card = async (id: string, number: string) => {
    const scenario = parseCard({ number, expiry: '12 / 40', cvc: '123' }, deps.now())
    if (isCardMistake(scenario)) throw new Error(scenario.message)
    const payment = await findPayment(deps.store, id)
    if (!(await changeAsPayer(deps, id, payment!.clientSecret, attempt(scenario)))) throw new Error('not confirmed')
  }
  return {
    processor: createSandboxProcessor(deps),
    pay: (id) => card(id, '4242 4242 4242 4242'),
    decline: (id) => card(id, '4000 0000 0000 9995'),
    requireAction: (id) => card(id, '4000 0025 0000 3155'),
    process: (id) => card(id, '4000 0000 0000 6066'),
    settle: (id) => force(id, hasten),
    dispute: (id) => force(id, openDispute),
    closeDispute: (id, outcome) => force(id, closeDispute(outcome)),
    webhookBodies: async (id) => (await findPayment(deps.store, id))!.events.map((event) => webhookBody(id, event)),
    sign: (body, { at, secret }) =>
      new Headers({ [signatureHeader]: signBody(body, secret ?? deps.webhookSecret, at) }),
    takeDown: () => writeSettings(deps.store, { mode: 'once', outage: true }),
    close: async () => {},
  }
})
