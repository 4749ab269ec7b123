/** Topping up in a real Chromium: the shop on one site, the wallet on another, and every test card. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, setDefaultTimeout, test } from 'bun:test'
import type { Frame, Page } from '@playwright/test'
import { kindsOf } from '../../src/work/kinds.ts'
import { startWork } from '../../src/work/runner.ts'
import { freezeWallet } from '../../src/actions/money/manage-wallets.ts'
import { writeSettings } from '../../sandbox/settings.ts'
import { expectBalancedBooks } from '../books.ts'
import { languages } from '../../src/languages/languages.ts'
import { findBarriers } from '../browser/axe.ts'
import { embed, waitForMessage, messagesReceived, startRig, type Rig } from '../browser/rig.ts'
import { operator } from '../service.ts'
import { until } from '../until.ts'
import { firstOrAll, wantsAll } from '../wants-all.ts'
import { cards, formIn, typeCard } from './card-form.ts'

setDefaultTimeout(240_000)

let rig: Rig
let stopWork: () => Promise<void>
let tenant: Awaited<ReturnType<Rig['newTenant']>>
let page: Page

beforeAll(async () => {
  rig = await startRig({ CARD_PROCESSOR: 'sandbox' })
  rig.service.sandbox!.setOrigin(rig.base)
  stopWork = startWork(rig.service, kindsOf(rig.service))
})
beforeEach(async () => {
  tenant = await rig.newTenant()
  page = await rig.openPage()
})
afterEach(async () => {
  rig.trouble.answer = undefined
  await rig.closePage(page)
  await expectBalancedBooks(rig.service)
})
afterAll(async () => {
  await stopWork()
  await rig.stop()
})

const balance = () => tenant.client.balance(tenant.user.serviceUserId)
const settings = (outage: boolean) => writeSettings(rig.service.sandbox!.store, { mode: 'once', outage })

/** The top-up page as a top-level page, as in its own window. */
async function openTopup(query = '', where: Page = page): Promise<void> {
  await where.goto(`${rig.base}/widget/topup?session=${await tenant.newSession()}&lang=en${query}`)
}

async function chooseAmount(where: Page | Frame = page, amount = '$25'): Promise<void> {
  await where.getByRole('radio', { name: amount, exact: true }).check()
  await where.getByRole('button', { name: 'Continue' }).click()
}

const payWith = (number: string, where: Page | Frame = page) => typeCard(where, number)

describe('test cards', () => {
  test('a test card that succeeds ends with the money, the total without a fee, and the new balance', async () => {
    await openTopup()
    await chooseAmount()
    await page.getByText('No fee').waitFor()
    expect(await findBarriers(page)).toEqual([])
    await payWith(cards.good)
    await page.getByRole('heading', { name: 'Money added' }).waitFor()
    await page.getByText('Available balance: $25.00').waitFor()
    expect(await findBarriers(page)).toEqual([])
    expect(await balance()).toBe(25)
  })

  test('an amount chosen before the script of the page has loaded is the amount that is paid', async () => {
    const came = Promise.withResolvers<void>()
    await page.route('**/topup*.js', async (route) => {
      await came.promise
      await route.continue()
    })
    await page.goto(`${rig.base}/widget/topup?session=${await tenant.newSession()}&lang=en`, { waitUntil: 'commit' })
    await page.getByRole('radio', { name: '$50', exact: true }).check()
    came.resolve()
    await page.waitForLoadState('load')
    expect(await page.getByRole('radio', { name: '$50', exact: true }).isChecked()).toBe(true)
    await page.getByRole('button', { name: 'Continue' }).click()
    await page.getByText('No fee').waitFor()
    await payWith(cards.good)
    await page.getByText('Available balance: $50.00').waitFor()
    expect(await balance()).toBe(50)
  })

  test('a test card whose challenge is refused says what to do, and on the same form an approved one ends with the money', async () => {
    await openTopup()
    await chooseAmount()
    await payWith(cards.challenge)
    await formIn(page).getByRole('button', { name: 'No, refuse' }).click()
    await page.getByText('Your bank did not confirm that it was you').waitFor()
    expect(await balance()).toBe(0)
    await payWith(cards.challenge)
    await formIn(page).getByRole('heading', { name: 'Is this you?' }).waitFor()
    expect(await balance()).toBe(0)
    await formIn(page).getByRole('button', { name: 'Yes, approve' }).click()
    await page.getByRole('heading', { name: 'Money added' }).waitFor()
    expect(await balance()).toBe(25)
  })

  const declines = [
    ['declined', cards.declined, 'Try another card, or ask your bank'],
    ['declined for lack of money', cards.poor, 'There is not enough money on this card'],
    ['declined as expired', cards.expired, 'This card has expired'],
    ['declined for its CVC', cards.cvc, 'The security code is wrong'],
  ] as const
  test('test cards that are declined each say what to do; then a good one succeeds on the same form', async () => {
    await openTopup()
    await chooseAmount()
    for (const [why, number, advice] of declines) {
      await payWith(number)
      await page.getByText(advice).waitFor()
      await page.getByText('The card was declined').waitFor()
      expect({ why, found: await findBarriers(page), balance: await balance() }).toEqual({ why, found: [], balance: 0 })
    }
    await payWith(cards.good)
    await page.getByRole('heading', { name: 'Money added' }).waitFor()
    expect(await balance()).toBe(25)
  })

  test('a test card that is slow says so, and the page shows when the money is there', async () => {
    // On a busy machine the bank would be done before the page asks.
    const hourMs = 3_600_000
    const { now } = rig.service.sandbox!
    Object.assign(rig.service.sandbox!, { processingMs: hourMs })
    await openTopup()
    await chooseAmount()
    await payWith(cards.slow)
    await page.getByRole('heading', { name: 'Your bank is still processing the payment' }).waitFor()
    await page.getByText('You can close this page').waitFor()
    Object.assign(rig.service.sandbox!, { now: () => new Date(now().getTime() + hourMs) })
    await page.getByRole('heading', { name: 'Money added' }).waitFor()
    expect(await balance()).toBe(25)
    Object.assign(rig.service.sandbox!, { processingMs: undefined, now })
  })

  test('a test card that is slow and then fails takes nothing, and the payer can start again', async () => {
    await openTopup()
    await chooseAmount()
    await payWith(cards.slowToFail)
    await page.getByRole('heading', { name: 'The payment did not go through' }).waitFor()
    expect(await balance()).toBe(0)
    await page.getByRole('button', { name: 'Start again' }).click()
    await chooseAmount()
    await payWith(cards.good)
    await page.getByRole('heading', { name: 'Money added' }).waitFor()
  })

  test('a test card that is disputed later takes the money back by itself, and the open wallet shows it', async () => {
    // The clock of the bank does not run until the money is spent: on a busy machine the dispute would come first.
    const { now } = rig.service.sandbox!
    const paidAt = now()
    Object.assign(rig.service.sandbox!, { now: () => paidAt })
    await openTopup()
    await chooseAmount()
    await payWith(cards.disputed)
    await page.getByRole('heading', { name: 'Money added' }).waitFor()
    expect((await tenant.client.debit(tenant.user.serviceUserId, 10)).status).toBe(200)
    Object.assign(rig.service.sandbox!, { now })
    await page.goto(`${rig.base}/widget/wallet?session=${await tenant.newSession()}&lang=en`)
    await page.getByText('Your available balance is below zero').waitFor()
    expect(await balance()).toBe(-10)
  })

  test('a typing mistake in a card number is shown in the form, and the bank is not asked', async () => {
    await openTopup()
    await chooseAmount()
    await payWith('4242 4242 4242 4241')
    await formIn(page).getByText('This card number is not valid').waitFor()
    await payWith(cards.good)
    await page.getByRole('heading', { name: 'Money added' }).waitFor()
  })
})

test('two card forms that are open for one payment take the money once, and both windows say that it is there', async () => {
  const intent = page.waitForResponse(/create-intent/)
  await openTopup()
  await chooseAmount()
  const json: unknown = await (await intent).json()
  const other = await page.context().newPage()
  await other.route(/create-intent/, (route) => route.fulfill({ json }))
  await openTopup('', other)
  await chooseAmount(other)
  await formIn(other).getByLabel('Card number').waitFor()
  await Promise.all([payWith(cards.good), payWith(cards.good, other)])
  for (const each of [page, other]) await each.getByText('Available balance: $25.00').waitFor()
  expect(await balance()).toBe(25)
})

test('a charge-back of spent money is repaid by card, and payments work again', async () => {
  await openTopup()
  await chooseAmount()
  await payWith(cards.good)
  await page.getByText('Available balance: $25.00').waitFor()
  await tenant.client.debit(tenant.user.serviceUserId, 20)
  const { rows } = await rig.service.db.pool.query<{ id: string }>(
    'select payment_intent_id as id from topups where user_id = $1',
    [tenant.user.userId],
  )
  await page.goto(rig.shop)
  const wallet = await embed(page, `${rig.base}/widget/wallet?session=${await tenant.newSession()}&lang=en`)
  await wallet.getByRole('button', { name: 'Add money' }).waitFor()
  const panel = await page.context().newPage()
  await panel.goto(`${rig.base}/sandbox/panel`)
  const isBack = panel.waitForEvent('load')
  await panel.locator(`[id="${rows[0]!.id}"]`).getByRole('button', { name: 'Dispute' }).click()
  await isBack
  // Every button of the panel is visible on a phone.
  await panel.setViewportSize({ width: 360, height: 740 })
  await until(panel, () => innerWidth === 360)
  const hidden = await panel.$$eval(
    'button',
    (all) => all.filter((one) => one.getBoundingClientRect().right > 360).length,
  )
  expect(hidden).toBe(0)
  // The open wallet shows the freeze, and later its end, without a reload.
  await wallet.getByRole('button', { name: 'Repay $20.00' }).waitFor()
  expect(await tenant.client.debit(tenant.user.serviceUserId, 1)).toMatchObject({ status: 403 })
  await openTopup('', panel)
  await panel.getByText('Payments will work again as soon as you repay $20.00.').waitFor()
  expect(await panel.getByRole('radio', { name: '$20', exact: true }).isChecked()).toBeTrue()
  await panel.getByRole('button', { name: 'Continue' }).click()
  await panel.getByRole('heading', { name: 'Repay $20.00' }).waitFor()
  await payWith(cards.good, panel)
  await panel.getByRole('heading', { name: 'Your debt is repaid' }).waitFor()
  await panel.getByText('$20.00 brought your available balance back to zero.').waitFor()
  await panel.getByText('Payments work again.').waitFor()
  expect(await panel.getByText('is in your wallet').count()).toBe(0)
  // A window that no page opened cannot close itself.
  await panel.getByRole('link', { name: 'Back to Fernweh Books' }).waitFor()
  const paper = panel.context().waitForEvent('page')
  await panel.getByRole('button', { name: 'Receipt' }).click()
  await (await paper).getByText('20.00').first().waitFor()
  await wallet.getByRole('button', { name: 'Add money' }).waitFor()
  expect(await balance()).toBe(0)
  await tenant.client.credit(tenant.user.serviceUserId, 5)
  expect(await tenant.client.debit(tenant.user.serviceUserId, 5)).toMatchObject({ status: 200 })
  await panel.close()
})

test('the card step has one left edge, names the amount and the wallet once, and shows a decline once', async () => {
  await page.setViewportSize({ width: 1280, height: 900 })
  await openTopup()
  await chooseAmount()
  await page.getByText('To the wallet of Ada Lovelace').waitFor()
  await payWith(cards.declined)
  await page.getByText('The card was declined').waitFor()
  const left = async (selector: string) => Math.round((await page.locator(selector).boundingBox())!.x)
  expect(await left('.top')).toBe(await left('.topup.card'))
  const form = formIn(page).locator('body')
  await formIn(page).getByLabel('Card number').waitFor()
  const said = `${await page.locator('#root').innerText()} ${await form.innerText()}`
  expect(said.match(/25[.,]00/g)).toHaveLength(1)
  expect(said.match(/declin/gi)).toHaveLength(1)
})

describe('amounts', () => {
  test('the amount comes from the address when an app knows what is missing', async () => {
    await openTopup('&amount=50')
    expect(await page.getByRole('radio', { name: '$50' }).isChecked()).toBeTrue()
    await openTopup('&amount=12.34')
    expect(await page.getByRole('radio', { name: '$12.34' }).isChecked()).toBeTrue()
    await page.getByText('You need $12.34 more at Fernweh Books.').waitFor()
    await page.getByRole('button', { name: 'Continue' }).click()
    await payWith(cards.good)
    await page.getByText('$12.34 is in your wallet').waitFor()
    expect(await balance()).toBe(12.34)
  })

  /** What the server makes of each is in src/widget/pages.test.ts. */
  test.each(firstOrAll(['5.001', '0', 'abc', '-5', '1e3', '99999999999999999']))(
    'an amount of %s in the address is no amount',
    async (amount) => {
      await openTopup(`&amount=${amount}&reason=x`)
      expect(await page.getByRole('radio', { name: '$25' }).isChecked()).toBeTrue()
      expect(await page.getByText('You need').count()).toBe(0)
    },
  )

  test.each([
    ['0.5', '$1', 'The minimum top-up is $1.00. Any money left over stays in your wallet.'],
    ['10001', '$10,000', 'The maximum for one top-up is $10,000.00. You can add the rest with another top-up.'],
  ])('of a missing %s the nearest amount is offered, %s, and the page says why', async (amount, offered, why) => {
    await openTopup(`&amount=${amount}`)
    expect(await page.getByRole('radio', { name: offered, exact: true }).isChecked()).toBeTrue()
    await page.getByText(why).waitFor()
  })

  test('the purpose of the money is one line of the app’s own text, and never more', async () => {
    const reason = 'Order 1042 \u202e<img src=x onerror=alert(1)>\n'.repeat(9)
    await openTopup(`&amount=14.98&reason=${encodeURIComponent(reason)}`)
    const shown = page.locator('.notice bdi').last()
    expect(await shown.textContent()).toMatch(/^Order 1042 <img src=x onerror=alert\(1\)> .{0,60}…$/)
    expect(await page.locator('.notice img').count()).toBe(0)
    await openTopup('&amount=14.98&reason=Order+1042')
    await page.getByText('You need $14.98 more for Order 1042.').waitFor()
  })

  test('an amount outside the limits is refused where it is typed', async () => {
    await openTopup()
    await page.getByRole('radio', { name: 'Other amount' }).check()
    await page.getByRole('textbox', { name: 'Amount' }).fill('10001')
    await page.getByRole('button', { name: 'Continue' }).click()
    await page.getByText('Enter an amount between').waitFor()
  })

  const changes = wantsAll ? 12 : 3

  test(`the amount can be changed ${changes} times before paying: it is one payment`, async () => {
    await openTopup()
    for (let time = 0; time < changes; time++) {
      await chooseAmount(page, ['$10', '$25', '$50'][time % 3])
      await formIn(page).getByLabel('Card number').waitFor()
      await page.getByRole('button', { name: 'Change' }).click()
    }
    await chooseAmount(page, '$100')
    const { rowCount } = await rig.service.db.pool.query('select 1 from topups where user_id = $1', [
      tenant.user.userId,
    ])
    expect(rowCount).toBe(1)
    await payWith(cards.good)
    await page.getByText('Available balance: $100.00').waitFor()
  })
})

describe('windows and frames', () => {
  test('without a pop-up blocker, Add money in a page written from the specification opens one window, not two', async () => {
    await page.goto(rig.shop)
    const session = await tenant.newSession(rig.shop)
    await page.evaluate((url) => {
      addEventListener('message', ({ data }) => void (data.type === 'SERVICE_OPEN_TOPUP' && window.open(url)))
    }, `${rig.base}/widget/topup?session=${session}`)
    const frame = await embed(page, `${rig.base}/widget/wallet?session=${session}`)
    const opening = page.context().waitForEvent('page')
    await frame.getByRole('button', { name: 'Add money' }).click()
    const popup = await opening
    await chooseAmount(popup)
    await payWith(cards.good, popup)
    await popup.getByRole('heading', { name: 'Money added' }).waitFor()
    expect(page.context().pages()).toHaveLength(2)
  })

  test('a top-up window that the shop opened itself notifies the shop', async () => {
    await page.goto(rig.shop)
    const opening = page.context().waitForEvent('page')
    const url = `${rig.base}/widget/topup?session=${await tenant.newSession(rig.shop)}&lang=en`
    await page.evaluate((address) => void window.open(address), url)
    const popup = await opening
    await chooseAmount(popup)
    await payWith(cards.good, popup)
    await popup.getByRole('heading', { name: 'Money added' }).waitFor()
    await waitForMessage(page, 'SERVICE_WALLET_UPDATED')
  })

  test('a foreign page can frame neither the top-up page nor the card form in it', async () => {
    await page.goto(rig.strangerShop)
    const frame = await embed(page, `${rig.base}/widget/topup?session=${await tenant.newSession(rig.shop)}&lang=en`)
    await page.waitForTimeout(500)
    expect(await frame.getByRole('button', { name: 'Continue' }).count()).toBe(0)
    expect(await messagesReceived(page)).toEqual([])
  })
})

describe('obstacles', () => {
  test('when the session ends during a payment, the page says that the money will still arrive, and it does', async () => {
    await openTopup()
    await chooseAmount()
    await formIn(page).getByLabel('Card number').waitFor()
    await rig.pass(6 * 60_000)
    await payWith(cards.good)
    await page.getByRole('heading', { name: 'Your session has ended' }).waitFor()
    await page.getByText('If you have paid, the money will still arrive').waitFor()
    for (const endsAt = Date.now() + 60_000; Date.now() < endsAt && (await balance()) !== 25;) await Bun.sleep(50)
    expect(await balance()).toBe(25)
  })

  test('the opener of a top-up window cannot switch it to another wallet: only our own page can send a session', async () => {
    const mallory = await rig.newTenant()
    await page.goto(rig.shop)
    const url = `${rig.base}/widget/topup?session=${await tenant.newSession()}&lang=en`
    const popup = page.waitForEvent('popup')
    const opened = await page.evaluateHandle((url) => window.open(url)!, url)
    const topup = await popup
    // Once this is visible, the window's script runs and listens.
    await topup.locator('.topup-head .muted bdi').waitFor()
    await opened.evaluate(
      (window, [sessionToken, origin]) =>
        window.postMessage({ type: 'SERVICE_SESSION', version: 1, sessionToken }, origin!),
      [await mallory.newSession(), rig.base],
    )
    await chooseAmount(topup)
    await payWith(cards.good, topup)
    await topup.getByRole('heading', { name: 'Money added' }).waitFor()
    expect([await balance(), await mallory.client.balance(mallory.user.serviceUserId)]).toEqual([25, 0])
  })

  test('a payment whose script is slow shows the amount; one that does not load says so, and the next attempt opens it', async () => {
    const script = /\/assets\/pay\.\w+\.js/
    const failed = Promise.withResolvers<void>()
    await page.route(script, async (route) => {
      await failed.promise
      await route.abort()
    })
    await openTopup()
    await chooseAmount()
    await page.getByRole('heading', { name: 'Add $25.00' }).waitFor()
    await page.getByText('Preparing the payment').waitFor()
    failed.resolve()
    await page.getByRole('alert').getByText('Something went wrong').waitFor()
    await page.getByRole('button', { name: 'Back', exact: true }).click()
    await chooseAmount()
    await page.getByRole('button', { name: 'Try again' }).waitFor()
    await page.unrouteAll()
    await page.getByRole('button', { name: 'Try again' }).click()
    await page.getByText('No fee').waitFor()
    await page.locator('.card-frame').waitFor()

    const came = Promise.withResolvers<void>()
    await page.route(script, async (route) => {
      await came.promise
      await route.continue()
    })
    await page.reload({ waitUntil: 'commit' })
    await page.getByRole('heading', { name: 'Checking the payment' }).waitFor()
    came.resolve()
    await payWith(cards.good)
    await page.getByText('Available balance: $25.00').waitFor()
    expect(await balance()).toBe(25)
  })

  test('a frozen wallet takes no card', async () => {
    await freezeWallet(rig.service, operator, tenant.user.userId, 'test')
    await openTopup()
    await page.getByText('money cannot be added by card').waitFor()
  })

  test('a wallet that is frozen while the amount is chosen takes no card', async () => {
    await openTopup()
    await page.getByRole('radio', { name: '$25', exact: true }).check()
    await freezeWallet(rig.service, operator, tenant.user.userId, 'test')
    // The page may have received the freeze first, and then has no form any more.
    await page.evaluate(() => document.querySelector('form')?.requestSubmit())
    await page.getByText('money cannot be added by card').waitFor()
  })

  test('when the processor does not answer the page says so, the wallet works, and later so does the card', async () => {
    await settings(true)
    await openTopup()
    await chooseAmount()
    await page.getByRole('heading', { name: 'Card payments are not available right now' }).waitFor()
    expect((await tenant.client.credit(tenant.user.serviceUserId, 1)).status).toBe(200)
    await settings(false)
    await page.getByRole('button', { name: 'Try again' }).click()
    await payWith(cards.good)
    await page.getByText('Available balance: $26.00').waitFor()
  })

  test('when the processor stops answering after the payment, the page keeps asking, and shows the result in the end', async () => {
    await openTopup()
    await chooseAmount()
    await formIn(page).getByLabel('Card number').waitFor()
    rig.trouble.answer = (url) =>
      url.pathname.endsWith('/confirm') ? new Response('{"code":"PROCESSOR_UNAVAILABLE"}', { status: 503 }) : undefined
    await payWith(cards.good)
    await page.getByRole('heading', { name: 'We cannot check the payment right now' }).waitFor()
    rig.trouble.answer = undefined
    await page.getByRole('heading', { name: 'Money added' }).waitFor()
    expect(await balance()).toBe(25)
  })

  test('a card used while the answer about the card before is pending is asked about too', async () => {
    const [answered, held] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    await page.route(
      '**/api/widget/topup/confirm*',
      async (route) => {
        const response = await route.fetch()
        answered.resolve()
        await held.promise
        await route.fulfill({ response })
      },
      { times: 1 },
    )
    await openTopup()
    // The page would time out, and on a busy machine the answer takes longer than that.
    await page.evaluate(() => (AbortSignal.timeout = () => new AbortController().signal))
    await chooseAmount()
    await payWith('4242 4242 4242 4241')
    await formIn(page).getByText('This card number is not valid').waitFor()
    await answered.promise
    // By keyboard, because a mouse click would wait for the answer.
    for (const [name, text] of Object.entries({ number: cards.good, expiry: '12 / 40', cvc: '123' }))
      await formIn(page).locator(`input[name=${name}]`).fill(text)
    await formIn(page).locator('input[name=cvc]').press('Enter')
    await formIn(page).getByRole('heading', { name: 'Paid' }).waitFor()
    held.resolve()
    await page.getByRole('heading', { name: 'Money added' }).waitFor()
    expect(await balance()).toBe(25)
  })

  test('after ten attempts to pay the page says that the limit is reached and when to try again, with a way back', async () => {
    const session = await tenant.newSession()
    const post = async (path: string, body: object) =>
      (await (
        await fetch(`${rig.base}${path}`, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify(body),
        })
      ).json()) as Record<string, string>
    for (let i = 0; i < 10; i++) {
      const order = { amount: 5, replaces: null }
      const { paymentIntentId, clientSecret } = await post(`/api/widget/topup/create-intent?session=${session}`, order)
      const card = { number: cards.challenge, expiry: '12/40', cvc: '123' }
      await post('/sandbox/confirm', { paymentIntentId, clientSecret, ...card })
      // Otherwise the page continues with the last one, if the answer about it comes before the click.
      await post(`/api/widget/topup/cancel?session=${session}`, { paymentIntentId: paymentIntentId! })
    }
    await page.goto(`${rig.base}/widget/topup?session=${session}&lang=en`)
    await chooseAmount()
    await page.getByRole('heading', { name: 'Too many payment attempts' }).waitFor()
    await page.getByText(/You can try again in (1 hour|\d+ minutes)/).waitFor()
    expect(await page.getByText('did not go through').count()).toBe(0)
    expect(await findBarriers(page)).toEqual([])
    await page.getByRole('button', { name: 'Start again' }).click()
    await page.getByRole('button', { name: 'Continue' }).waitFor()
  })
})

describe('phones', () => {
  const tried = firstOrAll([...new Set(['ar', ...languages.keys()])])

  test(`no step of a top-up is wider than a phone, in ${wantsAll ? 'any language' : 'Arabic'}`, async () => {
    const phone = await rig.openPage({ viewport: { width: 320, height: 640 } })
    const isNarrow = () => phone.evaluate(() => document.documentElement.scrollWidth <= innerWidth)
    for (const lang of tried) {
      await phone.goto(`${rig.base}/widget/topup?session=${await tenant.newSession()}&lang=${lang}`)
      await phone.locator('form button.button').click()
      await formIn(phone).locator('input[name=number]').waitFor()
      expect(await isNarrow()).toBeTrue()
      if (lang !== 'en' && lang !== 'ar') continue
      await typeCard(phone, cards.declined)
      await phone.locator('.notice.bad').waitFor()
      expect(await isNarrow()).toBeTrue()
      await typeCard(phone, cards.good)
      await phone.locator('.panel').waitFor()
      expect(await isNarrow()).toBeTrue()
    }
    await rig.closePage(phone)
  })
})
