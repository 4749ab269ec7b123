/** The top-up page with Stripe: our side of Stripe.js, in a real Chromium. Stripe's own script is replaced by a fake. */
import { afterAll, beforeAll, beforeEach, expect, setDefaultTimeout, test } from 'bun:test'
import type { Page } from '@playwright/test'
import { launchChromium } from '../chromium.ts'
import { openBench, type Bench, type Payer } from './rig.ts'

setDefaultTimeout(180_000)

/** The part of Stripe.js that we use; the test decides the outcome of the payment through a binding of the page. */
const stripeScript = `window.Stripe = (key, options) => ({
  elements: ({ clientSecret, appearance }) => ({
    secret: clientSecret,
    create: () => ({
      mount: (place) => { place.innerHTML = '<label>Card <input name="card"></label>'; place.dataset.key = key; place.dataset.theme = appearance.theme },
      destroy: () => {},
    }),
  }),
  confirmPayment: async ({ elements, confirmParams, redirect }) => {
    const card = document.querySelector('[name=card]').value
    if (card === '') return { error: { type: 'validation_error', message: 'Your card number is incomplete.' } }
    return await window.bank({ id: elements.secret.split('_secret_')[0], card, returnUrl: confirmParams.return_url, redirect })
  },
  handleNextAction: async ({ clientSecret }) => await window.bank({ id: clientSecret.split('_secret_')[0], card: 'good' }),
})`

let bench: Bench
let payer: Payer
let page: Page
let server: ReturnType<typeof Bun.serve>
let browser: Awaited<ReturnType<typeof launchChromium>>
let scriptStatus: number
let violations: string[]

beforeAll(async () => {
  bench = await openBench()
  server = Bun.serve({ port: 0, hostname: '127.0.0.1', idleTimeout: 60, fetch: (request) => bench.app.fetch(request) })
  browser = await launchChromium()
})
beforeEach(async () => {
  payer = await bench.newPayer()
  scriptStatus = 200
  violations = []
  page = await (await browser.newContext()).newPage()
  page.setDefaultTimeout(60_000)
  page.on('console', (message) => {
    if (message.text().includes('Content Security Policy')) violations.push(message.text())
  })
  await page.context().route('https://js.stripe.com/**', (route) =>
    route.fulfill({
      status: scriptStatus,
      contentType: 'text/javascript',
      body: scriptStatus === 200 ? stripeScript : '',
    }),
  )
  await page.context().exposeFunction('bank', ({ id, card }: { id: string; card: string }) => {
    // Stripe accepts no second card for a payment that has succeeded.
    if (bench.standIn.state.intents.get(id)!.status === 'succeeded')
      return { error: { type: 'invalid_request_error', code: 'payment_intent_unexpected_state' } }
    if (card === 'good') bench.standIn.state.pay(id)
    if (card === 'poor') bench.standIn.state.decline(id, 'insufficient_funds')
    if (card === 'challenge') bench.standIn.state.requireAction(id)
    if (card === 'slow') bench.standIn.state.process(id)
    return card === 'poor' ? { error: { type: 'card_error', message: 'declined' } } : {}
  })
})
afterAll(async () => {
  await bench.expectReconciled()
  await browser.close()
  await server.stop(true)
  await bench.close()
})

const open = async (more = '') =>
  await page.goto(`${server.url.origin}/widget/topup?session=${payer.session()}&lang=en${more}`)
const pay = async (card: string) => {
  await page.getByLabel('Card').fill(card)
  await page.getByRole('button', { name: 'Pay $25.00' }).click()
}

const policyOf = async (path: string) =>
  (await bench.app.fetch(new Request(`http://billfold.test${path}?session=${payer.session()}`))).headers.get(
    'content-security-policy',
  )!

test('the card goes to Stripe’s own form, from Stripe’s own script, and the money arrives', async () => {
  await open()
  await page.getByRole('button', { name: 'Continue' }).click()
  await pay('')
  await page.getByText('Your card number is incomplete.').waitFor()
  await pay('poor')
  await page.getByText('There is not enough money on this card').waitFor()
  await pay('good')
  await page.getByRole('heading', { name: 'Money added' }).waitFor()
  expect(await payer.balance()).toBe(25)
  expect(violations).toEqual([])
})

test('two of Stripe’s forms that are open for one payment take the money once, and both windows say that it is there', async () => {
  const intent = page.waitForResponse(/create-intent/)
  await open()
  await page.getByRole('button', { name: 'Continue' }).click()
  const json: unknown = await (await intent).json()
  const other = await page.context().newPage()
  await other.route(/create-intent/, (route) => route.fulfill({ json }))
  await other.goto(`${server.url.origin}/widget/topup?session=${payer.session()}&lang=en`)
  await other.getByRole('button', { name: 'Continue' }).click()
  for (const each of [page, other]) {
    await each.getByLabel('Card').fill('good')
    await each.getByRole('button', { name: 'Pay $25.00' }).click()
    await each.getByRole('heading', { name: 'Money added' }).waitFor()
  }
  expect(await payer.entries()).toEqual(['TOPUP 25'])
})

test('a bank’s question that the payer left is asked again after a reload, for the same payment', async () => {
  await open()
  await page.getByRole('button', { name: 'Continue' }).click()
  await pay('challenge')
  await page.getByText('Your bank asks you to confirm').waitFor()
  const asked = bench.standIn.state.intents.size
  await page.reload()
  await page.getByRole('button', { name: 'Continue to the bank' }).click()
  await page.getByRole('heading', { name: 'Money added' }).waitFor()
  expect([await payer.entries(), bench.standIn.state.intents.size]).toEqual([['TOPUP 25'], asked])
})

test('a slow Stripe payment ends without a reload', async () => {
  await open()
  await page.getByRole('button', { name: 'Continue' }).click()
  await pay('slow')
  await page.getByRole('heading', { name: 'Your bank is still processing the payment' }).waitFor()
  bench.standIn.state.pay([...bench.standIn.state.intents.keys()].at(-1)!)
  await page.getByRole('heading', { name: 'Money added' }).waitFor()
})

test('a bank’s own page returns the payer to the end of the top-up', async () => {
  const id = await payer.begin()
  bench.standIn.state.pay(id)
  await open(`&payment_intent=${id}&payment_intent_client_secret=secret&redirect_status=succeeded`)
  await page.getByRole('heading', { name: 'Money added' }).waitFor()
  expect(await payer.balance()).toBe(25)
  expect(page.url()).not.toContain('session=')
  expect(page.url()).not.toContain('secret')
})

test('a payment’s status in the address is not trusted', async () => {
  const id = await payer.begin()
  await open(`&payment_intent=${id}&redirect_status=succeeded`)
  await page.getByRole('heading', { name: 'The payment did not go through' }).waitFor()
  expect(await payer.balance()).toBe(0)
})

test('without Stripe’s script the page says that cards cannot be reached', async () => {
  scriptStatus = 500
  await open()
  await page.getByRole('button', { name: 'Continue' }).click()
  await page.getByText('Card payments are not available right now').waitFor()
})

test('only the top-up page allows Stripe’s sources', async () => {
  const topup = await policyOf('/widget/topup')
  expect(topup).toContain('https://js.stripe.com')
  expect(topup).toContain("connect-src 'self' https://api.stripe.com")
  expect(topup).not.toContain('unsafe')
  expect(await policyOf('/widget/wallet')).not.toContain('stripe')
})
