/** After a reload, Back or Forward the page shows the wallet again, or a view that asks for a session; never a dead end. */
import { afterAll, beforeAll, beforeEach, afterEach, describe, expect, setDefaultTimeout, test } from 'bun:test'
import type { Frame, Page } from '@playwright/test'
import { leaveBy } from '../chromium.ts'
import { frameIn, until, untilSeen } from '../until.ts'
import { firstOrAll } from '../wants-all.ts'
import { embed, waitForMessage, startRig, type Rig } from './rig.ts'
import { clickPart, reload, renew, signInOnDevice, waitForBalance, walletUrl, type Tenant } from './shop.ts'

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

const heading = (frame: Frame, text: string) =>
  until(frame, (text) => document.querySelector('h1')?.textContent === text, text)
const isHome = (frame: Frame) => untilSeen(frame, '.hero-balance .visually-hidden')
/** Traverses the history of the tab, as the phone's gesture does. */
const traverse = (steps: number) => page.evaluate((steps) => history.go(steps), steps)

describe('Back', () => {
  const frames = [
    ['without a clientId and a Referer', false, 'no-referrer'],
    ['with a clientId', true, ''],
    ['without a clientId', false, ''],
  ] as const
  test.each(firstOrAll(frames))(
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
    await page.getByRole('button', { name: 'Continue' }).click()
    for (let times = 0; times < 3; times++) {
      await page.locator('iframe.card-frame').waitFor()
      expect(page.url()).toBe(`${rig.base}/widget/topup?clientId=${tenant.clientId}`)
      await page.reload()
    }
    await expireAll()
    await page.reload()
    await page.getByText('choose “Add money” in Fernweh Books again').waitFor()
  })

  test('of the frame alone shows the wallet again, and after signing out the sign-in', async () => {
    const frame = await openPlainPage({ session: await tenant.newSession(rig.shop) })
    await waitForBalance(frame, '$0.00')
    await reload(frame)
    await waitForBalance(frame, '$0.00')
    await frame.click('button.avatar')
    await frame.click('text="Sign out"')
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

describe('a reload of the page around the frame', () => {
  test('shows the same view; Back and the button in the frame close it and stay in the shop; another page begins with the wallet', async () => {
    const customer = await rig.newTenant()
    await signInOnDevice(rig, page, customer)
    const query = { session: await customer.newSession(rig.shop) }
    const frame = await openPlainPage(query)
    await isHome(frame)
    await clickPart(frame, 'language')
    await heading(frame, 'Language')
    await page.reload()
    await heading(await frameIn(page), 'Language')
    await traverse(-1)
    await heading(await frameIn(page), 'Account')
    await traverse(1)
    await heading(await frameIn(page), 'Language')
    await page.reload()
    const reloaded = await frameIn(page)
    await heading(reloaded, 'Language')
    await reloaded.click('.account-head .round')
    await heading(reloaded, 'Account')
    await reloaded.click('.account-head .round')
    await isHome(reloaded)
    await reloaded.click('button.avatar')
    await heading(reloaded, 'Account')
    await isHome(await openPlainPage({ ...query, lang: 'en' }))
  })

  test('keeps the step that waits for a mailed code', async () => {
    const frame = await openPlainPage({ clientId: tenant.clientId })
    await frame.click('.forgot .link-button')
    await frame.fill('#field-email', 'ada@example.com')
    await frame.click('form > .button')
    await untilSeen(frame, '#field-code')
    await page.reload()
    await untilSeen(await frameIn(page), '#field-code')
  })

  test('does not say that money is missing which came since', async () => {
    const customer = await rig.newTenant()
    const need = { amount: '14.98', reason: 'Order 1042' }
    const frame = await openPlainPage({ session: await customer.newSession(rig.shop), ...need })
    await frame.waitForSelector('text=You need $14.98 more for Order 1042')
    await customer.client.credit(customer.user.serviceUserId, 10)
    await frame.waitForSelector('text=You need $4.98 more for Order 1042')
    await page.reload()
    await (await frameIn(page)).waitForSelector('text=You need $4.98 more for Order 1042')
  })

  test('works without storage, and begins with the wallet', async () => {
    const customer = await rig.newTenant()
    await signInOnDevice(rig, page, customer)
    // As a browser that blocks the storage of frames of other sites.
    await page.addInitScript(() =>
      Object.defineProperty(window, 'sessionStorage', { get: () => structuredClone(window) }),
    )
    const frame = await openPlainPage({ session: await customer.newSession(rig.shop) })
    await isHome(frame)
    await frame.click('button.avatar')
    await heading(frame, 'Account')
    await page.reload()
    await isHome(await frameIn(page))
    await page.context().close()
  })
})

describe('views are entries of the history', () => {
  test('Back closes one after the other, Forward opens them again, a reload stays, and then Back leaves the shop', async () => {
    const customer = await rig.newTenant()
    for (let i = 1; i <= 12; i++) await customer.client.credit(customer.user.serviceUserId, i)
    await signInOnDevice(rig, page, customer)
    await page.goto(`${rig.strangerShop}/`)
    await page.goto(rig.shop)
    const frame = await embed(page, walletUrl(rig, { session: await customer.newSession(rig.shop) }))
    await isHome(frame)
    await frame.click('button.avatar')
    await heading(frame, 'Account')
    await frame.click('[data-part=language]')
    await heading(frame, 'Language')
    await traverse(-1)
    await heading(frame, 'Account')
    await until(frame, () => document.activeElement?.matches('[data-part=language]'))
    await traverse(1)
    await heading(frame, 'Language')
    await reload(frame)
    await heading(frame, 'Language')
    await traverse(-2)
    await isHome(frame)
    await until(frame, () => document.activeElement?.id === 'open-account' || document.activeElement === document.body)

    // The button in the page takes the same way as the gesture: it leaves no entry behind.
    await frame.click('#all-activity')
    await frame.click('#entry-2')
    await heading(frame, 'Details')
    await reload(frame)
    await heading(frame, 'Details')
    // After a reload the entry is read first.
    await until(frame, () => document.querySelector('.detail')?.textContent?.includes('+$2.00'))
    await traverse(-1)
    await untilSeen(frame, '#entry-2')
    await frame.click('.account-head .round')
    await isHome(frame)
    await frame.click('#entry-12')
    await heading(frame, 'Details')
    await frame.click('.account-head .round')
    await isHome(frame)
    await until(frame, () => document.activeElement?.id === 'entry-12')

    await page.goBack()
    expect(page.url()).toBe(`${rig.strangerShop}/`)
  })

  test('a renewed session is in every entry that the user returns to, and after signing out none has one', async () => {
    const customer = await rig.newTenant()
    await signInOnDevice(rig, page, customer)
    const frame = await openPlainPage({ session: await customer.newSession(rig.shop) })
    await isHome(frame)
    await frame.click('button.avatar')
    await heading(frame, 'Account')
    const newer = await customer.newSession(rig.shop)
    await renew(rig, page, newer)
    const isKept = (token: string | null) =>
      until(frame, (token) => JSON.stringify(history.state).includes(`"session":${token}`), JSON.stringify(token))
    await isKept(newer)
    await traverse(-1)
    await isHome(frame)
    await isKept(newer)
    await traverse(1)
    await heading(frame, 'Account')
    await frame.click('text="Sign out"')
    await untilSeen(frame, '#field-password')
    await traverse(-1)
    await isKept(null)
    await untilSeen(frame, '#field-password')
    expect(await frame.evaluate(() => history.state as unknown)).toEqual({ session: null })
  })

  test('a browser that takes no more entries still opens and closes views', async () => {
    const customer = await rig.newTenant()
    await signInOnDevice(rig, page, customer)
    const frame = await openPlainPage({ session: await customer.newSession(rig.shop) })
    await isHome(frame)
    await frame.evaluate(() => {
      // A method that throws, as Safari's do after a hundred changes in half a minute.
      for (const name of ['pushState', 'replaceState'])
        Object.defineProperty(history, name, { value: () => structuredClone(window) })
    })
    await frame.click('button.avatar')
    await heading(frame, 'Account')
    await frame.click('[data-part=language]')
    await heading(frame, 'Language')
    await frame.click('.account-head .round')
    await heading(frame, 'Account')
    await frame.click('.account-head .round')
    await isHome(frame)
  })

  test('after the page around it has added an entry, the button in the frame leaves that entry alone', async () => {
    const customer = await rig.newTenant()
    await signInOnDevice(rig, page, customer)
    const frame = await openPlainPage({ session: await customer.newSession(rig.shop) })
    await isHome(frame)
    await frame.click('button.avatar')
    await heading(frame, 'Account')
    await page.evaluate(() => history.pushState({ cart: 1 }, ''))
    await frame.click('.account-head .round')
    await isHome(frame)
    expect(await page.evaluate(() => history.state as unknown)).toEqual({ cart: 1 })
  })
})
