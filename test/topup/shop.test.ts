/** The example shop, the service with its sandbox and a real Chromium: a buyer without enough money tops up by card and buys. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import type { Page } from '@playwright/test'
import { expectBalancedBooks } from '../books.ts'
import { startShopRig, type ShopRig } from '../example/rig.ts'
import { cards, formIn, typeCard } from './card-form.ts'
import { eventually, newName, openVisit, press, type Visit } from '../example/visit.ts'
import { firstOrAll } from '../wants-all.ts'

setDefaultTimeout(240_000)

let rig: ShopRig
let buyer: Visit

beforeAll(async () => {
  rig = await startShopRig()
  buyer = await openVisit(rig)
  await buyer.enterAs(newName())
  await buyer.signInAsNew()
})
afterAll(async () => {
  await buyer.close()
  await expectBalancedBooks(rig.opened.service)
  await rig.stop()
})

const text = (locator: { textContent(): Promise<string | null> }) => async () => await locator.textContent()

/** The statuses of the debits that the shop's page lists, oldest first. */
const debitsIn = async (visit: Visit) =>
  (await visit.story().filter({ hasText: 'wallet/debit' }).locator('.outcome').allTextContents()).toReversed()

/** The amounts that the page was notified of. */
const paidIn = async (visit: Visit) =>
  (await visit.received('SERVICE_WALLET_UPDATED')).flatMap(({ data }) =>
    data['paid'] === undefined ? [] : [data['paid']],
  )

type Card = readonly [what: string, pay: (topup: Page) => Promise<void>]

const declinedFirst = (number: string) => async (topup: Page) => {
  await typeCard(topup, number)
  await topup.getByText('The card was declined').waitFor()
  await typeCard(topup, cards.good)
}

const ways: readonly Card[] = [
  ['a declined card and then a good one', declinedFirst(cards.declined)],
  ['a card that takes its time', (topup) => typeCard(topup, cards.slow)],
  ['a good card', (topup) => typeCard(topup, cards.good)],
  [
    'a card that asks for a challenge',
    async (topup) => {
      await typeCard(topup, cards.challenge)
      await formIn(topup).getByRole('button', { name: 'Yes, approve' }).click()
    },
  ],
  ['a card without money and then a good one', declinedFirst(cards.poor)],
  ['an expired card and then a good one', declinedFirst(cards.expired)],
  ['a wrong CVC and then a good card', declinedFirst(cards.cvc)],
]

test.each(firstOrAll(ways, 2).map(([what, pay]) => [what, pay] as const))(
  'a buyer who is short adds exactly the shortfall with %s, and the order goes on by itself, once',
  async (_, pay) => {
    const [paidBefore, debitsBefore] = [await paidIn(buyer), await debitsIn(buyer)]
    await eventually(text(buyer.balance()), '$0.00')
    const opening = buyer.context.waitForEvent('page')
    await buyer.buy('Stoneware mug')
    const order = buyer.order('Stoneware mug')
    await eventually(text(order.locator('.state')), 'Short by $18.00')
    const topup = await opening
    await topup.getByText('You need $18.00 more for Stoneware mug.').waitFor()
    await topup.getByRole('button', { name: 'Continue' }).click()
    await pay(topup)
    await topup.getByRole('heading', { name: 'Money added' }).waitFor()
    await eventually(text(order.locator('.state')), 'Paid')
    await eventually(text(buyer.balance()), '$0.00')
    // The page may report both a little later than the wallet shows them; they must not count towards the next card.
    const reported = async () => JSON.stringify([await paidIn(buyer), await debitsIn(buyer)])
    await eventually(
      reported,
      JSON.stringify([
        [...paidBefore, 18],
        [...debitsBefore, '400', '200'],
      ]),
    )
    expect(buyer.complaints).toEqual([])
    await topup.close()
  },
)

test('on a phone a wallet is topped up by card, and nothing is wider than the screen', async () => {
  const visit = await openVisit(rig, { viewport: { width: 360, height: 740 }, isMobile: true, hasTouch: true })
  await visit.enterAs(newName())
  await visit.signInAsNew()
  const opening = visit.context.waitForEvent('page')
  await press(visit.wallet, 'Add money')
  const topup = await opening
  await topup.getByRole('button', { name: 'Continue' }).click()
  await formIn(topup).locator('input[name=number]').waitFor()
  expect(await topup.evaluate(() => document.documentElement.scrollWidth <= innerWidth)).toBeTrue()
  await typeCard(topup, cards.good)
  await topup.getByRole('heading', { name: 'Money added' }).waitFor()
  await eventually(text(visit.balance()), '$25.00')
  expect(visit.complaints).toEqual([])
  await visit.close()
})
