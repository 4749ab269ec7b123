/** Every state of the hosted pages, looked at: by axe, and by whoever opens test/screenshots afterwards. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Frame, Page } from '@playwright/test'
import { findBarriers } from './axe.ts'
import { startRig } from './rig.ts'
import { newStage } from './stage.ts'
import { signInStates } from './states-sign-in.ts'
import { topupStates } from './states-topup.ts'
import { troubleStates } from './states-trouble.ts'
import { walletStates } from './states-wallet.ts'

setDefaultTimeout(120_000)

const folder = join(import.meta.dir, '../screenshots')
const rig = await startRig({ CARD_PROCESSOR: 'sandbox' })
const stage = newStage(rig, await rig.newTenant())
const states = { ...walletStates(stage), ...troubleStates(stage), ...signInStates(stage), ...topupStates(stage) }

beforeAll(async () => void (await mkdir(folder, { recursive: true })))
afterAll(() => rig.stop())

/** Colours fade from one scheme to the other; axe wants to see where they end. Only what ends by itself is waited for. */
const untilStill = (shown: Frame | Page) =>
  shown.evaluate(async () => {
    const ending = document.getAnimations().filter(({ effect }) => effect?.getComputedTiming().endTime !== Infinity)
    await Promise.allSettled(ending.map(({ finished }) => finished))
  })

/** Of the whole page, by a window of its size: Chromium blanks foreign frames in longer pictures. */
async function takePicture(page: Page, shown: Frame | Page, width: number, name: string): Promise<void> {
  await page.setViewportSize({ width, height: 400 })
  const height = await shown.evaluate(() => document.getElementById('root')!.getBoundingClientRect().height)
  await page.setViewportSize({ width, height: Math.ceil(height) || 400 })
  await untilStill(shown)
  await page.screenshot({ path: join(folder, `${name}.png`) })
}

async function barriersIn(page: Page, shown: Frame | Page, colorScheme: 'light' | 'dark'): Promise<string[]> {
  await page.emulateMedia({ colorScheme })
  await untilStill(shown)
  const barriers = await findBarriers(shown)
  const isTooWide = await shown.evaluate(() => document.documentElement.scrollWidth > innerWidth)
  return [...barriers, ...(isTooWide ? ['wider than 360 px'] : [])].map((line) => `${colorScheme}: ${line}`)
}

for (const [name, { show, hasScript = true, isLast = false }] of Object.entries(states)) {
  test(`axe finds no barrier in the state ${name}`, async () => {
    const page = await rig.openPage(hasScript ? {} : { javaScriptEnabled: false })
    try {
      await page.emulateMedia({ colorScheme: 'light' })
      const shown = await show(page)
      await takePicture(page, shown, 1280, `${name}-1280-light`)
      await page.emulateMedia({ colorScheme: 'dark' })
      await takePicture(page, shown, 360, `${name}-360-dark`)
      if (!hasScript) return
      expect([...(await barriersIn(page, shown, 'dark')), ...(await barriersIn(page, shown, 'light'))]).toEqual([])
    } finally {
      rig.trouble.answer = undefined
      await (isLast ? page.context().close() : rig.closePage(page))
    }
  })
}
