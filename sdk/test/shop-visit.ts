/** A fresh visit to the shop for every test of a file, and what the tests look at there. */
import { afterAll, afterEach, beforeAll, beforeEach, expect, setDefaultTimeout } from 'bun:test'
import { isDeepStrictEqual } from 'node:util'
import type { Page } from '@playwright/test'
import { mount, startBrowserRig } from './browser-rig.ts'
import type { MountSetup, Wallet } from './browser-rig.ts'

export function visitShop() {
  // A browser on a busy machine is slow; a test that fails should say what it saw, not that time ran out.
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

  async function walletOf<T>(id: string, look: (wallet: Omit<Wallet, 'handle'>) => T): Promise<T> {
    const wallet = await page.evaluate((id) => {
      const { calls, events, errors, sessions, linkAnswer } = window.wallets[id]!
      return { calls, events, errors, sessions, linkAnswer }
    }, id)
    return look(wallet)
  }

  return {
    rig: () => rig,
    page: () => page,
    walletOf,
    callsOf: (id: string) => walletOf(id, (wallet) => wallet.calls),
    errorsOf: (id: string) => walletOf(id, (wallet) => wallet.errors.map((error) => error.code as string)),
    frameSrc: async (id: string) => await page.locator(`#${id} iframe`).getAttribute('src'),
    /** How a call of fetchSession is noted. */
    asked: () => `fetchSession ${rig.shopOrigin}`,
    async mountIn(id: string, setup: Partial<MountSetup> = {}): Promise<void> {
      await mount(page, id, { baseUrl: rig.serviceOrigin, ...setup })
    },
  }
}

/** Looks again until it is so, for as long as it may take on a busy machine. */
export async function eventually<T>(look: () => Promise<T> | T, expected: T): Promise<void> {
  let seen: T = await look()
  for (const endsAt = Date.now() + 60_000; Date.now() < endsAt && !isDeepStrictEqual(seen, expected);) {
    await Bun.sleep(50)
    seen = await look()
  }
  expect(seen).toEqual(expected)
}
