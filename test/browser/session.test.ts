/** Sessions that end and are renewed, and an interrupted network. */
import type { Frame } from '@playwright/test'
import { afterAll, afterEach, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { newUser } from '../service.ts'
import { until, untilSeen } from '../until.ts'
import { embed, waitForMessage, messagesReceived, startRig, type Rig } from './rig.ts'
import {
  clickPart,
  comeBackOnline,
  newMember,
  openShop,
  openSignIn,
  password,
  renew,
  waitForBalance,
  walletUrl,
} from './shop.ts'

setDefaultTimeout(240_000)

let rig: Rig
beforeAll(async () => {
  rig = await startRig({ CARD_PROCESSOR: 'sandbox' })
})
afterEach(() => {
  rig.trouble.answer = undefined
})
afterAll(() => rig.stop())

/** Waits until the frame has received so many whole answers. Reads them from the page: the driver sometimes loses an event during a renewal. */
async function hasHad(frame: Frame, part: string, count = 1): Promise<void> {
  await until(
    frame,
    ([text, count]) =>
      performance.getEntriesByType('resource').filter(({ name }) => name.includes(text)).length >= count,
    [part, count] as const,
  )
}

describe('sessions', () => {
  test('after “Sign out everywhere” another window says so, the app stays connected, and one device is left after a sign-in', async () => {
    const member = await newMember(rig)
    await member.client.credit(member.user.serviceUserId, 10)
    const open = async () => {
      const { page, frame } = await openShop(rig, member)
      await waitForBalance(frame, '$10.00')
      return { page, frame }
    }
    const [first, second] = [await open(), await open()]
    await clickPart(first.frame, 'signedIn')
    await until(first.frame, () => document.querySelectorAll('[aria-label=Devices] > li').length === 2)
    await first.frame.click('text=Sign out everywhere')
    await first.frame.click('.ask .danger')

    await second.frame.waitForSelector('text=You are signed out everywhere')
    const text = await second.frame.textContent('#root')
    expect(text).toContain('Apps stay connected and can still take payments on their own.')
    expect(text).not.toMatch(/no longer|\$/)
    expect(await waitForMessage(second.page, 'SERVICE_ERROR')).toEqual({
      type: 'SERVICE_ERROR',
      version: 1,
      code: 'INVALID_SESSION',
    })
    expect((await member.client.debit(member.user.serviceUserId, 3)).status).toBe(200)

    await second.frame.click('.panel .button')
    await second.frame.fill('#field-email', member.email)
    await second.frame.fill('#field-password', password)
    await second.frame.click('form .button')
    await waitForMessage(second.page, 'SERVICE_AUTH_SUCCESS')
    await renew(rig, second.page, await member.newSession(rig.shop))
    await waitForBalance(second.frame, '$7.00')
    await clickPart(second.frame, 'signedIn')
    await untilSeen(second.frame, '[aria-label=Devices] > li')
    expect(await second.frame.locator('[aria-label=Devices] > li').allTextContents()).toEqual([
      expect.stringContaining('This device'),
    ])
    await rig.closePage(first.page)
    await rig.closePage(second.page)
  })

  test('45 seconds before a session ends the shop is asked for a new one, which continues without a reload', async () => {
    const tenant = await rig.newTenant()
    await tenant.client.credit(tenant.user.serviceUserId, 10)
    const page = await rig.openPage()
    await page.goto(rig.shop)
    const session = await tenant.newSession(rig.shop)
    await rig.pass(5 * 60_000 - 48_000)
    const frame = await embed(page, walletUrl(rig, { session }))
    await waitForBalance(frame, '$10.00')
    await frame.evaluate(() => void (document.body.dataset['mark'] = 'same document'))
    const asked = await waitForMessage(page, 'SERVICE_SESSION_EXPIRING')
    expect(asked).toEqual({ type: 'SERVICE_SESSION_EXPIRING', version: 1, expiresAt: expect.any(String) })
    const second = await tenant.newSession(rig.shop)
    await renew(rig, page, second)
    await until(frame, (session) => (history.state as { session?: string })?.session === session, second)
    // Long after the end of the first session the wallet still updates, with the second.
    await rig.pass(120_000)
    await tenant.client.debit(tenant.user.serviceUserId, 3)
    await waitForBalance(frame, '$7.00')
    expect(await frame.evaluate(() => document.body.dataset['mark'])).toBe('same document')
    expect((await messagesReceived(page)).map(({ type }) => type)).not.toContain('SERVICE_SESSION_EXPIRED')
    await rig.closePage(page)
  })

  test('a late answer to the old session does not replace the content of the renewed one', async () => {
    const tenant = await rig.newTenant()
    const page = await rig.openPage()
    await page.goto(rig.shop)
    const first = await tenant.newSession(rig.shop)
    const frame = await embed(page, walletUrl(rig, { session: first }))
    await waitForBalance(frame, '$0.00')
    const held = Promise.withResolvers<void>()
    let isHeld = false
    rig.trouble.answer = async ({ pathname, searchParams }) => {
      if (pathname !== '/api/widget/wallet' || searchParams.get('session') !== first) return undefined
      isHeld = true
      await held.promise
      return undefined
    }
    await tenant.client.credit(tenant.user.serviceUserId, 10)
    await waitUntil(() => isHeld)
    const other = await newUser(rig.service, tenant)
    await tenant.client.credit(other.serviceUserId, 20)
    await renew(rig, page, await tenant.newSession(rig.shop, other))
    await waitForBalance(frame, '$20.00')
    held.resolve()
    await hasHad(frame, `/wallet?session=${first}`, 2)
    await tenant.client.credit(other.serviceUserId, 1)
    await waitForBalance(frame, '$21.00')
    await rig.closePage(page)
  })

  test('a sign-in answered after the shop has sent another person’s session is not reported to the shop', async () => {
    const tenant = await rig.newTenant()
    const { page, frame } = await openSignIn(rig, tenant)
    const held = Promise.withResolvers<void>()
    let isHeld = false
    rig.trouble.answer = async ({ pathname }) => {
      if (pathname !== '/api/widget/auth/login') return undefined
      isHeld = true
      await held.promise
      return Response.json({ serviceUserId: tenant.user.serviceUserId, linkCode: 'lc_of_the_first' })
    }
    await frame.fill('#field-email', 'first@example.com')
    await frame.fill('#field-password', 'seven tired llamas')
    await frame.click('form > .button')
    await waitUntil(() => isHeld)
    await renew(rig, page, await tenant.newSession(rig.shop))
    await waitForBalance(frame, '$0.00')
    held.resolve()
    await hasHad(frame, '/auth/login')
    await tenant.client.credit(tenant.user.serviceUserId, 2)
    await waitForBalance(frame, '$2.00')
    expect((await messagesReceived(page)).map(({ type }) => type)).not.toContain('SERVICE_AUTH_SUCCESS')
    await rig.closePage(page)
  })

  test('an app that one person disconnects does not sign out the next person', async () => {
    const tenant = await rig.newTenant()
    const { page, frame } = await openShop(rig, tenant)
    const held = Promise.withResolvers<void>()
    let isHeld = false
    rig.trouble.answer = async ({ pathname }) => {
      if (pathname !== '/api/widget/links/disconnect') return undefined
      isHeld = true
      await held.promise
      return Response.json({ message: 'Disconnected.' })
    }
    await clickPart(frame, 'apps')
    await frame.click('.account .entry .button')
    await frame.click('.ask .danger')
    await waitUntil(() => isHeld)
    const other = await newUser(rig.service, tenant)
    await renew(rig, page, await tenant.newSession(rig.shop, other))
    await waitForBalance(frame, '$0.00')
    held.resolve()
    await hasHad(frame, '/disconnect')
    await tenant.client.credit(other.serviceUserId, 3)
    await waitForBalance(frame, '$3.00')
    expect((await messagesReceived(page)).map(({ type }) => type)).not.toContain('SERVICE_LOGOUT_REQUEST')
    await rig.closePage(page)
  })

  test('an expired wallet hides the money, asks the shop, and opens again in place', async () => {
    const tenant = await rig.newTenant()
    const { page, frame } = await openShop(rig, tenant)
    await rig.pass(5 * 60_000 + 1000)
    await frame.waitForSelector('text=Your session has ended')
    expect(await frame.textContent('#root')).not.toContain('$')
    expect(await waitForMessage(page, 'SERVICE_SESSION_EXPIRED')).toEqual({
      type: 'SERVICE_SESSION_EXPIRED',
      version: 1,
    })
    await renew(rig, page, await tenant.newSession(rig.shop))
    await untilSeen(frame, '.hero-balance .visually-hidden')
    await rig.closePage(page)
  })

  test('a page that was expired from the start is framed, explains itself, and opens again', async () => {
    const tenant = await rig.newTenant()
    const page = await rig.openPage()
    await page.goto(rig.shop)
    const session = await tenant.newSession(rig.shop)
    await rig.pass(6 * 60_000)
    const frame = await embed(page, walletUrl(rig, { session }))
    await waitForMessage(page, 'SERVICE_SESSION_EXPIRED')
    await renew(rig, page, await tenant.newSession(rig.shop))
    await untilSeen(frame, '.hero-balance .visually-hidden')
    await waitForMessage(page, 'SERVICE_WALLET_LOADED')
    await rig.closePage(page)
  })
})

describe('the network', () => {
  test('the wallet says that the network is down, and catches up by itself when it is back', async () => {
    const tenant = await rig.newTenant()
    await tenant.client.credit(tenant.user.serviceUserId, 10)
    const { page, frame } = await openShop(rig, tenant)
    await page.context().setOffline(true)
    await frame.waitForSelector('text=You are offline')
    await tenant.client.debit(tenant.user.serviceUserId, 4)
    await comeBackOnline(page, frame)
    await waitForBalance(frame, '$6.00')
    await waitForMessage(page, 'SERVICE_WALLET_UPDATED')
    await rig.closePage(page)
  })

  test('an event stream that breaks is opened again, without a message to the user', async () => {
    const tenant = await rig.newTenant()
    const { page, frame } = await openShop(rig, tenant)
    let streams = 0
    rig.trouble.answer = ({ pathname }) => {
      if (pathname === '/api/widget/events') streams++
      return pathname === '/api/widget/events' && streams < 3 ? new Response('', { status: 503 }) : undefined
    }
    await page.context().setOffline(true)
    await page.context().setOffline(false)
    await waitUntil(() => streams >= 3)
    await tenant.client.credit(tenant.user.serviceUserId, 4)
    await waitForBalance(frame, '$4.00')
    await rig.closePage(page)
  })
})

async function waitUntil(isSo: () => boolean): Promise<void> {
  for (const endsAt = Date.now() + 60_000; Date.now() < endsAt; await Bun.sleep(50)) if (isSo()) return
  throw new Error('It did not happen.')
}
