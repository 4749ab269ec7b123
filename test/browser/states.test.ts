/** Every state of the hosted pages, looked at: by axe, and by whoever opens test/screenshots afterwards. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
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

for (const [name, { show, hasScript = true }] of Object.entries(states)) {
  test(`axe finds no barrier in the state ${name}`, async () => {
    const page = await rig.openPage({ javaScriptEnabled: hasScript })
    try {
      const shown = await show(page)
      const barriers: string[] = []
      for (const colorScheme of ['light', 'dark'] as const) {
        await page.emulateMedia({ colorScheme })
        for (const width of [1280, 360]) {
          await page.setViewportSize({ width, height: 400 })
          await page.waitForTimeout(150)
          // A picture of the whole page, by a window of its size: Chromium blanks foreign frames in longer pictures.
          const height = await shown.evaluate(() => document.getElementById('root')!.getBoundingClientRect().height)
          await page.setViewportSize({ width, height: Math.ceil(height) || 400 })
          await page.waitForTimeout(150)
          await page.screenshot({ path: join(folder, `${name}-${width}-${colorScheme}.png`) })
        }
        if (hasScript) barriers.push(...(await findBarriers(shown)).map((line) => `${colorScheme}: ${line}`))
        const isTooWide = hasScript && (await shown.evaluate(() => document.documentElement.scrollWidth > innerWidth))
        if (isTooWide) barriers.push(`${colorScheme}: wider than 360 px`)
      }
      expect(barriers).toEqual([])
    } finally {
      rig.trouble.answer = undefined
      await page.context().close()
    }
  })
}
