/** The guides describe cards as the code implements them. */
import { expect, test } from 'bun:test'
import { readFile } from 'node:fs/promises'
import { maxDeclinesAnHour } from '../../src/actions/topups/topup-limits.ts'
import { createStripeProcessor } from '../../src/cards/stripe/stripe.ts'
import { parseConfig } from '../../src/config.ts'
import { secretsKey } from '../service.ts'
import { startStripeStandIn } from '../cards/stripe-stand-in.ts'

const guide = (name: string) => readFile(new URL(`../../docs/${name}.md`, import.meta.url), 'utf8')

test('the service handles every event that the guide asks for', async () => {
  const standIn = startStripeStandIn()
  const { secretKey, webhookSecret, api } = standIn
  const processor = createStripeProcessor({ secretKey, webhookSecret, api, publishableKey: 'pk', decimalsOf: () => 2 })
  const types = [...(await guide('taking-cards')).matchAll(/^ +- `([a-z_.]+)`$/gm)].map(([, type]) => type!)
  expect(types.length).toBe(15)
  for (const type of types) {
    const object = { id: 'pi_1', payment_intent: 'pi_1' }
    const body = JSON.stringify({ id: 'evt_1', type, data: { object } })
    const headers = new Headers({ 'stripe-signature': standIn.sign(body) })
    expect(await processor.parseWebhook(body, headers, new Date())).toEqual({
      id: 'evt_1',
      type,
      paymentIntentId: 'pi_1',
    })
  }
  await standIn.stop()
})

test('the variables of the guide configure Stripe, and production refuses the sandbox', async () => {
  const text = await guide('taking-cards')
  const values: Record<string, string> = {
    CARD_PROCESSOR: 'stripe',
    STRIPE_SECRET_KEY: 'sk_test_1',
    STRIPE_PUBLISHABLE_KEY: 'pk_test_1',
    STRIPE_WEBHOOK_SECRET: 'whsec_1',
    TOPUP_MIN: '1',
    TOPUP_MAX: '10000',
    PUBLIC_URL: 'https://wallet.example',
  }
  const named = [...text.matchAll(/^\| (`[A-Z_]+`(?:, `[A-Z_]+`)*) +\|/gm)].flatMap(([, names]) =>
    names!.split(', ').map((name) => name.slice(1, -1)),
  )
  expect(named.sort((a, b) => a.localeCompare(b))).toEqual(Object.keys(values).sort((a, b) => a.localeCompare(b)))
  expect(parseConfig(values)).toMatchObject({ cards: { processor: 'stripe', secretKey: 'sk_test_1' } })
  const live = { STRIPE_SECRET_KEY: 'sk_live_1', STRIPE_PUBLISHABLE_KEY: 'pk_live_1' }
  const needed = { NODE_ENV: 'production', SMTP_URL: 'smtp://mail.example', SECRETS_KEY: secretsKey }
  const production = { ...values, ...live, ...needed }
  expect(parseConfig(production).cards.processor).toBe('stripe')
  expect(() => parseConfig({ ...production, CARD_PROCESSOR: 'sandbox' })).toThrow('play money')
})

test('the limits of the guide are the limits of the code', async () => {
  expect(await guide('taking-cards')).toContain(`after ${maxDeclinesAnHour} declined cards in an hour`)
})

test('the guide to another processor lists exactly the members of the interface', async () => {
  const source = await readFile(new URL('../../src/cards/processor.ts', import.meta.url), 'utf8')
  const type = /export type CardProcessor = \{([\s\S]*?)\n\}/.exec(source)![1]!
  const members = [...type.matchAll(/^ {2}(?:readonly )?(\w+)[(:]/gm)].map(([, name]) => name!)
  const listed = [...(await guide('card-processors')).matchAll(/^\| `(\w+)` +\|/gm)].map(([, name]) => name!)
  expect(listed.sort()).toEqual(members.sort())
})
