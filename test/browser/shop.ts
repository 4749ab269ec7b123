/** A shop page with the wallet in it, ready to be used. */
import type { Frame, Page } from '@playwright/test'
import { until, untilSeen } from '../until.ts'
import { embed, hear, type Rig } from './rig.ts'

export type Tenant = Awaited<ReturnType<Rig['newTenant']>>

export const walletUrl = ({ base }: Rig, query: Record<string, string>) =>
  `${base}/widget/wallet?${new URLSearchParams(query)}`

/** The tenant's wallet, open. */
export async function openShop(rig: Rig, tenant: Tenant) {
  const page = await rig.openPage()
  await page.goto(rig.shop)
  const frame = await embed(page, walletUrl(rig, { session: await tenant.newSession(rig.shop) }))
  await untilSeen(frame, '.hero-balance .visually-hidden')
  return { page, frame }
}

/** The tenant's sign-in form. */
export async function openSignIn(rig: Rig, { clientId }: Tenant) {
  const page = await rig.openPage()
  await page.goto(rig.shop)
  const frame = await embed(page, walletUrl(rig, { clientId }))
  await hear(page, 'SERVICE_AUTH_REQUIRED')
  return { page, frame }
}

/** The account's view, which is loaded when it is asked for; its words have the language in their name. */
export const accountScript = /\/assets\/account\.[0-9a-f]{16}\.js/

export const balanceIn = (frame: Frame) => frame.textContent('.hero-balance .visually-hidden')

export async function waitForBalance(frame: Frame, text: string): Promise<void> {
  await until(frame, (text) => document.querySelector('.hero-balance .visually-hidden')?.textContent === text, text)
}

/** As a shop answers when it is asked for a new session. */
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
 * Waits for a view by something in it, and until it can be used: after drawing it, Preact runs effects, which take the focus to its
 * heading and enable its buttons, within 35 ms of the page's own clock; and timers come in the order in which they are due.
 */
export async function untilReady(frame: Frame, selector: string): Promise<void> {
  await untilSeen(frame, selector)
  await frame.evaluate(() => new Promise((resolve) => setTimeout(resolve, 100)))
}

/**
 * Waits until the shop has made the frame as high as what is in it. Until then the frame scrolls by itself, and a button that moves between the
 * press and the release of the mouse is not clicked.
 */
export async function untilFitted(frame: Frame): Promise<void> {
  await until(frame, () => document.documentElement.scrollHeight <= innerHeight)
}

/** Waits until the focus is on something of its own that holds the text; the body, where it is at first, holds every text. */
export const focusIs = (frame: Frame, text: string) =>
  until(
    frame,
    (text) => {
      const { activeElement } = document
      return activeElement !== document.body && activeElement?.textContent?.includes(text)
    },
    text,
  )

/** Goes to something by Tab alone, once it is there: views come when they are loaded, and Tab walks past what is not there yet. */
export async function tabTo(page: Page, frame: Frame, selector: string): Promise<void> {
  await untilReady(frame, selector)
  for (let presses = 0; presses < 30; presses++) {
    if (await frame.evaluate((selector) => document.activeElement?.matches(selector), selector)) return
    await page.keyboard.press('Tab')
  }
  throw new Error(`no way to ${selector} by Tab`)
}
