/** A new visit to the shop for every test of a file, and helpers that read the page. */
import { afterAll, afterEach, beforeAll, beforeEach, expect, setDefaultTimeout } from 'bun:test'
import { isDeepStrictEqual } from 'node:util'
import type { Page } from '@playwright/test'
import { mount, startBrowserRig } from './browser-rig.ts'
import type { MountSetup, Wallet } from './browser-rig.ts'

export function visitShop() {
  // A browser on a busy machine is slow. A failing test should report what it saw, not a timeout.
  setDefaultTimeout(180_000)
  let rig: Awaited<ReturnType<typeof startBrowserRig>>
  let page: Page

  beforeAll(async () => {
    rig = await startBrowserRig()
  })
  afterAll(() => rig.stop())
  beforeEach(async () => {
    page = await rig.windows.open()
    await page.goto(rig.shopOrigin)
    rig.shopRequests.length = 0
  })
  afterEach(() => rig.windows.giveBack(page))

  async function walletOf<T>(id: string, select: (wallet: Omit<Wallet, 'handle'>) => T): Promise<T> {
    const wallet = await page.evaluate((id) => {
      const { calls, events, errors, reasons, sessions, linkAnswer } = window.wallets[id]!
      return { calls, events, errors, reasons, sessions, linkAnswer }
    }, id)
    return select(wallet)
  }

  return {
    rig: () => rig,
    page: () => page,
    walletOf,
    callsOf: (id: string) => walletOf(id, (wallet) => wallet.calls),
    errorsOf: (id: string) => walletOf(id, (wallet) => wallet.errors.map((error) => error.code as string)),
    frameSrc: async (id: string) => await page.locator(`#${id} iframe`).getAttribute('src'),
    /** How a call of fetchSession is recorded. */
    asked: () => `fetchSession ${rig.shopOrigin}`,
    async mountIn(id: string, setup: Partial<MountSetup> = {}): Promise<void> {
      await mount(page, id, { baseUrl: rig.serviceOrigin, ...setup })
    },
  }
}

/** Polls until the value is as expected, for as long as a busy machine may take. */
export async function eventually<T>(read: () => Promise<T> | T, expected: T): Promise<void> {
  let seen: T = await read()
  for (const endsAt = Date.now() + 60_000; Date.now() < endsAt && !isDeepStrictEqual(seen, expected);) {
    await Bun.sleep(50)
    seen = await read()
  }
  expect(seen).toEqual(expected)
}
