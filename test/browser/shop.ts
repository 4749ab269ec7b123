/** A shop page with an embedded wallet that is ready for use. */
import type { Frame, Page } from '@playwright/test'
import { createUser } from '../../src/actions/people/create-user.ts'
import { leaveBy } from '../chromium.ts'
import { deviceOf } from '../devices.ts'
import { newEmail } from '../page.ts'
import { operator, type TestUser } from '../service.ts'
import { until, untilSeen } from '../until.ts'
import { embed, waitForMessage, type Rig } from './rig.ts'

export type Tenant = Awaited<ReturnType<Rig['newTenant']>>

export const walletUrl = ({ base }: Rig, query: Record<string, string>) =>
  `${base}/widget/wallet?${new URLSearchParams(query)}`

export const password = 'seven tired llamas'

export type Member = Tenant & { readonly email: string }

type Named = { readonly email: string; readonly firstName: string; readonly lastName: string }

/** A tenant whose user has an email and a password. */
export async function newMember(rig: Rig, tenant?: Tenant, changes: Partial<Named> = {}) {
  const app = tenant ?? (await rig.newTenant())
  const { firstName, lastName } = rig.names
  const named: Named = { email: newEmail(), firstName, lastName, ...changes }
  const { email } = named
  const created = (await createUser(rig.service, operator, { ...named, password, clientId: app.clientId }))!
  const user = { userId: created.userId, serviceUserId: created.serviceUserId! }
  const newSession = (origin?: string, who: TestUser = user) => app.newSession(origin, who)
  return { ...app, user, email, newSession } satisfies Member
}

/**
 * Makes the browser a device of the user, as signing in inside the shop's frame does. Most users of tests have no password to sign in
 * with.
 */
export async function signInOnDevice(
  rig: Rig,
  page: Page,
  { user, clientId }: Pick<Tenant, 'user' | 'clientId'>,
  options: { hasPassword?: boolean } = {},
): Promise<void> {
  const { deviceToken } = await deviceOf(rig.service, { userId: user.userId, clientId }, options)
  const { hostname, protocol } = new URL(rig.shop)
  await page.context().addCookies([
    {
      name: '__Host-billfold-device',
      value: deviceToken,
      domain: new URL(rig.base).hostname,
      path: '/',
      httpOnly: true,
      secure: true,
      sameSite: 'None',
      partitionKey: `${protocol}//${hostname}`,
    },
  ])
}

/** `isDevice: false` opens it on a new device, where the user has not signed in. */
export async function openShop(rig: Rig, tenant: Tenant, { isDevice = true } = {}) {
  const page = await rig.openPage()
  if (isDevice) await signInOnDevice(rig, page, tenant)
  await page.goto(rig.shop)
  const frame = await embed(page, walletUrl(rig, { session: await tenant.newSession(rig.shop) }))
  await untilSeen(frame, '.hero-balance .visually-hidden')
  return { page, frame }
}

export async function openSignIn(rig: Rig, { clientId }: Tenant) {
  const page = await rig.openPage()
  await page.goto(rig.shop)
  const frame = await embed(page, walletUrl(rig, { clientId }))
  await waitForMessage(page, 'SERVICE_AUTH_REQUIRED')
  return { page, frame }
}

/** The script of the account view, loaded on demand; the scripts with its texts have the language in their name. */
export const accountScript = /\/assets\/account\.[0-9a-f]{12}\.js/

export const balanceIn = (frame: Frame) => frame.textContent('.hero-balance .visually-hidden')

export async function waitForBalance(frame: Frame, text: string): Promise<void> {
  await until(frame, (text) => document.querySelector('.hero-balance .visually-hidden')?.textContent === text, text)
}

/** Reloads only the frame, and waits for the new document. */
export async function reload(frame: Frame): Promise<void> {
  await frame.evaluate(() => void (document.body.dataset['mark'] = 'old'))
  await leaveBy(frame, () => location.reload())
  await until(frame, () => document.body?.dataset['mark'] === undefined)
}

/** Sends a session as a shop does when the widget asks for a new one. */
export async function renew(rig: Rig, page: Page, sessionToken: string): Promise<void> {
  await page.evaluate(
    ([sessionToken, origin]) =>
      document
        .querySelector('iframe')!
        .contentWindow!.postMessage({ type: 'SERVICE_SESSION', version: 1, sessionToken }, origin),
    [sessionToken, rig.base] as const,
  )
}

/**
 * Waits until a view that contains the selector can be used. After rendering it, Preact runs effects that focus its heading and
 * enable its buttons, within 35 ms of the page's clock; timers fire in the order in which they are due.
 */
export async function untilReady(frame: Frame, selector: string): Promise<void> {
  await untilSeen(frame, selector)
  await frame.evaluate(() => new Promise((resolve) => setTimeout(resolve, 100)))
}

/**
 * Waits until the shop has made the frame as high as its content. Until then the frame scrolls, and a button that moves between
 * mouse down and mouse up is not clicked.
 */
export async function untilFitted(frame: Frame): Promise<void> {
  await until(frame, () => document.documentElement.scrollHeight <= innerHeight)
}

/** Opens a part of the account from the wallet. */
export async function clickPart(frame: Frame, part: string): Promise<void> {
  await frame.click('button.avatar')
  await untilReady(frame, '[data-part=email] .muted')
  await untilFitted(frame)
  await frame.click(`[data-part=${part}]`)
}

/** Waits until a focused element other than the body contains the text: the body, which has the focus at first, contains every text. */
export const focusIs = (frame: Frame, text: string) =>
  until(
    frame,
    (text) => {
      const { activeElement } = document
      return activeElement !== document.body && activeElement?.textContent?.includes(text)
    },
    text,
  )

/**
 * Ends an outage of the network, and waits for the message about it. The message shows for a few seconds only, so the page itself watches
 * for it, from before the network is back.
 */
export async function comeBackOnline(page: Page, frame: Frame): Promise<void> {
  await frame.evaluate(() => {
    const watch = new MutationObserver(() => {
      if (document.body.innerText.includes('You are back online')) document.body.dataset['mark'] = 'back'
    })
    watch.observe(document.body, { childList: true, subtree: true, characterData: true })
  })
  await page.context().setOffline(false)
  await until(frame, () => document.body.dataset['mark'] === 'back')
}

/** Moves the focus by Tab alone, once the element is there: Tab would go past a view that is still loading. */
export async function tabTo(page: Page, frame: Frame, selector: string, key = 'Tab'): Promise<void> {
  await untilReady(frame, selector)
  for (let presses = 0; presses < 30; presses++) {
    if (await frame.evaluate((selector) => document.activeElement?.matches(selector), selector)) return
    await page.keyboard.press(key)
  }
  throw new Error(`no way to ${selector} by ${key}`)
}
