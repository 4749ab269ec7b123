/** The shop as people see it, hear it and reach it with the keyboard. The pictures go into test/screenshots. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import type { Page } from '@playwright/test'
import { startShopRig, type ShopRig } from './rig.ts'
import { eventually, newName, openVisit } from './visit.ts'

setDefaultTimeout(90_000)

let rig: ShopRig
const axe = await readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
const pictures = new URL('../screenshots/', import.meta.url).pathname

beforeAll(async () => {
  rig = await startShopRig()
})
afterAll(() => rig.stop())

type Finding = { readonly id: string; readonly impact: string | null; readonly nodes: { readonly html: string }[] }

async function findings(page: Page): Promise<string[]> {
  await page.evaluate(axe)
  const violations = await page.evaluate(async () => {
    const { axe } = window as unknown as { axe: { run(options: object): Promise<{ violations: Finding[] }> } }
    return (await axe.run({ iframes: false })).violations
  })
  return violations.map(({ id, impact, nodes }) => `${impact} ${id}: ${nodes.map(({ html }) => html).join(' ')}`)
}

/** In a window as high as the page: outside of it Chromium does not paint frames of other sites. */
async function takePicture(page: Page, path: string): Promise<void> {
  const size = page.viewportSize()!
  await page.setViewportSize({ ...size, height: await page.evaluate(() => document.documentElement.scrollHeight) })
  await page.screenshot({ path })
  await page.setViewportSize(size)
}

async function isSound(page: Page, picture: string): Promise<void> {
  await takePicture(page, `${pictures}shop-${picture}.png`)
  expect(await findings(page)).toEqual([])
  const overflow = await page.evaluate(
    () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
  )
  expect(overflow).toBe(0)
}

describe.each([
  [1280, 'light'],
  [1280, 'dark'],
  [360, 'light'],
  [360, 'dark'],
] as const)('at %d px, %s', (width, colorScheme) => {
  test('every state is free of findings and fits', async () => {
    const visit = await openVisit(rig, { viewport: { width, height: 900 }, colorScheme, reducedMotion: 'reduce' })
    const { page } = visit
    const sound = (state: string) => isSound(page, `${state}-${width}-${colorScheme}`)
    await page.goto(rig.shopOrigin)
    await sound('door')
    await visit.enterAs(newName())
    await visit.wallet.getByRole('button', { name: 'Create account' }).waitFor()
    await visit.buy('Windowsill fern')
    await visit.order('Windowsill fern').waitFor()
    await sound('not-linked')
    await visit.signUp()
    await page.getByRole('button', { name: /welcome gift/ }).click()
    await eventually(async () => await visit.balance().textContent(), '$50.00')
    await visit.buy('Stoneware mug')
    await visit.order('Stoneware mug').getByRole('button', { name: 'Refund' }).click()
    await visit.order('Stoneware mug').locator('.state.refunded').waitFor()
    await visit.order('Windowsill fern').getByRole('button', { name: 'Pay' }).click()
    await visit.order('Windowsill fern').locator('.state.paid').waitFor()
    await visit.buy('Night radio')
    await visit.order('Night radio').locator('.state.refused').waitFor()
    await eventually(async () => await visit.balance().textContent(), '$21.00')
    await visit.story().first().locator('summary').click()
    await sound('busy')
    await visit.close()
  })
})

test('everything can be done with the keyboard, and the focus is never lost', async () => {
  const visit = await openVisit(rig)
  const { page } = visit
  await page.goto(rig.shopOrigin)
  await page.getByRole('button', { name: 'Ben' }).focus()
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name: 'On the shelf' }).waitFor()
  await page.keyboard.press('Tab')
  expect(await page.evaluate(() => document.activeElement?.textContent)).toBe('Skip to the products')
  await page.keyboard.press('Enter')
  await page.keyboard.press('Tab')
  await page.keyboard.press('Space')
  expect(await page.getByRole('switch').isChecked()).toBeTrue()
  await page.keyboard.press('Space')
  await page.keyboard.press('Tab')
  await page.keyboard.press('Enter')
  const pay = visit.order('Beeswax candle').getByRole('button', { name: 'Pay' })
  await pay.focus()
  await page.keyboard.press('Enter')
  await eventually(async () => (await visit.notice().textContent())?.includes('First link a wallet'), true)
  // The row was drawn anew; the focus is on the same button of it.
  await eventually(() => page.evaluate(() => document.activeElement?.textContent), 'Pay Beeswax candle')
  await visit.close()
})

test('a shop whose service is away says so, and still shows its shelf', async () => {
  const visit = await openVisit(rig)
  await rig.stopService()
  await visit.enterAs('Chiyo')
  await eventually(async () => (await visit.notice().textContent())?.includes('wallet'), true, 20_000)
  expect(await visit.page.locator('.product').count()).toBe(6)
  await visit.close()
  await rig.startService()
})
