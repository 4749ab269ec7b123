/** What is on hold, in the wallet of a shop on another origin: live, by keyboard, and by what the browser proves. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import type { Frame } from '@playwright/test'
import { newClient } from '../client.ts'
import { eventually } from '../eventually.ts'
import { holdClient, holdOf, letHoldsAge, sweepHolds } from '../holds.ts'
import { linkUser, newApp } from '../service.ts'
import { until, untilSeen } from '../until.ts'
import { messagesReceived, startRig, type Rig } from './rig.ts'
import {
  balanceIn,
  clickPart,
  focusIs,
  openShop,
  tabTo,
  untilFitted,
  untilReady,
  waitForBalance,
  type Tenant,
} from './shop.ts'

setDefaultTimeout(240_000)

let rig: Rig
beforeAll(async () => {
  rig = await startRig()
})
afterAll(() => rig.stop())

async function fundedTenant() {
  const tenant = await rig.newTenant()
  await tenant.client.credit(tenant.user.serviceUserId, 100)
  const { clientId, clientSecret } = tenant
  return { tenant, holds: holdClient(tenant.client, { clientId, clientSecret }) }
}

const textsOf = (frame: Frame, selector: string) =>
  frame.evaluate((selector) => [...document.querySelectorAll(selector)].map(({ textContent }) => textContent), selector)

const untilGone = (frame: Frame, selector: string) =>
  until(frame, (selector) => document.querySelector(selector) === null, selector)

const updates = async (page: Parameters<typeof messagesReceived>[0]) =>
  (await messagesReceived(page)).filter(({ type }) => type === 'SERVICE_WALLET_UPDATED').length

test('a hold lowers the figure and is listed at once; its capture becomes an entry, and the shop is notified of both', async () => {
  const { tenant, holds } = await fundedTenant()
  const { page, frame } = await openShop(rig, tenant)
  expect(await balanceIn(frame)).toBe('$100.00')
  expect(await frame.$('#open-holds')).toBeNull()

  const placed = holdOf(await holds.place(tenant.user.serviceUserId, 18, { description: 'Order 1042' }))
  await waitForBalance(frame, '$82.00')
  await untilSeen(frame, '.entry.held .amount')
  expect(await textsOf(frame, '#open-holds')).toEqual(['$18.00 on hold'])
  expect(await textsOf(frame, '.held .entry-title, .held .amount')).toEqual(['Order 1042', '$18.00'])
  await eventually(() => updates(page), 1)
  await frame.waitForSelector('.hero [role=status] >> text="Available balance: $82.00"', { state: 'attached' })

  await holds.capture(placed.id, { amount: 15 })
  await waitForBalance(frame, '$85.00')
  await untilGone(frame, '.entry.held')
  await untilGone(frame, '#open-holds')
  expect((await textsOf(frame, '.day .entry .amount'))[0]).toBe('\u2212$15.00')
  await eventually(() => updates(page), 2)
  await rig.closePage(page)
})

test('a void and an expiry give the figure back in the open wallet', async () => {
  const { tenant, holds } = await fundedTenant()
  const voided = holdOf(await holds.place(tenant.user.serviceUserId, 40))
  await holds.place(tenant.user.serviceUserId, 5, { expiresIn: 60 })
  const { page, frame } = await openShop(rig, tenant)
  expect(await balanceIn(frame)).toBe('$55.00')
  await holds.void(voided.id)
  await waitForBalance(frame, '$95.00')
  await letHoldsAge(rig, 61)
  await sweepHolds(rig)
  await waitForBalance(frame, '$100.00')
  await untilGone(frame, '#open-holds')
  await rig.closePage(page)
})

test('the list opens and closes by keyboard, follows the wallet while it is open, and Back returns to its button', async () => {
  const { tenant, holds } = await fundedTenant()
  const first = holdOf(await holds.place(tenant.user.serviceUserId, 18, { description: 'Order 1042' }))
  await holds.place(tenant.user.serviceUserId, 2, { referenceId: 'order-1043' })
  const { page, frame } = await openShop(rig, tenant)
  await tabTo(page, frame, '#open-holds')
  await page.keyboard.press('Enter')
  await untilReady(frame, '.holds .entry.held')
  await focusIs(frame, '$20.00 on hold')
  expect(await textsOf(frame, '.holds .figures dd')).toEqual(['$100.00', '$80.00'])
  expect(await textsOf(frame, '.holds .entry-title')).toEqual(['Payment on hold', 'Order 1042'])
  // Without a text, each payment has its reference.
  expect((await textsOf(frame, '.holds .entry-when'))[0]).toContain('order-1043')

  await holds.capture(first.id, { amount: 8, final: false, referenceType: 'PART', referenceId: first.id })
  await until(frame, () => document.querySelector('.holds h1')?.textContent === '$12.00 on hold')
  await until(frame, () => document.querySelector('.holds')?.textContent.includes('$8.00 of $18.00 already paid'))
  await page.keyboard.press('Tab')
  await tabTo(page, frame, '.account-head .round')
  await page.keyboard.press('Enter')
  await untilReady(frame, '#open-holds')
  await until(frame, () => document.activeElement?.id === 'open-holds')
  await rig.closePage(page)
})

test('a list that was read before a change is not shown over the list after it', async () => {
  const { tenant, holds } = await fundedTenant()
  const first = holdOf(await holds.place(tenant.user.serviceUserId, 18, { description: 'Order 1042' }))
  const second = holdOf(await holds.place(tenant.user.serviceUserId, 2, { description: 'Order 1043' }))
  const { page, frame } = await openShop(rig, tenant)
  await tabTo(page, frame, '#open-holds')
  await page.keyboard.press('Enter')
  await untilReady(frame, '.holds .entry.held')
  let count = 0
  const isListed = (title: string) => async () => (await textsOf(frame, '.holds .entry-title')).includes(title)
  await page.route('**/api/widget/holds?*', async (route) => {
    const isFirst = ++count === 1
    const response = await route.fetch()
    // The list of the second change overtakes that of the first.
    if (isFirst) await eventually(isListed('Order 1044'), true)
    await route.fulfill({ response })
  })
  await holds.void(first.id)
  await eventually(() => count, 1)
  await holds.void(second.id)
  await holds.place(tenant.user.serviceUserId, 3, { description: 'Order 1044' })
  await eventually(isListed('Order 1044'), true)
  await page.unrouteAll({ behavior: 'wait' })
  await until(frame, () => document.querySelector('.holds h1')?.textContent === '$3.00 on hold')
  expect(await textsOf(frame, '.holds .entry-title')).toEqual(['Order 1044'])
  await rig.closePage(page)
})

test('when the last hold has ended meanwhile, Back leads to the latest entries', async () => {
  const { tenant, holds } = await fundedTenant()
  const { id } = holdOf(await holds.place(tenant.user.serviceUserId, 18))
  const { page, frame } = await openShop(rig, tenant)
  await tabTo(page, frame, '#open-holds')
  await page.keyboard.press('Enter')
  await untilReady(frame, '.holds .entry.held')
  await holds.void(id)
  await untilGone(frame, '.holds .entry.held')
  await tabTo(page, frame, '.account-head .round')
  await page.keyboard.press('Enter')
  await untilReady(frame, '#activity-label')
  await until(frame, () => document.activeElement?.id === 'activity-label')
  expect(await frame.$('#open-holds')).toBeNull()
  await rig.closePage(page)
})

/** A hold of another app on the tenant's wallet. */
async function holdElsewhere({ user }: Tenant, amount: number, description: string): Promise<void> {
  const app = await newApp(rig.service, { name: 'Pharmacy' })
  const serviceUserId = await linkUser(rig.service, app, user.userId)
  await holdClient(newClient(rig.app.fetch, app), app).place(serviceUserId, amount, { description })
}

test('where the user has not signed in, another app’s hold shows no name and no text; after that it does', async () => {
  const { tenant } = await fundedTenant()
  await holdElsewhere(tenant, 7, 'Test strips')
  const alone = await openShop(rig, tenant, { isDevice: false })
  await untilSeen(alone.frame, '.entry.held .amount')
  const content = await alone.frame.content()
  expect([content.includes('Pharmacy'), content.includes('Test strips')]).toEqual([false, false])
  await alone.frame.click('#open-holds')
  await untilReady(alone.frame, '.holds .everything')
  expect(await textsOf(alone.frame, '.holds .entry-title, .holds .amount')).toEqual(['Another app', '$7.00'])
  await rig.closePage(alone.page)

  const person = await openShop(rig, tenant)
  await untilSeen(person.frame, '.entry.held .amount')
  await person.frame.click('#open-holds')
  await untilReady(person.frame, '.holds .entry.held')
  expect(await textsOf(person.frame, '.holds .entry-title, .holds .entry-when bdi')).toEqual([
    'Test strips',
    'Pharmacy',
  ])
  expect(await person.frame.$('.holds .everything')).toBeNull()
  await rig.closePage(person.page)
})

test('an amount that the shop asks for counts what is available, also after a hold', async () => {
  const { tenant, holds } = await fundedTenant()
  const { page, frame } = await openShop(rig, tenant)
  await frame.goto(`${rig.base}/widget/wallet?session=${await tenant.newSession(rig.shop)}&amount=30`)
  await untilSeen(frame, '.notice.info strong')
  expect((await textsOf(frame, '.notice.info strong'))[0]).toBe('$30.00')
  await holds.place(tenant.user.serviceUserId, 20)
  await until(frame, () => document.querySelector('.notice.info strong')?.textContent === '$50.00')
  await tenant.client.credit(tenant.user.serviceUserId, 45)
  await until(frame, () => document.querySelector('.notice.info strong')?.textContent === '$5.00')
  await rig.closePage(page)
})

test('before an app is disconnected, the user reads what it has on hold, where the user has signed in and where not', async () => {
  const { tenant, holds } = await fundedTenant()
  await holds.place(tenant.user.serviceUserId, 18)
  await holdElsewhere(tenant, 7, 'Test strips')
  const own = 'Fernweh Books has $18.00 on hold and can still take it until the hold ends.'
  const person = await openShop(rig, tenant)
  await clickPart(person.frame, 'apps')
  await untilReady(person.frame, '[aria-label="Disconnect Fernweh Books"]')
  await untilFitted(person.frame)
  await person.frame.click('[aria-label="Disconnect Fernweh Books"]')
  await untilReady(person.frame, '.ask')
  expect(await textsOf(person.frame, '.ask p')).toContain(own)
  await rig.closePage(person.page)

  const alone = await openShop(rig, tenant, { isDevice: false })
  await alone.frame.click('#open-account')
  await untilReady(alone.frame, '.account-exits .icon-swap')
  await untilFitted(alone.frame)
  await alone.frame.click('.account-exits button:has(.icon-swap)')
  await until(alone.frame, (own) => document.querySelector('.ask')?.textContent.includes(own), own)
  await rig.closePage(alone.page)
})

test('an account with money on hold says so, and leads to the list', async () => {
  const { tenant, holds } = await fundedTenant()
  await holds.place(tenant.user.serviceUserId, 18)
  const { page, frame } = await openShop(rig, tenant)
  await clickPart(frame, 'delete')
  await untilReady(frame, '.account-part .notice button')
  expect(await textsOf(frame, '.account-part .notice button')).toEqual(['$18.00 on hold'])
  await untilFitted(frame)
  await frame.click('.account-part .notice button')
  await untilReady(frame, '.holds .entry.held')
  await frame.click('.account-head .round')
  await untilReady(frame, '.account-part .notice')
  await rig.closePage(page)
})
