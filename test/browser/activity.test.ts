/** The list of all entries: its search, its month, an open entry and live updates together. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import type { Frame } from '@playwright/test'
import { until, untilSeen } from '../until.ts'
import { embed, startRig, type Rig } from './rig.ts'
import { focusIs, openShop, signInOnDevice, untilReady, walletUrl, type Tenant } from './shop.ts'

setDefaultTimeout(240_000)

let rig: Rig
beforeAll(async () => {
  rig = await startRig()
})
afterAll(() => rig.stop())

const countIs = (frame: Frame, count: number) =>
  until(frame, (count) => document.querySelectorAll('.browse .entry').length === count, count)

async function openActivity(tenant: Tenant, entries: number) {
  const opened = await openShop(rig, tenant)
  await opened.frame.click('#all-activity')
  await countIs(opened.frame, entries)
  await untilSeen(opened.frame, '.sums li')
  return opened
}

test('an entry closes to the same search and the same month, with what arrived meanwhile', async () => {
  const tenant = await rig.newTenant()
  const { client, user } = tenant
  await rig.service.db.pool.query(
    `with entry as (
       insert into transfers (wallet_id, sequence, amount, balance_after, reference_key, created_at, counter_account,
         reference_type, reference_id)
       values ($1, 1, 1000, 1000, gen_random_uuid(), now() - interval '1 month', 'app:' || $2::text, 'ORDER', 'old')
     )
     update wallets set sequence = 1, balance = 1000 where id = $1`,
    [user.userId, tenant.clientId],
  )
  for (const amount of [20, 30]) await client.credit(user.serviceUserId, amount)
  const { page, frame } = await openActivity(tenant, 3)
  await frame.click('.sums-head .round:not(.later)')
  await until(frame, () => document.querySelector('#sums-inMinor .money')?.textContent === '$10.00')
  await frame.click('#entry-2')
  await focusIs(frame, 'Details')
  await client.credit(user.serviceUserId, 40)
  await until(frame, () => document.getElementById('entry-4') !== null)
  await page.evaluate(() => history.back())
  await focusIs(frame, '+$20.00')
  await countIs(frame, 4)
  await until(frame, () => document.querySelector('#sums-inMinor .money')?.textContent === '$10.00')

  await frame.fill('[name=search]', 'over 15')
  await frame.waitForSelector('text=Found: 3')
  await countIs(frame, 3)
  await frame.click('#entry-3')
  await focusIs(frame, 'Details')
  await client.credit(user.serviceUserId, 50)
  await client.credit(user.serviceUserId, 5)
  await page.evaluate(() => history.back())
  await focusIs(frame, '+$30.00')
  await frame.waitForSelector('text=Found: 4')
  await countIs(frame, 4)
  expect(await frame.inputValue('[name=search]')).toBe('over 15')
  await page.evaluate(() => history.forward())
  await focusIs(frame, 'Details')
  expect(await frame.textContent('.detail .amount')).toBe('+$30.00')
  await rig.closePage(page)
})

test('after a live update that failed, the next attempt shows the new entry', async () => {
  const tenant = await rig.newTenant()
  const { client, user } = tenant
  await client.credit(user.serviceUserId, 10)
  const { page, frame } = await openActivity(tenant, 1)
  rig.trouble.answer = ({ pathname }) =>
    pathname === '/api/widget/activity' ? Response.json({ error: 'x', code: 'INTERNAL' }, { status: 500 }) : undefined
  await client.credit(user.serviceUserId, 20)
  await untilSeen(frame, '.browse .bad')
  rig.trouble.answer = undefined
  await frame.click('button >> text=Try again')
  await countIs(frame, 2)
  expect(await frame.locator('.browse .bad').count()).toBe(0)
  await rig.closePage(page)
})

test('on a wide screen the view ends below its longer column', async () => {
  const tenant = await rig.newTenant()
  await tenant.client.credit(tenant.user.serviceUserId, 10)
  const { page, frame } = await openActivity(tenant, 1)
  await page.setViewportSize({ width: 1280, height: 900 })
  await until(frame, () => innerWidth === 1280)
  await until(frame, () => {
    const [, side, list] = document.querySelector('.browse')!.children
    const lowest = Math.max(
      ...[...side!.children, ...list!.children].map((each) => each.getBoundingClientRect().bottom),
    )
    return document.querySelector('.browse')!.getBoundingClientRect().bottom - lowest < 1
  })
  await rig.closePage(page)
})

test('a wide frame shows the month below the balance, to the person alone and live; a narrow one does not', async () => {
  const tenant = await rig.newTenant()
  const { client, user } = tenant
  await client.credit(user.serviceUserId, 90)
  await client.debit(user.serviceUserId, 12.5)
  const { page, frame } = await openShop(rig, tenant)
  expect(await frame.evaluate(() => document.querySelector('.glance'))).toBeNull()
  await page.setViewportSize({ width: 1280, height: 900 })
  await until(frame, () => document.querySelector('.glance #sums-outMinor .money')?.textContent === '$12.50')
  expect(await frame.textContent('.glance #sums-inMinor .money')).toBe('$90.00')
  await client.debit(user.serviceUserId, 20)
  await until(frame, () => document.querySelector('.glance #sums-outMinor .money')?.textContent === '$32.50')
  await page.setViewportSize({ width: 800, height: 900 })
  await until(frame, () => document.querySelector('.glance') === null)

  // If the sums cannot be read, the rest of the page is complete.
  rig.trouble.answer = ({ pathname }) =>
    pathname === '/api/widget/activity/sums'
      ? Response.json({ error: 'x', code: 'INTERNAL' }, { status: 500 })
      : undefined
  const asked = page.waitForResponse((each) => each.url().includes('/api/widget/activity/sums'))
  await page.setViewportSize({ width: 1280, height: 900 })
  await asked
  await until(frame, () => document.querySelector('.glance')?.childElementCount === 0)
  expect(await frame.locator('.day .entry').count()).toBe(3)
  rig.trouble.answer = undefined
  await rig.closePage(page)

  // Without a device the session proves the app alone.
  const other = await rig.openPage()
  await other.setViewportSize({ width: 1280, height: 900 })
  await other.goto(rig.shop)
  const alone = await embed(other, walletUrl(rig, { session: await tenant.newSession(rig.shop) }))
  await untilSeen(alone, '.everything')
  expect(await alone.evaluate(() => document.querySelector('.glance'))).toBeNull()
  await rig.closePage(other)
})

test('a frame that becomes narrow while the wallet is shown first has no month below the balance', async () => {
  const tenant = await rig.newTenant()
  await tenant.client.credit(tenant.user.serviceUserId, 90)
  const page = await rig.openPage()
  await signInOnDevice(rig, page, tenant)
  await page.addInitScript(() => {
    const { matches } = Object.getOwnPropertyDescriptors(MediaQueryList.prototype)
    const read = new Set<MediaQueryList>()
    Object.defineProperty(MediaQueryList.prototype, 'matches', {
      get(this: MediaQueryList) {
        // Wide at first and narrow afterwards: the change comes before the page listens for it.
        if (this.media === '(min-width: 60rem)' && !read.has(this)) return Boolean(read.add(this))
        return matches.get!.call(this)
      },
    })
  })
  await page.goto(rig.shop)
  const frame = await embed(page, walletUrl(rig, { session: await tenant.newSession(rig.shop) }))
  await untilReady(frame, '.hero-balance .money')
  await until(frame, () => document.querySelector('.glance') === null)
  await page.context().close()
})
