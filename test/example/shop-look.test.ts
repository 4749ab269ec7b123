/** How the shop looks, how screen readers announce it, and how the keyboard reaches it. With SCREENSHOTS=1 writes to test/screenshots. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import type { Page } from '@playwright/test'
import { startShopRig, type ShopRig } from './rig.ts'
import { findAllViolations, wantsPictures } from '../browser/axe.ts'
import { wantsAll } from '../wants-all.ts'
import { eventually, newName, openVisit, type Visit } from './visit.ts'

setDefaultTimeout(240_000)

let rig: ShopRig
const pictures = new URL('../screenshots/', import.meta.url).pathname

beforeAll(async () => {
  rig = await startShopRig()
})
afterAll(() => rig.stop())

/** Makes the window as high as the page: outside the window Chromium does not paint frames of other sites. */
async function takePicture(page: Page, path: string): Promise<void> {
  const size = page.viewportSize()!
  await page.setViewportSize({ ...size, height: await page.evaluate(() => document.documentElement.scrollHeight) })
  await page.screenshot({ path })
  await page.setViewportSize(size)
}

const views = [
  [1280, 'light'],
  [360, 'dark'],
] as const

/** The states of a visit, in order. */
const states: Readonly<Record<string, (visit: Visit) => Promise<void>>> = {
  entrance: async ({ page }) => void (await page.goto(rig.shopOrigin)),
  'not-linked': async (visit) => {
    await visit.enterAs(newName())
    await visit.wallet.getByRole('button', { name: 'Create account' }).waitFor()
    await visit.buy('Windowsill fern')
    await visit.order('Windowsill fern').waitFor()
  },
  busy: async (visit) => {
    await visit.signInAsNew()
    await visit.page.getByRole('button', { name: /welcome gift/ }).click()
    await eventually(async () => await visit.balance().textContent(), '$50.00')
    await visit.buy('Stoneware mug')
    await visit.order('Stoneware mug').getByRole('button', { name: 'Refund' }).click()
    await visit.order('Stoneware mug').locator('.state.refunded').waitFor()
    await visit.order('Windowsill fern').getByRole('button', { name: 'Pay' }).click()
    await visit.order('Windowsill fern').locator('.state.paid').waitFor()
    const opening = visit.context.waitForEvent('page')
    await visit.buy('Night radio')
    await visit.order('Night radio').locator('.state.refused').waitFor()
    // Chromium does not paint frames behind another window.
    await (await opening).close()
    await eventually(async () => await visit.balance().textContent(), '$21.00')
    await visit.story().first().locator('summary').click()
  },
}

describe('a visit', () => {
  let visit: Visit
  beforeAll(async () => {
    visit = await openVisit(rig, { reducedMotion: 'reduce' })
  })
  afterAll(() => visit.close())

  for (const [state, reach] of Object.entries(states)) {
    test(`the shop reaches the state ${state} at 360 px, and the browser logs no error`, async () => {
      // At the width of a phone, which is the hardest; the other files do the same in a wide window.
      await visit.page.setViewportSize({ width: 360, height: 900 })
      await reach(visit)
      expect(visit.complaints).toEqual([])
    })

    test(`the shop in the state ${state} fits at 360 and 1280 px, and is free of findings`, async () => {
      const { page } = visit
      for (const [width, colorScheme] of views) {
        await page.setViewportSize({ width, height: 900 })
        await page.emulateMedia({ colorScheme })
        if (wantsPictures) await takePicture(page, `${pictures}shop-${state}-${width}-${colorScheme}.png`)
        const overflow = await page.evaluate(
          () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
        )
        expect([width, overflow]).toEqual([width, 0])
        if (wantsAll) expect(await findAllViolations(page)).toEqual([])
      }
      expect(await findAllViolations(page)).toEqual([])
    })
  }
})

test('on a phone the wallet begins on the first screen, and the shop has one name', async () => {
  const visit = await openVisit(rig, { viewport: { width: 360, height: 740 } })
  await visit.enterAs(newName())
  await visit.wallet.getByText('to pay at Small Hours').waitFor()
  const { y } = (await visit.page.locator('#wallet').boundingBox())!
  expect(y).toBeLessThan(600)
  await visit.close()
})

test('everything in the shop can be done with the keyboard, and the focus is never lost', async () => {
  const visit = await openVisit(rig)
  const { page } = visit
  await page.goto(rig.shopOrigin)
  await page.getByRole('button', { name: 'Ben' }).focus()
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name: 'On the shelf' }).waitFor()
  await page.waitForLoadState('load')
  await page.keyboard.press('Tab')
  expect(await page.evaluate(() => document.activeElement?.textContent)).toBe('Skip to the products')
  await page.keyboard.press('Enter')
  await eventually(() => page.evaluate(() => document.activeElement?.id), 'shelf')
  await page.keyboard.press('Tab')
  await page.keyboard.press('Space')
  await eventually(() => page.getByRole('switch').isChecked(), true)
  await page.keyboard.press('Space')
  await page.keyboard.press('Tab')
  await page.keyboard.press('Enter')
  const pay = visit.order('Beeswax candle').getByRole('button', { name: 'Pay' })
  await pay.focus()
  await page.keyboard.press('Enter')
  await eventually(async () => (await visit.notice().textContent())?.includes('First link a wallet'), true)
  // The row was rendered again; the focus is on its same button.
  await eventually(() => page.evaluate(() => document.activeElement?.textContent), 'Pay Beeswax candle')
  await visit.close()
})

test('a shop whose service is down says so, and still shows its products', async () => {
  const visit = await openVisit(rig)
  await rig.stopService()
  await visit.enterAs('Chiyo')
  await eventually(async () => (await visit.notice().textContent())?.includes('wallet'), true)
  expect(await visit.page.locator('.product').count()).toBe(6)
  await visit.close()
  await rig.startService()
})
