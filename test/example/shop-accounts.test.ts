/** Which wallet belongs to which user: switching, sharing, unlinking. */
import { afterAll, afterEach, beforeAll, beforeEach, expect, setDefaultTimeout, test } from 'bun:test'
import { startShopRig, type ShopRig } from './rig.ts'
import { eventually, newName, openVisit, press, type Visit } from './visit.ts'

setDefaultTimeout(240_000)

let rig: ShopRig
let visit: Visit
let name: string

beforeAll(async () => {
  rig = await startShopRig()
})
afterAll(() => rig.stop())
beforeEach(async () => {
  visit = await openVisit(rig)
  name = newName()
  await visit.enterAs(name)
})
afterEach(async () => {
  expect(visit.complaints).toEqual([])
  await visit.close()
})

const storedId = async (who = name) => (await rig.storedUser(who))!.serviceUserId!
const hasLink = async () => 'serviceUserId' in (await rig.storedUser(name))!

test('logging out removes the link, and the next sign-in creates another', async () => {
  const { page, wallet } = visit
  await visit.signUp()
  const first = await storedId()
  await press(wallet, 'Account')
  await press(wallet, 'Sign out')
  await wallet.getByRole('button', { name: 'Create account' }).waitFor()
  await eventually(async () => (await visit.received('SERVICE_LOGOUT_REQUEST')).length, 1)
  const [asked] = await visit.received('SERVICE_LOGOUT_REQUEST')
  expect(asked).toEqual({ origin: rig.serviceOrigin, data: { type: 'SERVICE_LOGOUT_REQUEST', version: 1 } })
  // The field is removed from the file: neither null nor empty.
  await eventually(hasLink, false)
  await eventually(async () => (await page.locator('#record').textContent())?.includes('serviceUserId'), false)
  // The new frame was opened without a session.
  await eventually(async () => (await page.locator('#wallet iframe').getAttribute('src'))?.includes('session='), false)

  await visit.signUp()
  await eventually(hasLink, true)
  expect(await storedId()).not.toBe(first)
})

test('two users of the shop pay from one wallet', async () => {
  const account = await visit.signInAsNew()
  const serviceUserId = await storedId()
  await rig.billfold.credit({ serviceUserId, amount: 40, referenceType: 'GIFT', referenceId: name })

  const other = newName()
  await visit.enterAs(other)
  await visit.logIn(account)
  await eventually(() => storedId(other), serviceUserId)
  expect(await storedId(name)).toBe(serviceUserId)
  await eventually(async () => (await visit.page.locator('#record-hint').textContent())?.includes(name), true)

  await visit.buy('Stoneware mug')
  await eventually(async () => await visit.balance().textContent(), '$22.00')
  await visit.enterAs(name)
  await eventually(async () => await visit.purse().textContent(), '$22.00')
  // The wallet is shared; the orders are not.
  expect(await visit.page.locator('#orders li').count()).toBe(0)
})

test('unlinking in the shop removes the field, and leaves the wallet as it was', async () => {
  const account = await visit.signInAsNew()
  const serviceUserId = await storedId()
  await rig.billfold.credit({ serviceUserId, amount: 7, referenceType: 'GIFT', referenceId: name })
  // The new entry moves the content below the wallet: do not click while it does.
  await eventually(async () => await visit.balance().textContent(), '$7.00')
  await visit.page.getByRole('button', { name: 'Unlink this wallet' }).click()
  await visit.wallet.getByRole('button', { name: 'Sign in' }).waitFor()
  expect(await hasLink()).toBeFalse()
  await visit.page.getByRole('button', { name: 'Unlink this wallet' }).waitFor({ state: 'hidden' })
  // The same person returns to the same wallet, and has the same id in this shop.
  await visit.logIn(account)
  await eventually(storedId, serviceUserId)
  await eventually(async () => await visit.balance().textContent(), '$7.00')
})

test('a shop that was disconnected in the wallet removes the link', async () => {
  const { wallet } = visit
  await visit.signInAsNew()
  const serviceUserId = await storedId()
  await press(wallet, 'Account')
  await press(wallet, 'Apps using my wallet')
  await press(wallet, /^Disconnect .*Small Hours/)
  await press(wallet, 'Disconnect', true)
  await eventually(hasLink, false)
  const refusal: unknown = await rig.billfold.wallet({ serviceUserId }).catch((error: unknown) => error)
  expect(refusal).toMatchObject({ code: 'USER_NOT_FOUND', requiresAuth: true })
})

test('an id the service no longer knows is removed, and the widget shows its sign-in form', async () => {
  await visit.signInAsNew()
  const before = await storedId()
  const { opened } = rig
  // The person disconnects the shop in the widget of another page, while this one is closed.
  await visit.page.goto('about:blank')
  await opened.service.db.pool.query('update links set disconnected_at = now() where id = $1', [before])
  await visit.page.goto(rig.shopOrigin)
  await visit.wallet.getByRole('button', { name: 'Sign in' }).waitFor()
  expect(await hasLink()).toBeFalse()
})

test('buying without a wallet keeps the order, and says what to do', async () => {
  await visit.buy('Windowsill fern')
  await eventually(async () => (await visit.notice().textContent())?.includes('First link a wallet'), true)
  await eventually(async () => await visit.order('Windowsill fern').locator('.state').textContent(), 'Not paid')
  await visit.signInAsNew()
  await visit.page.getByRole('button', { name: /welcome gift/ }).click()
  await eventually(async () => await visit.balance().textContent(), '$50.00')
  await visit.order('Windowsill fern').getByRole('button', { name: 'Pay' }).click()
  await eventually(async () => await visit.order('Windowsill fern').locator('.state').textContent(), 'Paid')
})

test('a press on Pay counts although the wallet changes before the button is let go', async () => {
  await visit.buy('Windowsill fern')
  await visit.signInAsNew()
  const order = visit.order('Windowsill fern')
  await eventually(async () => await visit.purse().textContent(), '$0.00')
  await visit.atRest()
  await order.getByRole('button', { name: 'Pay' }).hover()
  await visit.page.mouse.down()
  await rig.billfold.credit({ serviceUserId: await storedId(), amount: 50, referenceType: 'GIFT', referenceId: name })
  // Meanwhile the page has rendered the new answer of its backend.
  await eventually(async () => await visit.purse().textContent(), '$50.00')
  await visit.page.mouse.up()
  await eventually(async () => await order.locator('.state').textContent(), 'Paid')
})
