/** The wallet page inside a shop of another origin: what the user sees happen, and what the shop hears. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import type { Frame, Page } from '@playwright/test'
import { createUser } from '../../src/actions/create-user.ts'
import { freezeWallet } from '../../src/actions/manage-wallets.ts'
import { mailedCode, newEmail } from '../page.ts'
import { linkUser, newApp, operator } from '../service.ts'
import { embed, hear, heardBy, startRig, type Rig } from './rig.ts'

setDefaultTimeout(120_000)

let rig: Rig
beforeAll(async () => {
  rig = await startRig({ CARD_PROCESSOR: 'sandbox' })
})
afterAll(() => rig.stop())

type Tenant = Awaited<ReturnType<Rig['newTenant']>>

const walletUrl = (query: Record<string, string>) => `${rig.base}/widget/wallet?${new URLSearchParams(query)}`

/** The shop with the tenant's wallet open in it. */
async function openShop(tenant: Tenant, options?: Parameters<Rig['openPage']>[0]) {
  const page = await rig.openPage(options)
  await page.goto(rig.shop)
  const frame = await embed(page, walletUrl({ session: await tenant.newSession(rig.shop) }))
  await frame.waitForSelector('.hero-balance')
  return { page, frame }
}

async function openSignIn({ clientId }: Tenant) {
  const page = await rig.openPage()
  await page.goto(rig.shop)
  const frame = await embed(page, walletUrl({ clientId }))
  await hear(page, 'SERVICE_AUTH_REQUIRED')
  return { page, frame }
}

const balanceIn = (frame: Frame) => frame.textContent('.hero-balance .visually-hidden')
const close = (page: Page) => page.context().close()

async function waitForBalance(frame: Frame, text: string): Promise<void> {
  await frame.waitForFunction(
    (text) => document.querySelector('.hero-balance .visually-hidden')?.textContent === text,
    text,
  )
}

describe('with a session', () => {
  test('the shop hears SERVICE_WALLET_LOADED once, from the service', async () => {
    const { page } = await openShop(await rig.newTenant())
    expect(await hear(page, 'SERVICE_WALLET_LOADED')).toEqual({ type: 'SERVICE_WALLET_LOADED', version: 1 })
    const heard = await page.evaluate(() => window.heard)
    expect(heard.filter(({ data }) => data.type === 'SERVICE_WALLET_LOADED')).toHaveLength(1)
    expect(new Set(heard.map(({ origin }) => origin))).toEqual(new Set([rig.base]))
    await close(page)
  })

  test('a debit by the backend is seen within two seconds, said aloud, and told to the shop', async () => {
    const tenant = await rig.newTenant()
    await tenant.client.credit(tenant.user.serviceUserId, 100)
    const { page, frame } = await openShop(tenant)
    expect(await balanceIn(frame)).toBe('$100.00')
    expect(await frame.textContent('.hero [role=status]')).toBe('')
    const startedAt = performance.now()
    await tenant.client.debit(tenant.user.serviceUserId, 12.5)
    await waitForBalance(frame, '$87.50')
    expect(performance.now() - startedAt).toBeLessThan(2000)
    expect(await frame.textContent('.entry .amount')).toBe('\u2212$12.50')
    expect(await hear(page, 'SERVICE_WALLET_UPDATED')).toEqual({ type: 'SERVICE_WALLET_UPDATED', version: 1 })
    expect(await frame.textContent('.hero [role=status]')).toBe('Your balance is now $87.50')
    await close(page)
  })

  test('a freeze is seen at once', async () => {
    const tenant = await rig.newTenant()
    const { page, frame } = await openShop(tenant)
    await freezeWallet(rig.service, operator, tenant.user.userId, 'A question')
    await frame.waitForSelector('text=Your wallet is on hold')
    expect(await frame.$('.hero-action')).toBeNull()
    await hear(page, 'SERVICE_WALLET_UPDATED')
    await close(page)
  })

  test('the token leaves the address, and nothing is stored or asked of anybody else', async () => {
    const page = await rig.openPage()
    const hosts = new Set<string>()
    page.on('request', (request) => hosts.add(new URL(request.url()).origin))
    await page.goto(rig.shop)
    const frame = await embed(page, walletUrl({ session: await (await rig.newTenant()).newSession() }))
    await frame.waitForSelector('.hero-balance')
    expect(await frame.evaluate(() => location.search)).toBe('')
    expect([...hosts].sort()).toEqual([rig.base, rig.shop].sort())
    expect(await page.context().cookies()).toEqual([])
    expect(await page.context().storageState()).toEqual({ cookies: [], origins: [] })
    await close(page)
  })

  test('it works where the browser gives a foreign frame no storage at all', async () => {
    const page = await rig.openPage()
    await page.addInitScript(() => {
      const refuse = () => {
        throw new DOMException('The request was denied.', 'SecurityError')
      }
      for (const name of ['localStorage', 'sessionStorage', 'indexedDB', 'caches'])
        Object.defineProperty(window, name, { get: refuse })
      Object.defineProperty(Document.prototype, 'cookie', { get: refuse, set: refuse })
    })
    await page.goto(rig.shop)
    const frame = await embed(page, walletUrl({ session: await (await rig.newTenant()).newSession() }))
    await frame.waitForSelector('.hero-balance')
    await close(page)
  })

  test('two widgets on one page show two wallets, and each changes alone', async () => {
    const [one, two] = [await rig.newTenant(), await rig.newTenant()]
    await one.client.credit(one.user.serviceUserId, 1)
    await two.client.credit(two.user.serviceUserId, 2)
    const { page, frame } = await openShop(one)
    const other = await embed(page, walletUrl({ session: await two.newSession() }))
    await other.waitForSelector('.hero-balance')
    await two.client.credit(two.user.serviceUserId, 5)
    await waitForBalance(other, '$7.00')
    expect(await balanceIn(frame)).toBe('$1.00')
    await close(page)
  })

  test('the frame follows the content, and both come to rest', async () => {
    const tenant = await rig.newTenant()
    const { page, frame } = await openShop(tenant)
    await tenant.client.credit(tenant.user.serviceUserId, 1)
    await frame.waitForSelector('.entry')
    for (const width of [1280, 360, 700]) await page.setViewportSize({ width, height: 600 })
    await page.waitForTimeout(1500)
    const before = (await heardBy(page)).filter(({ type }) => type === 'SERVICE_RESIZE').length
    const content = await frame.evaluate(() =>
      Math.ceil(document.getElementById('root')!.getBoundingClientRect().height),
    )
    const given = await page.evaluate(() => document.querySelector('iframe')!.clientHeight)
    expect(given).toBe(content)
    await page.waitForTimeout(1500)
    expect((await heardBy(page)).filter(({ type }) => type === 'SERVICE_RESIZE')).toHaveLength(before)
    await close(page)
  })

  test('it fits into 320 pixels in every language, which is also 200 % zoom on 640', async () => {
    const tenant = await rig.newTenant()
    await tenant.client.credit(tenant.user.serviceUserId, 1_234_567.89)
    for (const lang of ['en', 'de', 'es', 'fr', 'pt', 'ar', 'ja']) {
      const page = await rig.openPage({ viewport: { width: 320, height: 640 } })
      await page.goto(rig.shop)
      const frame = await embed(page, walletUrl({ session: await tenant.newSession(), lang }))
      await frame.waitForSelector('.hero-balance')
      const isTooWide = () => frame.evaluate(() => document.documentElement.scrollWidth > innerWidth)
      expect({ lang, isTooWide: await isTooWide() }).toEqual({ lang, isTooWide: false })
      await frame.click('.avatar')
      await frame.waitForSelector('.account .entry')
      expect({ lang, isTooWide: await isTooWide() }).toEqual({ lang, isTooWide: false })
      await close(page)
    }
  })

  test('the keyboard reaches everything, and the exact time shows on focus', async () => {
    const tenant = await rig.newTenant()
    await tenant.client.credit(tenant.user.serviceUserId, 1)
    const { page, frame } = await openShop(tenant)
    await frame.focus('.avatar')
    await page.keyboard.press('Tab')
    expect(await frame.evaluate(() => document.activeElement?.className)).toContain('hero-action')
    await page.keyboard.press('Tab')
    const shown = await frame.evaluate(() => getComputedStyle(document.activeElement!, '::after').content)
    expect(shown).toMatch(/\d{4} at \d{1,2}:\d\d:\d\d/)
    await frame.focus('.avatar')
    await page.keyboard.press('Enter')
    await frame.waitForSelector('.account')
    expect(await frame.evaluate(() => document.activeElement?.textContent)).toBe('Account')
    await close(page)
  })
})

describe('the session ends', () => {
  test('45 seconds before, the shop is asked, and its new session carries on without a reload', async () => {
    const tenant = await rig.newTenant()
    await tenant.client.credit(tenant.user.serviceUserId, 10)
    const page = await rig.openPage()
    await page.goto(rig.shop)
    const session = await tenant.newSession(rig.shop)
    rig.clock.lateMs = 5 * 60_000 - 48_000
    const frame = await embed(page, walletUrl({ session }))
    await frame.evaluate(() => void (document.body.dataset['mark'] = 'same document'))
    const asked = await hear(page, 'SERVICE_SESSION_EXPIRING')
    expect(asked).toEqual({ type: 'SERVICE_SESSION_EXPIRING', version: 1, expiresAt: expect.any(String) })
    await renew(page, await tenant.newSession(rig.shop))
    // Long after the first session's end the wallet is still live, with the second.
    await Bun.sleep(500)
    rig.clock.lateMs += 120_000
    await tenant.client.debit(tenant.user.serviceUserId, 3)
    await waitForBalance(frame, '$7.00')
    expect(await frame.evaluate(() => document.body.dataset['mark'])).toBe('same document')
    expect((await heardBy(page)).map(({ type }) => type)).not.toContain('SERVICE_SESSION_EXPIRED')
    rig.clock.lateMs = 0
    await close(page)
  })

  test('an expired wallet hides the money, asks the shop, and opens again in place', async () => {
    const tenant = await rig.newTenant()
    const { page, frame } = await openShop(tenant)
    rig.clock.lateMs = 5 * 60_000 + 1000
    await frame.waitForSelector('text=Your session has ended')
    expect(await frame.textContent('#root')).not.toContain('$')
    expect(await hear(page, 'SERVICE_SESSION_EXPIRED')).toEqual({ type: 'SERVICE_SESSION_EXPIRED', version: 1 })
    await renew(page, await tenant.newSession(rig.shop))
    await frame.waitForSelector('.hero-balance')
    rig.clock.lateMs = 0
    await close(page)
  })

  test('a page that was expired from the start is framed, explains itself, and opens again', async () => {
    const tenant = await rig.newTenant()
    const page = await rig.openPage()
    await page.goto(rig.shop)
    const session = await tenant.newSession(rig.shop)
    rig.clock.lateMs = 6 * 60_000
    const frame = await embed(page, walletUrl({ session }))
    await hear(page, 'SERVICE_SESSION_EXPIRED')
    await renew(page, await tenant.newSession(rig.shop))
    await frame.waitForSelector('.hero-balance')
    await hear(page, 'SERVICE_WALLET_LOADED')
    rig.clock.lateMs = 0
    await close(page)
  })

  const renew = (page: Page, sessionToken: string) =>
    page.evaluate(
      ([sessionToken, origin]) =>
        document
          .querySelector('iframe')!
          .contentWindow!.postMessage({ type: 'SERVICE_SESSION', version: 1, sessionToken }, origin),
      [sessionToken, rig.base] as const,
    )
})

describe('the network goes', () => {
  test('the wallet says so, and catches up by itself when it is back', async () => {
    const tenant = await rig.newTenant()
    await tenant.client.credit(tenant.user.serviceUserId, 10)
    const { page, frame } = await openShop(tenant)
    await page.context().setOffline(true)
    await frame.waitForSelector('text=You are offline')
    await tenant.client.debit(tenant.user.serviceUserId, 4)
    await page.context().setOffline(false)
    await waitForBalance(frame, '$6.00')
    await frame.waitForSelector('text=You are back online')
    await hear(page, 'SERVICE_WALLET_UPDATED')
    await close(page)
  })

  test('a stream that breaks is opened again, without a word', async () => {
    const tenant = await rig.newTenant()
    const { page, frame } = await openShop(tenant)
    let streams = 0
    rig.trouble.answer = ({ pathname }) => {
      if (pathname === '/api/widget/events') streams++
      return pathname === '/api/widget/events' && streams < 3 ? new Response('', { status: 503 }) : undefined
    }
    await page.context().setOffline(true)
    await page.context().setOffline(false)
    await expect(waitUntil(() => streams >= 3)).resolves.toBeUndefined()
    await tenant.client.credit(tenant.user.serviceUserId, 4)
    await waitForBalance(frame, '$4.00')
    rig.trouble.answer = undefined
    await close(page)
  })
})

async function waitUntil(isSo: () => boolean): Promise<void> {
  for (let tries = 0; tries < 300; tries++) {
    if (isSo()) return
    await Bun.sleep(50)
  }
  throw new Error('It did not happen.')
}

describe('signing in', () => {
  const password = 'seven tired llamas'

  test('a newcomer signs up, confirms, and the shop gets an id it can verify', async () => {
    const tenant = await rig.newTenant()
    const { page, frame } = await openSignIn(tenant)
    const email = newEmail()
    await frame.click('text=Create account')
    await frame.fill('#field-firstName', 'Grace')
    await frame.fill('#field-lastName', 'Hopper')
    await frame.fill('#field-email', email)
    await frame.fill('#field-password', password)
    await page.keyboard.press('Enter')
    await frame.waitForSelector('#field-code')
    await frame.fill('#field-code', await mailedCode(email, rig.logged))
    await page.keyboard.press('Enter')
    const message = await hear(page, 'SERVICE_AUTH_SUCCESS')
    expect(message).toEqual({
      type: 'SERVICE_AUTH_SUCCESS',
      version: 1,
      serviceUserId: expect.stringMatching(/^su_/),
      linkCode: expect.any(String),
    })
    await frame.waitForSelector('text=Connecting your wallet')
    if (message.type !== 'SERVICE_AUTH_SUCCESS') throw new Error('unreachable')
    const { clientId, clientSecret } = tenant
    const verified = await tenant.client.post('/api/server/link/verify', {
      clientId,
      clientSecret,
      linkCode: message.linkCode,
    })
    expect(verified.body).toEqual({ serviceUserId: message.serviceUserId })
    await close(page)
  })

  test('a forgotten password is replaced by a mailed code', async () => {
    const tenant = await rig.newTenant()
    const email = newEmail()
    await createUser(rig.service, { email, password, firstName: 'Ada', lastName: 'L' })
    const { page, frame } = await openSignIn(tenant)
    await frame.fill('#field-email', email)
    await frame.fill('#field-password', 'not the right one')
    await page.keyboard.press('Enter')
    await frame.waitForSelector('text=The email and password do not match.')
    await frame.click('text=Forgot your password?')
    await frame.waitForSelector('text=Reset your password')
    await frame.fill('#field-email', email)
    await page.keyboard.press('Enter')
    await frame.waitForSelector('#field-code')
    await frame.fill('#field-code', await mailedCode(email, rig.logged))
    await frame.fill('#field-password', 'eight rested llamas')
    await page.keyboard.press('Enter')
    await hear(page, 'SERVICE_AUTH_SUCCESS')
    await close(page)
  })

  test('a password can be looked at, and password managers know every field', async () => {
    const { page, frame } = await openSignIn(await rig.newTenant())
    await frame.fill('#field-password', 'llama')
    await frame.click('.reveal')
    expect(await frame.getAttribute('#field-password', 'type')).toBe('text')
    expect(await frame.inputValue('#field-password')).toBe('llama')
    await frame.click('.reveal')
    expect(await frame.getAttribute('#field-password', 'type')).toBe('password')
    const hints = () =>
      frame.$$eval('input', (inputs) => inputs.map((input) => [input.name, input.getAttribute('autocomplete')]))
    expect(await hints()).toEqual([
      ['email', 'username'],
      ['password', 'current-password'],
    ])
    await frame.click('text=Create account')
    await frame.waitForSelector('#field-firstName')
    expect(await hints()).toEqual([
      ['firstName', 'given-name'],
      ['lastName', 'family-name'],
      ['email', 'username'],
      ['password', 'new-password'],
    ])
    await close(page)
  })
})

describe('leaving', () => {
  test('log out and switch account both end the session and tell the shop', async () => {
    for (const button of ['Log out', 'Switch account']) {
      const tenant = await rig.newTenant()
      const { page, frame } = await openShop(tenant)
      await frame.click('.avatar')
      await frame.click(`text=${button}`)
      expect(await hear(page, 'SERVICE_LOGOUT_REQUEST')).toEqual({ type: 'SERVICE_LOGOUT_REQUEST', version: 1 })
      await frame.waitForSelector('#field-password')
      await close(page)
    }
  })

  test('an app is disconnected only after a second click, and its id is then unknown', async () => {
    const tenant = await rig.newTenant()
    const other = await newApp(rig.service, { name: 'Kino Kosmos' })
    const serviceUserId = await linkUser(rig.service, other, tenant.user.userId)
    const { page, frame } = await openShop(tenant)
    await frame.click('.avatar')
    await frame.click('text=Disconnect >> nth=1')
    await frame.waitForSelector('text=Disconnect Kino Kosmos?')
    await frame.click('text=Cancel')
    await frame.click('[aria-label="Disconnect Kino Kosmos"]')
    await frame.click('.ask .danger')
    await frame.waitForSelector('text=Kino Kosmos is disconnected.')
    const { status } = await tenant.client.get('/api/server/wallet', { ...other, serviceUserId })
    expect(status).toBe(401)
    await close(page)
  })

  test('disconnecting this app is a log-out', async () => {
    const tenant = await rig.newTenant()
    const { page, frame } = await openShop(tenant)
    await frame.click('.avatar')
    await frame.click('.account .entry .button')
    await frame.click('.ask .danger')
    await hear(page, 'SERVICE_LOGOUT_REQUEST')
    await close(page)
  })
})

describe('topping up', () => {
  test('opens in a window inside the click, and the shop hears that it is open', async () => {
    const { page, frame } = await openShop(await rig.newTenant())
    const [popup] = await Promise.all([page.context().waitForEvent('page'), frame.click('.hero-action')])
    await popup.waitForSelector('.presets')
    expect(new URL(popup.url()).searchParams.has('session')).toBe(false)
    const message = await hear(page, 'SERVICE_OPEN_TOPUP')
    expect(message).toEqual({
      type: 'SERVICE_OPEN_TOPUP',
      version: 1,
      opened: true,
      url: expect.stringMatching(/\/widget\/topup\?session=ws_/),
    })
    await close(page)
  })

  test('where windows are blocked there is a plain link, and the shop hears that too', async () => {
    const page = await rig.openPage()
    await page.goto(rig.shop)
    // Without allow-popups the browser itself refuses the window.
    const frame = await embed(page, walletUrl({ session: await (await rig.newTenant()).newSession() }), {
      sandbox: 'allow-same-origin allow-scripts allow-forms',
    })
    await frame.click('.hero-action')
    await frame.waitForSelector('.blocked')
    const link = await frame.getAttribute('.blocked a', 'href')
    expect(link).toMatch(/\/widget\/topup\?session=ws_/)
    expect(await hear(page, 'SERVICE_OPEN_TOPUP')).toMatchObject({ opened: false, url: link! })
    await close(page)
  })
})
