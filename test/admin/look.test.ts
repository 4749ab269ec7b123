/** How the admin area looks with long texts and large amounts: the ledger, the tabs of an app, the menu of a phone. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { Page } from '@playwright/test'
import { misfitsIn } from '../browser/layout.ts'
import { newClient } from '../client.ts'
import { until } from '../until.ts'
import { startRig, type Rig } from './rig.ts'

const longName = 'Donaudampfschifffahrtsgesellschaft and Wolfeschlegelsteinhausenbergerdorff, Sons & Daughters of 1887'
const longType = 'A_REFERENCE_TYPE_THAT_IS_RATHER_LONG_FOR_A_TYPE'
const longId = (i: number) => `"quoted" <b>&amp; ${'1234567890'.repeat(18)}-${i}`
const description = 'Wörter und '.repeat(40).trim()
const phone = { width: 390, height: 844 }
const desk = { width: 1280, height: 900 }

let rig: Rig
let page: Page
let wallet: string
let app: string

beforeAll(async () => {
  rig = await startRig()
  page = await rig.openPage({ permissions: ['clipboard-read', 'clipboard-write'] })
  await rig.signIn(page)
  const created = await rig.cli(['app', 'create', '--name', longName.slice(0, 100)])
  const credentials = { clientId: created['clientId']!, clientSecret: created['clientSecret']! }
  const names = ['--first', 'Hubert Blaine', '--last', 'Wolfeschlegelsteinhausenbergerdorff']
  const args = ['user', 'create', '--email', 'hubert@example.com', ...names, '--link', credentials.clientId]
  const user = await rig.cli(args, 'a long password')
  const client = newClient((request) => fetch(request), credentials, rig.base)
  for (let i = 0; i < 24; i++) {
    const order = { serviceUserId: user['serviceUserId'], amount: 999_999_999.99, referenceType: longType }
    const path = '/api/server/wallet/credit'
    expect((await client.post(path, { ...credentials, ...order, referenceId: longId(i), description })).status).toBe(
      200,
    )
  }
  wallet = `/admin/wallets/${user['userId']}`
  app = `/admin/client-apps/${credentials.clientId}`
  await rig.cli(['wallet', 'correct', user['userId']!, '--debit', '200', '--reason', description.slice(0, 400)])
})
afterAll(() => rig.stop())

/** The number of lines that the texts of each entry take. Runs in the page. */
function linesOfEntries(): number[] {
  return [...document.querySelectorAll('.ledger tbody tr')].map((row) => {
    const rects: DOMRect[] = []
    const walker = document.createTreeWalker(row, NodeFilter.SHOW_TEXT)
    while (walker.nextNode()) {
      if (walker.currentNode.parentElement!.closest('.visually-hidden')) continue
      const range = document.createRange()
      range.selectNodeContents(walker.currentNode)
      rects.push(...[...range.getClientRects()].filter(({ width }) => width > 0.5))
    }
    // Texts of one line overlap by more than half of their height.
    let lines = 0
    let middle = -Infinity
    for (const { top, bottom } of rects.sort((a, b) => a.top - b.top)) {
      if (top < middle) continue
      lines++
      middle = (top + bottom) / 2
    }
    return lines
  })
}

/** A word of 35 letters does break in a column of a phone. */
const findMisfits = async () => (await page.evaluate(misfitsIn)).filter((line) => !line.endsWith('is broken inside'))

test('at 1280 × 900 an entry of the ledger is one line, and 20 of them are on the screen', async () => {
  await page.setViewportSize(desk)
  await page.goto(`${rig.base}${wallet}#ledger`)
  expect(new Set(await page.evaluate(linesOfEntries))).toEqual(new Set([1]))
  const whole = await page.evaluate(() => {
    document.querySelector('#ledger')!.scrollIntoView()
    const boxes = [...document.querySelectorAll('.ledger tbody tr')].map((row) => row.getBoundingClientRect())
    return boxes.filter(({ top, bottom }) => top >= 0 && bottom <= innerHeight).length
  })
  expect(whole).toBeGreaterThanOrEqual(20)
})

test('at 390 an entry of the ledger is a card of at most three lines', async () => {
  await page.setViewportSize(phone)
  await page.goto(`${rig.base}${wallet}#ledger`)
  const lines = await page.evaluate(linesOfEntries)
  expect([lines.length, Math.max(...lines)]).toEqual([24, 3])
})

test('the copy button of an entry works by keyboard, copies the whole reference, and says so', async () => {
  await page.setViewportSize(desk)
  await page.goto(rig.base + wallet)
  const button = page.getByRole('button', { name: 'Copy reference' }).first()
  await button.focus()
  const label = await button.innerHTML()
  for (const key of ['Enter', 'Space']) {
    await page.evaluate(() => navigator.clipboard.writeText('before'))
    await page.keyboard.press(key)
    await until(page, () => document.querySelector('p[role="status"]')?.textContent === 'Copied')
    expect(await page.evaluate(() => navigator.clipboard.readText())).toBe(longId(23))
  }
  await until(page, () => document.querySelector('p[role="status"]')?.textContent === '')
  expect(await button.innerHTML()).toBe(label)
})

test('without JavaScript the reference leads to the whole texts, and the menu of a phone opens and closes by keyboard', async () => {
  const plain = await rig.openPage({ javaScriptEnabled: false, viewport: phone })
  await plain.context().addCookies(await page.context().cookies())
  await plain.goto(rig.base + wallet)
  expect(await plain.getByRole('button', { name: 'Copy reference' }).count()).toBe(0)
  expect(await plain.getByRole('columnheader', { name: 'Time (UTC)' }).count()).toBe(1)
  const menu = plain.getByRole('navigation', { name: 'Admin area' })
  expect(await menu.isVisible()).toBe(false)
  await plain.locator('.menu summary').focus()
  await plain.keyboard.press('Enter')
  await menu.waitFor()
  await plain.keyboard.press('Tab')
  expect(await menu.getByRole('link', { name: 'Overview' }).evaluate((link) => link.matches(':focus'))).toBe(true)
  await plain.locator('.menu summary').focus()
  await plain.keyboard.press('Enter')
  await menu.waitFor({ state: 'hidden' })
  await plain.locator('.ledger .reference a').first().click()
  await plain.getByText(description).waitFor()
  expect(await plain.locator('input[name="id"]').inputValue()).toBe(longId(23))
  await plain.context().close()
})

test('Escape closes the menu of a phone, and its button has the focus', async () => {
  await page.setViewportSize(phone)
  await page.goto(`${rig.base}/admin`)
  await page.locator('.menu summary').click()
  await page.getByRole('navigation', { name: 'Admin area' }).waitFor()
  expect(await findMisfits()).toEqual([])
  await page.keyboard.press('Escape')
  await page.getByRole('navigation', { name: 'Admin area' }).waitFor({ state: 'hidden' })
  expect(await page.evaluate(() => document.activeElement?.localName)).toBe('summary')
})

test('the tabs of an app work as links do: Back returns to the tab before', async () => {
  await page.goto(rig.base + app)
  await page.getByRole('link', { name: 'Secrets', exact: true }).click()
  await page.waitForURL(`${rig.base}${app}/secrets`)
  await page.getByRole('link', { name: 'Calls and errors' }).click()
  await page.waitForURL(`${rig.base}${app}/calls`)
  await page.goBack()
  await page.getByRole('heading', { name: 'Secrets', exact: true }).waitFor()
  expect(page.url()).toBe(`${rig.base}${app}/secrets`)
})

test('at 390 and 1280 nothing is cut off without a title, and no page is too wide', async () => {
  const tabs = ['', '/settings', '/secrets', '/settlements', '/calls'].map((tab) => app + tab)
  const misfits: string[] = []
  for (const path of [wallet, ...tabs, '/admin', '/admin/corrections']) {
    await page.goto(rig.base + path)
    for (const size of [phone, desk]) {
      // The table of corrections has eight columns, and scrolls inside its frame.
      if (path === '/admin/corrections' && size === desk) continue
      await page.setViewportSize(size)
      await until(page, (width) => innerWidth === width, size.width)
      misfits.push(...(await findMisfits()).map((line) => `${path} ${size.width}: ${line}`))
    }
  }
  expect(misfits).toEqual([])
})
