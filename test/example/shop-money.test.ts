/** Payments in the shop, checked in the page, in the frame and in the ledger. */
import { afterAll, afterEach, beforeAll, beforeEach, expect, setDefaultTimeout, test } from 'bun:test'
import { expectBalancedBooks } from '../books.ts'
import { startShopRig, type ShopRig } from './rig.ts'
import { eventually, newName, openVisit, press, type Visit } from './visit.ts'

setDefaultTimeout(240_000)

let rig: ShopRig
let visit: Visit
let name: string

beforeAll(async () => {
  rig = await startShopRig()
})
afterAll(async () => {
  await expectBalancedBooks(rig.opened.service)
  await rig.stop()
})
beforeEach(async () => {
  visit = await openVisit(rig)
  name = newName()
  await visit.enterAs(name)
})
afterEach(async () => {
  expect(visit.complaints).toEqual([])
  await visit.close()
})

const text = (locator: { textContent(): Promise<string | null> }) => async () => await locator.textContent()
const storedId = async () => (await rig.storedUser(name))!.serviceUserId!
const ledger = async () => (await rig.billfold.wallet({ serviceUserId: await storedId() })).transactions

async function takeGift(): Promise<void> {
  await visit.signInAsNew()
  await visit.page.getByRole('button', { name: /welcome gift/ }).click()
  await eventually(text(visit.balance()), '$50.00')
}

test('a sign-in in the frame links the wallet that the code proves, the page receives three messages, and a credit shows at once', async () => {
  await visit.signInAsNew()
  await eventually(async () => (await visit.received('SERVICE_WALLET_LOADED')).length, 1)
  const types = (await visit.receivedTypes()).filter((type) => type !== 'SERVICE_RESIZE')
  expect(types).toEqual(['SERVICE_AUTH_REQUIRED', 'SERVICE_AUTH_SUCCESS', 'SERVICE_WALLET_LOADED'])

  const [required] = await visit.received('SERVICE_AUTH_REQUIRED')
  expect(required).toEqual({ origin: rig.serviceOrigin, data: { type: 'SERVICE_AUTH_REQUIRED', version: 1 } })
  const [loaded] = await visit.received('SERVICE_WALLET_LOADED')
  expect(loaded).toEqual({ origin: rig.serviceOrigin, data: { type: 'SERVICE_WALLET_LOADED', version: 1 } })
  const [success] = await visit.received('SERVICE_AUTH_SUCCESS')
  expect(success).toEqual({
    origin: rig.serviceOrigin,
    data: {
      type: 'SERVICE_AUTH_SUCCESS',
      version: 1,
      serviceUserId: await storedId(),
      linkCode: expect.any(String) as string,
    },
  })
  await eventually(
    async () => (await visit.page.locator('#record').textContent())?.includes('"serviceUserId": "su_'),
    true,
  )

  // A credit by the backend shows in the open frame without a reload, and the page is notified of the change.
  const serviceUserId = await storedId()
  await eventually(text(visit.balance()), '$0.00')
  await rig.billfold.credit({ serviceUserId, amount: 30, referenceType: 'GIFT', referenceId: name })
  await eventually(text(visit.balance()), '$30.00')
  await eventually(text(visit.purse()), '$30.00')
  const [updated] = await visit.received('SERVICE_WALLET_UPDATED')
  expect(updated).toEqual({ origin: rig.serviceOrigin, data: { type: 'SERVICE_WALLET_UPDATED', version: 1 } })
})

test('the welcome gift comes once however often it is taken, buying takes the price once, and a refund has its own reference', async () => {
  await takeGift()
  await visit.page.getByRole('button', { name: /welcome gift/ }).click()
  await eventually(async () => (await visit.notice().textContent())?.includes('already has its gift'), true)
  expect(await visit.balance().textContent()).toBe('$50.00')
  expect(await ledger()).toHaveLength(1)

  await visit.buy('Stoneware mug')
  await eventually(text(visit.order('Stoneware mug').locator('.state')), 'Paid')
  await eventually(text(visit.balance()), '$32.00')
  const order = visit.order('Stoneware mug')
  const orderId = (await order.getAttribute('data-order'))!
  expect((await ledger())[0]).toMatchObject({
    type: 'DEBIT',
    amount: 18,
    referenceType: 'ORDER_PAYMENT',
    referenceId: `${orderId}-1`,
  })
  expect(await ledger()).toHaveLength(2)

  await order.getByRole('button', { name: 'Refund' }).click()
  await eventually(text(order.locator('.state')), 'Refunded')
  await eventually(text(visit.balance()), '$50.00')
  expect((await ledger())[0]).toMatchObject({
    type: 'CREDIT',
    amount: 18,
    referenceType: 'ORDER_REFUND',
    referenceId: `${orderId}-1`,
  })
})

test('a price beyond the balance asks for the missing amount; money from elsewhere pays it on a new attempt', async () => {
  await takeGift()
  const opening = visit.context.waitForEvent('page')
  const asking = visit.context.waitForEvent('request', (request) => request.url().includes('/widget/topup'))
  await visit.buy('Reading lamp')
  const order = visit.order('Reading lamp')
  await eventually(text(order.locator('.state')), 'Short by $14.00')
  expect(await visit.notice().textContent()).toContain('short by $14.00')

  const { origin, searchParams } = new URL((await asking).url())
  expect([origin, searchParams.get('amount'), searchParams.get('reason')]).toEqual([
    rig.serviceOrigin,
    '14',
    'Reading lamp',
  ])
  expect(searchParams.get('session')).toStartWith('ws_')
  const topup = await opening
  await topup.getByRole('heading', { name: 'Add money' }).waitFor()
  await topup.close()

  const serviceUserId = await storedId()
  await rig.billfold.credit({ serviceUserId, amount: 14, referenceType: 'GIFT', referenceId: name })
  await eventually(text(order.locator('.state')), 'Enough in the wallet now')
  await order.getByRole('button', { name: 'Try again' }).click()
  await eventually(text(order.locator('.state')), 'Paid')
  await eventually(text(visit.balance()), '$0.00')

  const orderId = await order.getAttribute('data-order')
  expect((await ledger())[0]!.referenceId).toBe(`${orderId}-2`)
  const first = { referenceType: 'ORDER_PAYMENT', referenceId: `${orderId}-1`, amount: 64, serviceUserId }
  const refusal: unknown = await rig.billfold.debit(first).catch((error: unknown) => error)
  expect(refusal).toMatchObject({ code: 'INSUFFICIENT_BALANCE', replayed: true })
})

test('Add money in the widget makes the page open the one window, at the address in the message', async () => {
  await visit.signInAsNew()
  const opening = visit.context.waitForEvent('page')
  await press(visit.wallet, 'Add money')
  const window = await opening
  const [asked] = await visit.received('SERVICE_OPEN_TOPUP')
  expect(asked).toEqual({
    origin: rig.serviceOrigin,
    data: { type: 'SERVICE_OPEN_TOPUP', version: 1, url: expect.any(String) as string },
  })
  expect(String(asked!.data['url'])).toStartWith(`${rig.serviceOrigin}/widget/topup?session=ws_`)
  // One window, opened by the SDK in the page: the widget opens none.
  await Bun.sleep(500)
  expect(visit.context.pages()).toHaveLength(2)
  await window.close()
})

test('a payment whose answer is lost is sent again, and debited once', async () => {
  await takeGift()
  await visit.page.getByRole('switch', { name: 'Lose the next answer' }).check()
  await visit.buy('Stoneware mug')
  await eventually(text(visit.order('Stoneware mug').locator('.state')), 'Paid')
  expect(await visit.notice().textContent()).toContain('only once')
  const story = await visit.story().allTextContents()
  expect(story.some((entry) => entry.includes('wallet/debit') && entry.includes('answer lost'))).toBeTrue()
  expect(story.some((entry) => entry.includes('wallet/debit') && entry.includes('no money moved'))).toBeTrue()
  await eventually(text(visit.balance()), '$32.00')
  expect((await ledger()).map(({ type, amount }) => [type, amount])).toEqual([
    ['DEBIT', 18],
    ['CREDIT', 50],
  ])
})

test('a state that was read during a payment is not shown over the answer of the payment', async () => {
  await takeGift()
  const isPaid = async () => (await visit.order('Stoneware mug').locator('.state').textContent()) === 'Paid'
  const read: number[] = []
  await visit.page.route('**/api/state', async (route) => {
    const response = await route.fetch()
    read.push(response.status())
    // The answer of the payment overtakes this one.
    await eventually(isPaid, true)
    await route.fulfill({ response })
  })
  await visit.page.getByRole('switch', { name: 'Lose the next answer' }).check()
  await visit.buy('Stoneware mug')
  await eventually(text(visit.purse()), '$32.00')
  await eventually(() => read.length > 0, true)
  await visit.page.unrouteAll({ behavior: 'wait' })
  expect(await text(visit.order('Stoneware mug').locator('.state'))()).toBe('Paid')
})

test('an order paid while the service is down stays undecided, and is sent again under the same reference', async () => {
  await takeGift()
  await rig.stopService()
  await visit.buy('Beeswax candle')
  const order = visit.order('Beeswax candle')
  await eventually(text(order.locator('.state')), 'Payment not confirmed yet')
  await rig.startService()
  // The shop is killed in between: it still does not know the outcome, and asks.
  await rig.restartShop()
  await visit.page.reload()
  await order.getByRole('button', { name: 'Ask again' }).click()
  await eventually(text(order.locator('.state')), 'Paid')
  const orderId = await order.getAttribute('data-order')
  expect((await ledger()).map(({ referenceId }) => referenceId)[0]).toBe(`${orderId}-1`)
  expect(await ledger()).toHaveLength(2)
})
