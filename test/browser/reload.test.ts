/** After a reload, Back or Forward the page shows the wallet again, or a view that asks for a session; never a dead end. */
import { afterAll, beforeAll, beforeEach, afterEach, describe, expect, setDefaultTimeout, test } from 'bun:test'
import type { Frame, Page } from '@playwright/test'
import { leaveBy } from '../chromium.ts'
import { frameIn, untilSeen } from '../until.ts'
import { waitForMessage, startRig, type Rig } from './rig.ts'
import { reload, renew, waitForBalance, walletUrl, type Tenant } from './shop.ts'

setDefaultTimeout(240_000)

let rig: Rig
let tenant: Tenant
let page: Page
beforeAll(async () => {
  rig = await startRig({ CARD_PROCESSOR: 'sandbox' })
  tenant = await rig.newTenant()
  // Both apps list the shop: without a clientId, only the Referer could distinguish them.
  await rig.newTenant()
})
beforeEach(async () => {
  page = await rig.openPage()
})
afterEach(() => rig.closePage(page))
afterAll(() => rig.stop())

const expireAll = () => rig.pass(5 * 60_000 + 1_000)

/** A page whose server writes the frame into its HTML. */
async function openPlainPage(query: Record<string, string>, referrer = ''): Promise<Frame> {
  const src = walletUrl(rig, query)
  await page.goto(`${rig.shop}/plain?${new URLSearchParams({ src, referrer })}`)
  return await frameIn(page)
}

async function awayAndBack(during?: () => Promise<void>): Promise<Frame> {
  await page.goto(`${rig.strangerShop}/`)
  await during?.()
  await page.goBack()
  return await frameIn(page)
}

describe('Back', () => {
  test.each([
    ['without a clientId', false, ''],
    ['with a clientId', true, ''],
    ['without a clientId and a Referer', false, 'no-referrer'],
  ])(
    'to a page with a plain frame %s shows the wallet, and later the view that asks for a session',
    async (_, isNamed, referrer) => {
      const query = { session: await tenant.newSession(rig.shop), ...(isNamed && { clientId: tenant.clientId }) }
      await waitForBalance(await openPlainPage(query, referrer), '$0.00')
      await waitForBalance(await awayAndBack(), '$0.00')
      const expired = await awayAndBack(expireAll)
      await expired.waitForSelector('text=Your session has ended')
      await waitForMessage(page, 'SERVICE_SESSION_EXPIRED')
      await renew(rig, page, await tenant.newSession(rig.shop))
      await waitForBalance(expired, '$0.00')
      // The renewed session, which the page sent, is the one that is kept.
      await waitForBalance(await awayAndBack(), '$0.00')
    },
  )

  test('from the top-up in the frame returns to the wallet', async () => {
    const frame = await openPlainPage({ session: await tenant.newSession(rig.shop) })
    await frame.click('button.hero-action')
    await frame.getByRole('link', { name: 'Continue here' }).click()
    await untilSeen(frame, '.presets')
    await leaveBy(page, () => history.back())
    await waitForBalance(await frameIn(page), '$0.00')
    await leaveBy(page, () => history.forward())
    await (await frameIn(page)).waitForSelector('.presets')
  })
})

describe('a reload', () => {
  test('of the top-up window continues with the session, and no address carries the token', async () => {
    const session = await tenant.newSession(rig.shop)
    await page.goto(`${rig.base}/widget/topup?session=${session}`)
    for (let times = 0; times < 2; times++) {
      await page.getByRole('button', { name: 'Continue' }).click()
      await page.locator('iframe.card-frame').waitFor()
      expect(page.url()).toBe(`${rig.base}/widget/topup?clientId=${tenant.clientId}`)
      await page.reload()
    }
    await expireAll()
    await page.reload()
    await page.getByText('choose “Add money” in Fernweh Books again').waitFor()
  })

  test('of the frame alone shows the wallet again, and after a log-out the sign-in', async () => {
    const frame = await openPlainPage({ session: await tenant.newSession(rig.shop) })
    await waitForBalance(frame, '$0.00')
    await reload(frame)
    await waitForBalance(frame, '$0.00')
    await frame.click('button.avatar')
    await frame.click('text=Log out')
    await untilSeen(frame, '#field-password')
    await reload(frame)
    await untilSeen(frame, '#field-password')
    expect(await frame.evaluate(() => history.state as unknown)).toEqual({ session: null })
  })

  test('with a session so old that it is deleted asks for one, and signing in is the other way out', async () => {
    const old = await tenant.newSession(rig.shop)
    await page.clock.install()
    // Without the event stream the open wallet does not learn that its session is gone: the reload must find out.
    await page.route('**/api/widget/events*', (route) => route.abort())
    const frame = await openPlainPage({ session: old })
    await waitForBalance(frame, '$0.00')
    let isReloaded = false
    await page.route('**/api/widget/wallet*', (route) => (isReloaded ? route.continue() : route.abort()))
    await page.clock.runFor(40_000)
    await frame.waitForSelector('text=You are offline')
    await rig.service.db.pool.query('delete from widget_sessions')
    page.once('framenavigated', () => (isReloaded = true))
    await leaveBy(frame, () => location.reload())
    await waitForMessage(page, 'SERVICE_SESSION_EXPIRED')
    await page.clock.runFor(11_000)
    await frame.click('text=Sign in')
    await untilSeen(frame, '#field-password')
    await waitForMessage(page, 'SERVICE_AUTH_REQUIRED')
    await page.context().close()
  })
})
