/** A top-up that is interrupted: reload at every step, Back, two windows, and a service that is away in between. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, setDefaultTimeout, test } from 'bun:test'
import type { Frame, Page } from '@playwright/test'
import { leaveBy } from '../chromium.ts'
import { expectBalancedBooks } from '../books.ts'
import { findBarriers } from '../browser/axe.ts'
import { embed, messagesReceived, startRig, type Rig } from '../browser/rig.ts'
import { reload } from '../browser/shop.ts'
import { until } from '../until.ts'
import { cards, formIn, typeCard } from './card-form.ts'

setDefaultTimeout(240_000)

let rig: Rig
let tenant: Awaited<ReturnType<Rig['newTenant']>>
let page: Page

beforeAll(async () => {
  rig = await startRig({ CARD_PROCESSOR: 'sandbox' })
  rig.service.sandbox!.setOrigin(rig.base)
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
afterAll(() => rig.stop())

const balance = () => tenant.client.balance(tenant.user.serviceUserId)
const addressOf = async (query = '') =>
  `${rig.base}/widget/topup?session=${await tenant.newSession(rig.shop)}&lang=en${query}`
const chooseAmount = async (where: Page | Frame, amount = '$25') => {
  await where.getByRole('radio', { name: amount, exact: true }).check()
  await where.getByRole('button', { name: 'Continue' }).click()
}
const heading = (where: Page | Frame, name: string) => where.getByRole('heading', { name }).waitFor()
const paymentsOfUser = async () =>
  (
    await rig.service.db.pool.query<{ state: string }>(
      'select state from topups where user_id = $1 order by created_at',
      [tenant.user.userId],
    )
  ).rows.map(({ state }) => state)

const reportsOfPaid = async () => (await messagesReceived(page)).filter((message) => 'paid' in message)
const untilPaidIsReported = async () => await until(page, () => window.received.some(({ data }) => 'paid' in data))

/** The top-up page in a frame of the shop, which is another site. */
async function openInShop(query = ''): Promise<Frame> {
  await page.goto(rig.shop)
  return await embed(page, await addressOf(query))
}

describe('a reload', () => {
  test('during the bank’s challenge continues with the same payment, also when the service was away, and it charges once', async () => {
    const frame = await openInShop()
    await chooseAmount(frame)
    await typeCard(frame, cards.challenge)
    await heading(frame, 'Add $25.00')
    await frame.getByText('Your bank asks you to confirm').waitFor()
    rig.trouble.answer = (url) =>
      url.pathname.startsWith('/api/widget/') ? new Response('{"code":"UNAVAILABLE"}', { status: 503 }) : undefined
    await reload(frame)
    await frame.getByRole('button', { name: 'Try again' }).waitFor()
    rig.trouble.answer = undefined
    await frame.getByText('Your bank asks you to confirm').waitFor()
    expect(await findBarriers(page)).toEqual([])
    await formIn(frame).getByRole('button', { name: 'Yes, approve' }).click()
    await heading(frame, 'Money added')
    expect([await balance(), await paymentsOfUser()]).toEqual([25, ['succeeded']])
  })

  test('of the card form orders the same amount, and only the new payment can be paid', async () => {
    const frame = await openInShop()
    await chooseAmount(frame, '$50')
    await formIn(frame).getByLabel('Card number').waitFor()
    await reload(frame)
    await heading(frame, 'Add $50.00')
    await formIn(frame).getByLabel('Card number').waitFor()
    expect(await paymentsOfUser()).toEqual(['cancelled', 'created'])
    await typeCard(frame, cards.declined)
    await frame.getByText('The card was declined').waitFor()
    await reload(frame)
    await frame.getByText('The card was declined').waitFor()
    await typeCard(frame, cards.good)
    await heading(frame, 'Money added')
    expect([await balance(), await paymentsOfUser()]).toEqual([50, ['cancelled', 'cancelled', 'succeeded']])
  })

  test('after paying shows the payment, does not ask for the same need again, and reports it to the page once', async () => {
    const frame = await openInShop('&amount=14.98&reason=Order+1042')
    await frame.getByText('You need $14.98 more for Order 1042.').waitFor()
    await reload(frame)
    await frame.getByText('You need $14.98 more for Order 1042.').waitFor()
    expect(await frame.getByRole('radio', { name: '$14.98' }).isChecked()).toBeTrue()
    await frame.getByRole('button', { name: 'Continue' }).click()
    await typeCard(frame, cards.good)
    await heading(frame, 'Money added')
    await untilPaidIsReported()
    await reload(frame)
    await heading(frame, 'Money added')
    await frame.getByText('Available balance: $14.98').waitFor()
    await frame.getByRole('button', { name: 'Add more money' }).click()
    expect(await frame.getByRole('radio', { name: '$25', exact: true }).isChecked()).toBeTrue()
    expect(await frame.getByText('You need').count()).toBe(0)
    expect(await paymentsOfUser()).toEqual(['succeeded'])
    expect(await reportsOfPaid()).toHaveLength(1)
  })

  test('between the payment and its report to the page reports it after the reload, once', async () => {
    const frame = await openInShop()
    await chooseAmount(frame)
    await formIn(frame).getByLabel('Card number').waitFor()
    rig.trouble.answer = ({ pathname }) =>
      pathname === '/api/widget/wallet' ? new Response('{"code":"UNAVAILABLE"}', { status: 503 }) : undefined
    await typeCard(frame, cards.good)
    await heading(frame, 'Money added')
    expect(await reportsOfPaid()).toEqual([])
    rig.trouble.answer = undefined
    await reload(frame)
    await heading(frame, 'Money added')
    await untilPaidIsReported()
    await reload(frame)
    await heading(frame, 'Money added')
    await frame.getByText('Available balance: $25.00').waitFor()
    await frame.getByRole('button', { name: 'Add more money' }).click()
    expect(await reportsOfPaid()).toMatchObject([{ paid: 25 }])
  })

  test('after a part of the need was paid offers the rest', async () => {
    const frame = await openInShop('&amount=30')
    await chooseAmount(frame, '$30')
    await formIn(frame).getByLabel('Card number').waitFor()
    await frame.getByRole('button', { name: 'Change' }).click()
    await frame.getByRole('radio', { name: 'Other amount' }).check()
    await frame.getByRole('textbox', { name: 'Amount' }).fill('12')
    await frame.getByRole('button', { name: 'Continue' }).click()
    await typeCard(frame, cards.good)
    await heading(frame, 'Money added')
    await frame.getByRole('button', { name: 'Add more money' }).click()
    await frame.getByText('You need $18.00 more at Fernweh Books.').waitFor()
    await reload(frame)
    await frame.getByText('You need $18.00 more at Fernweh Books.').waitFor()
  })
})

describe('a second window', () => {
  test('continues with the challenge of the first; cancelled there, a later approval in the first charges nothing', async () => {
    const frame = await openInShop()
    await chooseAmount(frame)
    await typeCard(frame, cards.challenge)
    await formIn(frame).getByRole('button', { name: 'Yes, approve' }).waitFor()
    await frame.getByText('Your bank asks you to confirm').waitFor()
    const other = await page.context().newPage()
    await other.goto(await addressOf())
    await other.getByText('Your bank asks you to confirm').waitFor()
    await other.getByRole('button', { name: 'Cancel this payment' }).click()
    await chooseAmount(other)
    await typeCard(other, cards.good)
    await heading(other, 'Money added')
    await formIn(frame).getByRole('button', { name: 'Yes, approve' }).click()
    await heading(frame, 'This payment is no longer open')
    expect([await balance(), await paymentsOfUser()]).toEqual([25, ['cancelled', 'succeeded']])
  })

  test('with its own payment ends that of the first, which says so when it is used', async () => {
    const frame = await openInShop()
    const other = await page.context().newPage()
    await other.goto(await addressOf())
    await chooseAmount(frame)
    await formIn(frame).getByLabel('Card number').waitFor()
    await chooseAmount(other, '$50')
    await formIn(other).getByLabel('Card number').waitFor()
    await typeCard(frame, cards.good)
    await heading(frame, 'This payment is no longer open')
    await typeCard(other, cards.good)
    await heading(other, 'Money added')
    await frame.getByRole('button', { name: 'Start again' }).click()
    await frame.getByRole('button', { name: 'Continue' }).waitFor()
    expect(await balance()).toBe(50)
  })
})

test('Back returns from the card to the amount, and Forward to the card', async () => {
  await page.goto(await addressOf())
  await chooseAmount(page)
  await formIn(page).getByLabel('Card number').waitFor()
  await page.goBack()
  await page.getByRole('button', { name: 'Continue' }).waitFor()
  await page.goForward()
  await formIn(page).getByLabel('Card number').waitFor()
  await typeCard(page, cards.good)
  await heading(page, 'Money added')
  expect(await balance()).toBe(25)
})

test.each([
  ['a declined card', cards.declined, 'The card was declined'],
  ['the bank’s challenge', cards.challenge, 'Your bank asks you to confirm'],
])('one Back returns from %s to the amount', async (_, number, text) => {
  await page.goto(await addressOf())
  await chooseAmount(page)
  await typeCard(page, number)
  await page.getByText(text).waitFor()
  await leaveBy(page, () => history.back())
  await page.getByRole('button', { name: 'Continue' }).waitFor()
})
