/** The wallet page inside a shop of another origin: what the user sees, and which messages the shop receives. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import type { Frame, Page } from '@playwright/test'
import { freezeWallet } from '../../src/actions/money/manage-wallets.ts'
import { postForService } from '../../src/actions/money/post.ts'
import { hashPassword } from '../../src/actions/people/passwords.ts'
import { languages } from '../../src/languages/languages.ts'
import { transact } from '../../src/store/connection/database.ts'
import { updateUserPassword } from '../../src/store/people/users.ts'
import { eventually } from '../eventually.ts'
import { operator } from '../service.ts'
import { until, untilSeen } from '../until.ts'
import { firstOrAll, wantsAll } from '../wants-all.ts'
import { atTheBank, payByCard } from './card-payments.ts'
import { embed, waitForMessage, messagesReceived, startRig, type Rig } from './rig.ts'
import {
  accountScript,
  balanceIn,
  focusIs,
  openShop,
  openSignIn,
  renew,
  signInOnDevice,
  tabTo,
  untilFitted,
  untilReady,
  waitForBalance,
  walletUrl,
} from './shop.ts'

setDefaultTimeout(240_000)

let rig: Rig
beforeAll(async () => {
  rig = await startRig({ CARD_PROCESSOR: 'sandbox' })
  rig.service.sandbox!.setOrigin(rig.base)
})
afterAll(() => rig.stop())

test('the shop receives SERVICE_WALLET_LOADED once, from the service', async () => {
  const { page } = await openShop(rig, await rig.newTenant())
  expect(await waitForMessage(page, 'SERVICE_WALLET_LOADED')).toEqual({ type: 'SERVICE_WALLET_LOADED', version: 1 })
  const received = await page.evaluate(() => window.received)
  expect(received.filter(({ data }) => data.type === 'SERVICE_WALLET_LOADED')).toHaveLength(1)
  expect(new Set(received.map(({ origin }) => origin))).toEqual(new Set([rig.base]))
  await rig.closePage(page)
})

test('a debit by the backend shows without a reload, is announced to screen readers, and notifies the shop', async () => {
  const tenant = await rig.newTenant()
  await tenant.client.credit(tenant.user.serviceUserId, 100)
  const { page, frame } = await openShop(rig, tenant)
  expect(await balanceIn(frame)).toBe('$100.00')
  expect(await frame.textContent('.hero [role=status]')).toBe('')
  await tenant.client.debit(tenant.user.serviceUserId, 12.5)
  await waitForBalance(frame, '$87.50')
  expect(await frame.textContent('.entry .amount')).toBe('\u2212$12.50')
  expect(await waitForMessage(page, 'SERVICE_WALLET_UPDATED')).toEqual({ type: 'SERVICE_WALLET_UPDATED', version: 1 })
  await frame.waitForSelector('.hero [role=status] >> text="Available balance: $87.50"', { state: 'attached' })
  await rig.closePage(page)
})

test('a freeze shows in the open wallet at once', async () => {
  const tenant = await rig.newTenant()
  const { page, frame } = await openShop(rig, tenant)
  await freezeWallet(rig.service, operator, tenant.user.userId, 'A question')
  await frame.waitForSelector('text=Your wallet is frozen')
  expect(await frame.$('.hero-action')).toBeNull()
  await waitForMessage(page, 'SERVICE_WALLET_UPDATED')
  await rig.closePage(page)
})

/** The position and size of an element, in whole pixels. */
const boxOf = (frame: Frame, selector: string) =>
  frame.evaluate((selector) => {
    const { left, top, width, height } = document.querySelector(selector)!.getBoundingClientRect()
    return [left, top, width, height].map(Math.round)
  }, selector)

/** A text may be wider than its placeholder, so the widths of the button and of the heading are not compared. */
const still = (boxes: number[][]) =>
  boxes.map(([top, width, height], i) => (i < 3 ? [top, width, height] : [top, height]))

test('nothing moves when the wallet replaces its placeholders', async () => {
  // A name short enough to share a line with any time.
  const tenant = await rig.newTenant({ name: 'Kino' })
  await tenant.client.credit(tenant.user.serviceUserId, 100)
  const page = await rig.openPage()
  const devices = [
    [360, false],
    [1280, false],
    [360, true],
    [1280, true],
  ] as const
  // By default one width on each device.
  for (const [width, isDevice] of wantsAll ? devices : [devices[0], devices[3]]) {
    if (isDevice) await signInOnDevice(rig, page, tenant)
    const gate = Promise.withResolvers<undefined>()
    rig.trouble.answer = ({ pathname }) => (pathname === '/api/widget/wallet' ? gate.promise : undefined)
    await page.setViewportSize({ width, height: 800 })
    await page.goto(rig.shop)
    const frame = await embed(page, walletUrl(rig, { session: await tenant.newSession() }))
    const parts = ['.top', '.avatar', '.hero', '.hero-action', '.activity h2', '.day h3', '.entry .entry-text']
    const measure = async () => await Promise.all(parts.map(async (part) => (await boxOf(frame, part)).slice(1)))
    await untilSeen(frame, '.hero .bone')
    // With its separate style sheet and the scripts.
    await frame.waitForLoadState('load')
    const before = await measure()
    gate.resolve(undefined)
    await untilSeen(frame, '.hero-balance .money')
    const after = await measure()
    expect(still(after)).toEqual(still(before))
    expect(await frame.locator('.everything').count()).toBe(isDevice ? 0 : 1)
  }
  rig.trouble.answer = undefined
  await rig.closePage(page)
})

test('the largest possible balance fits on one line of its card, and wallet and account have one width, or one centre where the wallet has two columns', async () => {
  const tenant = await rig.newTenant()
  await postForService(rig.service, {
    walletId: tenant.user.userId,
    counterAccount: 'bonus',
    amountMinor: 999_999_999_999_999n,
    referenceType: 'BONUS',
    referenceId: tenant.user.userId,
    description: null,
  })
  const { page, frame } = await openShop(rig, tenant)
  const resize = async (width: number) => {
    await page.setViewportSize({ width, height: 800 })
    await until(frame, (width) => innerWidth === width, width)
  }
  for (const width of [360, 1280]) {
    await resize(width)
    const [left = 0, , wide = 0, high = 0] = await boxOf(frame, '.hero-balance .money')
    const [cardLeft = 0, , cardWide = 0] = await boxOf(frame, '.hero')
    expect({ width, isInside: left >= cardLeft && left + wide <= cardLeft + cardWide, isOneLine: high < 80 }).toEqual({
      width,
      isInside: true,
      isOneLine: true,
    })
  }
  const [columnsLeft = 0, , columnsWide = 0] = await boxOf(frame, '.columns')
  await resize(900)
  const [left, , wide] = await boxOf(frame, '.activity')
  await frame.click('button.avatar')
  await untilSeen(frame, '.account .card')
  const [accountLeft, , accountWide] = await boxOf(frame, '.account')
  expect([accountLeft, accountWide]).toEqual([left, wide])
  await resize(1280)
  const [wideLeft = 0, , wideWide = 0] = await boxOf(frame, '.account')
  expect(wideLeft + wideWide / 2).toBe(columnsLeft + columnsWide / 2)
  expect(wideWide).toBeLessThan(columnsWide)
  await rig.closePage(page)
})

test('with forced colours nothing is drawn across the balance', async () => {
  const { page, frame } = await openShop(rig, await rig.newTenant())
  await page.emulateMedia({ forcedColors: 'active' })
  const rings = () => frame.evaluate(() => getComputedStyle(document.querySelector('.hero')!, '::before').display)
  // A frame of another origin learns it later than the page around it.
  await until(frame, () => matchMedia('(forced-colors: active)').matches)
  expect(await rings()).toBe('none')
  await page.emulateMedia({ forcedColors: null })
  await until(frame, () => matchMedia('(forced-colors: none)').matches)
  expect(await rings()).not.toBe('none')
  await rig.closePage(page)
})

test('without a connection the wallet offers no top-up', async () => {
  const { page, frame } = await openShop(rig, await rig.newTenant())
  expect(await frame.isEnabled('button.hero-action')).toBeTrue()
  await page.context().setOffline(true)
  await untilSeen(frame, '.hero-action:disabled')
  await page.context().setOffline(false)
  await untilSeen(frame, '.hero-action:enabled')
  await rig.closePage(page)
})

test('a wallet that is opened for a purchase shows the missing amount until it is there', async () => {
  const tenant = await rig.newTenant()
  const page = await rig.openPage()
  await page.goto(rig.shop)
  const query = { session: await tenant.newSession(rig.shop), amount: '14.98', reason: 'Order 1042' }
  const frame = await embed(page, walletUrl(rig, query))
  await frame.getByText('You need $14.98 more for Order 1042.').waitFor()
  await frame.getByRole('button', { name: 'Add $14.98' }).click()
  const asked = await waitForMessage(page, 'SERVICE_OPEN_TOPUP')
  if (asked.type !== 'SERVICE_OPEN_TOPUP') throw new Error('unreachable')
  expect(Object.fromEntries(new URL(asked.url).searchParams)).toMatchObject({ amount: '14.98', reason: 'Order 1042' })
  await tenant.client.credit(tenant.user.serviceUserId, 4.97)
  await frame.getByText('You need $10.01 more for Order 1042.').waitFor()
  await tenant.client.credit(tenant.user.serviceUserId, 10.01)
  await frame.getByRole('button', { name: 'Add money' }).waitFor()
  expect(await frame.getByText('You need').count()).toBe(0)
  // A reload is a new visit: the purchase may have been paid since.
  expect(await frame.evaluate(() => location.search)).not.toContain('amount')
  await rig.closePage(page)
})

async function openOther(lang: string) {
  const tenant = await rig.newTenant()
  const page = await rig.openPage()
  await page.goto(`${rig.base}/widget/topup?${new URLSearchParams({ session: await tenant.newSession(), lang })}`)
  await page.click('.preset.other')
  return page
}

async function amountOf(page: Page, typed: string): Promise<unknown> {
  const asked = page.waitForRequest((request) => request.url().includes('/topup/create-intent'))
  await page.fill('#field-other', typed)
  await page.click('form > .button')
  return ((await asked).postDataJSON() as { amount: unknown }).amount
}

describe('an amount typed on the top-up page', () => {
  const byHand: Readonly<Record<string, readonly [typed: string, amount: number]>> = {
    en: ['1,000', 1000],
    de: ['1.000,50', 1000.5],
    ar: ['١٬٠٠٠٫٥٠', 1000.5],
  }

  // The others have their own test in src/widget/client/topup/offered-amounts.test.ts.
  test.each(firstOrAll([...new Set(['ar', 'de', ...languages.keys()])], 2))(
    'follows the separators of the language %s',
    async (lang) => {
      const page = await openOther(lang)
      const shown = await page.locator('.preset .money').first().innerText()
      const [typed, amount] = byHand[lang] ?? [shown, 10]
      expect(await amountOf(page, typed)).toBe(amount)
      await rig.closePage(page)
    },
  )

  test('is refused in words when it is in another currency or has two meanings, and the field keeps the focus', async () => {
    const page = await openOther('en')
    for (const [typed, problem] of [
      ['20 €', 'This wallet is in US dollars. Enter the amount in US dollars.'],
      ['1.000', 'This can be read in two ways. For $1,000.00, enter 1000.'],
    ] as const) {
      await page.fill('#field-other', typed)
      await page.click('form > .button')
      await page.getByText(problem).waitFor()
      expect(await page.evaluate(() => document.activeElement?.id)).toBe('field-other')
    }
    await rig.closePage(page)
  })
})

test('the token leaves the address, and nothing is stored or requested from another host', async () => {
  const page = await rig.openPage()
  const hosts = new Set<string>()
  page.on('request', (request) => hosts.add(new URL(request.url()).origin))
  await page.goto(rig.shop)
  const tenant = await rig.newTenant()
  const frame = await embed(page, walletUrl(rig, { session: await tenant.newSession() }))
  await untilSeen(frame, '.hero-balance .visually-hidden')
  // The clientId stays, so that a reload has the same frame rule; it is no secret.
  expect(await frame.evaluate(() => location.search)).toBe(`?clientId=${tenant.clientId}`)
  expect([...hosts].sort()).toEqual([rig.base, rig.shop].sort())
  expect(await page.context().cookies()).toEqual([])
  expect(await page.context().storageState()).toEqual({ cookies: [], origins: [] })
  await rig.closePage(page)
})

test('the wallet works in a browser that gives a foreign frame no storage', async () => {
  const page = await rig.openPage()
  await page.addInitScript(() => {
    const refused = {
      get: () => {
        throw new DOMException('The request was denied.', 'SecurityError')
      },
    }
    for (const name of ['localStorage', 'sessionStorage', 'indexedDB', 'caches'])
      Object.defineProperty(window, name, refused)
    Object.defineProperty(Document.prototype, 'cookie', refused)
  })
  await page.goto(rig.shop)
  const frame = await embed(page, walletUrl(rig, { session: await (await rig.newTenant()).newSession() }))
  await untilSeen(frame, '.hero-balance .visually-hidden')
  await page.context().close()
})

test('two widgets on one page show two wallets, and each changes alone', async () => {
  const [one, two] = [await rig.newTenant(), await rig.newTenant()]
  await one.client.credit(one.user.serviceUserId, 1)
  await two.client.credit(two.user.serviceUserId, 2)
  const { page, frame } = await openShop(rig, one)
  const other = await embed(page, walletUrl(rig, { session: await two.newSession() }))
  await untilSeen(other, '.hero-balance .visually-hidden')
  await two.client.credit(two.user.serviceUserId, 5)
  await waitForBalance(other, '$7.00')
  expect(await balanceIn(frame)).toBe('$1.00')
  await rig.closePage(page)
})

/** No further height was reported, and the frame is as high as its content. */
const isAtRest = (before: number[], [reports, content, given]: number[]) => before[0] === reports && content === given

test('the wallet’s frame follows the height of its content, and both come to rest', async () => {
  const tenant = await rig.newTenant()
  const { page, frame } = await openShop(rig, tenant)
  await tenant.client.credit(tenant.user.serviceUserId, 1)
  await untilSeen(frame, '.entry')
  for (const width of [1280, 360, 700]) {
    await page.setViewportSize({ width, height: 600 })
    await until(frame, (width) => innerWidth === width, width)
  }
  /** The number of reported heights, the height of the content, and the height of the frame. */
  const measure = async () => [
    (await messagesReceived(page)).filter(({ type }) => type === 'SERVICE_RESIZE').length,
    await frame.evaluate(() => Math.ceil(document.getElementById('root')!.getBoundingClientRect().height)),
    await page.evaluate(() => document.querySelector('iframe')!.clientHeight),
  ]
  let [before, after] = [[-1], await measure()]
  for (const endsAt = Date.now() + 60_000; Date.now() < endsAt && !isAtRest(before, after); after = await measure()) {
    before = after
    await Bun.sleep(1_500)
  }
  expect(isAtRest(before, after)).toBeTrue()
  await rig.closePage(page)
})

const narrow = firstOrAll([...new Set(['de', 'ar', ...languages.keys()])], 2)

test(`the wallet fits into 320 pixels in the languages ${narrow.join(', ')}, which is also 200 % zoom on 640`, async () => {
  const tenant = await rig.newTenant()
  await tenant.client.credit(tenant.user.serviceUserId, 1_234_567.89)
  const page = await rig.openPage({ viewport: { width: 320, height: 640 } })
  await signInOnDevice(rig, page, tenant)
  for (const lang of narrow) {
    // To go to the same address again is a reload, which keeps the open view.
    await page.goto('about:blank')
    await page.goto(rig.shop)
    const frame = await embed(page, walletUrl(rig, { session: await tenant.newSession(), lang }))
    await untilSeen(frame, '.hero-balance .visually-hidden')
    const isTooWide = () => frame.evaluate(() => document.documentElement.scrollWidth > innerWidth)
    expect({ lang, isTooWide: await isTooWide() }).toEqual({ lang, isTooWide: false })
    await frame.click('button.avatar')
    await untilSeen(frame, '[data-part=email] .muted')
    expect({ lang, isTooWide: await isTooWide() }).toEqual({ lang, isTooWide: false })
    await frame.click('[data-part=signedIn]')
    await untilSeen(frame, '.account .browsers')
    expect({ lang, isTooWide: await isTooWide() }).toEqual({ lang, isTooWide: false })
  }
  await rig.closePage(page)
})

test('the keyboard alone leads from the sign-in to a disputed payment, and back to where it came from', async () => {
  const tenant = await rig.newTenant()
  const payment = await payByCard(rig, tenant, 20)
  await atTheBank(rig, payment, 'dispute')
  await tenant.client.credit(tenant.user.serviceUserId, 50)
  const { service } = rig
  const email = `${tenant.user.userId}@example.com`
  const password = 'seven tired llamas'
  const passwordHash = await hashPassword(service, password)
  await transact(service.db, (tx) => updateUserPassword(tx, email, passwordHash))
  const { page, frame } = await openSignIn(rig, tenant)
  const press = async (...keys: string[]) => {
    for (const key of keys) await page.keyboard.press(key)
  }
  await tabTo(page, frame, '#field-email')
  await page.keyboard.type(email)
  await tabTo(page, frame, '#field-password')
  await page.keyboard.type(password)
  await press('Enter')
  await waitForMessage(page, 'SERVICE_AUTH_SUCCESS')
  await renew(rig, page, await tenant.newSession(rig.shop))
  await untilReady(frame, '.hero-balance .visually-hidden')
  await until(frame, () => document.querySelectorAll('.day .entry').length === 3)
  await tabTo(page, frame, 'button.avatar')
  // Past the amount and two entries, to the disputed one.
  await press('Tab', 'Tab', 'Tab')
  await focusIs(frame, 'Card payment disputed')
  await press('Tab', 'Tab', 'Enter')
  await focusIs(frame, 'Activity')
  await tabTo(page, frame, '[name=search]')
  await page.keyboard.type('disputed')
  await until(frame, () => document.querySelectorAll('.browse .entry').length === 1)
  // Past the directions, the apps, the statements and the papers of what was found.
  await tabTo(page, frame, '.browse .entry-open')
  await focusIs(frame, 'Card payment disputed')
  await press('Enter')
  await focusIs(frame, 'Details')
  const detail = await frame.textContent('.detail')
  expect(detail).toContain('Disputed: your bank is reviewing it')
  expect(detail).toMatch(/\d{4} at \d{1,2}:\d\d:\d\d\s[AP]M UTC|\d{1,2}:\d\d:\d\d\s[AP]M GMT/)
  expect(detail).toMatch(/[0-9A-Z]{4}-[0-9A-Z]{4}-[0-9A-Z]{4}/)
  await press('Shift+Tab', 'Enter')
  await focusIs(frame, 'Card payment disputed')
  expect(await frame.inputValue('[name=search]')).toBe('disputed')
  await tabTo(page, frame, '.account-head .round', 'Shift+Tab')
  await press('Enter')
  await focusIs(frame, 'All activity')
  await rig.closePage(page)
})

test('the button loads older entries, each once, and new ones appear above them at once', async () => {
  const tenant = await rig.newTenant()
  const credit = (i: number) => tenant.client.credit(tenant.user.serviceUserId, i)
  for (let i = 1; i <= 35; i++) await credit(i)
  const { page, frame } = await openShop(rig, tenant)
  await until(frame, () => document.querySelectorAll('.day .entry').length === 10)
  await frame.click('#all-activity')
  await until(frame, () => document.querySelectorAll('.browse .entry').length === 30)
  await untilFitted(frame)
  await frame.click('text=Show older')
  await until(frame, () => document.querySelectorAll('.browse .entry').length === 35)
  expect(await frame.locator('text=Show older').count()).toBe(0)
  const amounts = await frame.locator('.browse .amount').allTextContents()
  expect(amounts).toEqual(Array.from({ length: 35 }, (_, i) => `+$${35 - i}.00`))

  // More than a page arrives at once. The list never gets shorter, which would lose the scroll position and the focus.
  await frame.evaluate(() => {
    const seen = [document.querySelectorAll('.browse .entry').length]
    Object.assign(window, { seen })
    const note = () => seen.push(document.querySelectorAll('.browse .entry').length)
    new MutationObserver(note).observe(document.body, { childList: true, subtree: true })
    document.getElementById('entry-3')!.focus()
  })
  await Promise.all(Array.from({ length: 31 }, () => credit(1)))
  await until(frame, () => document.querySelectorAll('.browse .entry').length === 66)
  const seen = await frame.evaluate(() => (window as unknown as { seen: number[] }).seen)
  expect(seen).toEqual(seen.toSorted((a, b) => a - b))
  expect(await frame.evaluate(() => document.activeElement?.id)).toBe('entry-3')
  const ids = await frame.locator('.browse .entry-open').evaluateAll((all) => all.map(({ id }) => id))
  expect(ids).toEqual(Array.from({ length: 66 }, (_, i) => `entry-${66 - i}`))
  await frame.click('[name=direction][value=out]')
  await frame.waitForSelector('text=Nothing found')
  await tenant.client.debit(tenant.user.serviceUserId, 7.5)
  await until(frame, () => document.querySelectorAll('.browse .entry').length === 1)
  await rig.closePage(page)
})

test('the wallet opens with seven requests; once the user points at it, a view opens without the network', async () => {
  // A new window, whose pointer no earlier test has left over the frame.
  const page = await rig.openPage({ viewport: { width: 800, height: 900 } })
  const tenant = await rig.newTenant()
  await signInOnDevice(rig, page, tenant)
  await page.goto(rig.shop)
  const paths: string[] = []
  page.on('request', (request) => {
    const { origin, pathname } = new URL(request.url())
    if (origin === rig.base) paths.push(pathname.replace(/\.[0-9a-f]{12}/, ''))
  })
  const isLoaded = page.waitForResponse(accountScript)
  const areWordsLoaded = page.waitForResponse(/\/assets\/account\.en\./)
  const frame = await embed(page, walletUrl(rig, { session: await tenant.newSession() }))
  await untilSeen(frame, '.hero-balance .visually-hidden')
  // The driver may report a request later than the page shows its answer.
  await eventually(
    () => paths.toSorted(),
    [
      '/api/widget/events',
      '/api/widget/wallet',
      '/assets/shared.js',
      '/assets/shared.js',
      '/assets/wallet-page.js',
      '/assets/widget.css',
      '/widget/wallet',
    ],
  )
  await frame.hover('.hero')
  const [script, words] = await Promise.all([isLoaded, areWordsLoaded])
  await words.finished()
  // With every file that it imports.
  await frame.evaluate(`import(${JSON.stringify(script.url())}).then(() => true)`)
  await page.context().setOffline(true)
  await untilSeen(frame, '.connection .warn')
  await frame.click('button.avatar')
  await frame.waitForSelector('text=Apps using my wallet')
  await page.context().setOffline(false)
  await rig.closePage(page)
})

test('a view that fails to load says so, keeps the way back, and loads on the next attempt', async () => {
  const page = await rig.openPage()
  const tenant = await rig.newTenant()
  await signInOnDevice(rig, page, tenant)
  await page.route(accountScript, (route) => route.abort())
  await page.goto(rig.shop)
  const frame = await embed(page, walletUrl(rig, { session: await tenant.newSession() }))
  await frame.click('button.avatar')
  await frame.waitForSelector('[role=alert] >> text=Something went wrong')
  await until(frame, () => document.activeElement?.textContent === 'Account')
  await frame.click('.round')
  await frame.click('button.avatar')
  await frame.waitForSelector('button >> text=Try again')
  await page.unrouteAll()
  await frame.click('button >> text=Try again')
  await frame.waitForSelector('text=Apps using my wallet')
  await rig.closePage(page)
})

test('a page older than the service reloads when one of its views is gone, and its user stays signed in', async () => {
  const page = await rig.openPage()
  const tenant = await rig.newTenant()
  await signInOnDevice(rig, page, tenant)
  const loads = { page: 0 }
  page.on('request', (request) => void (request.url().startsWith(`${rig.base}/widget/wallet`) && loads.page++))
  await page.route(accountScript, (route) =>
    loads.page > 1 ? route.continue() : route.fulfill({ status: 404, body: 'gone' }),
  )
  await page.goto(rig.shop)
  const frame = await embed(page, walletUrl(rig, { session: await tenant.newSession() }))
  await frame.click('button.avatar')
  await frame.click('button >> text=Try again')
  // The view is an entry of the history, so the reload opens it again.
  await frame.waitForSelector('text=Apps using my wallet')
  expect(loads.page).toBe(2)
  await page.unrouteAll()
  await rig.closePage(page)
})
