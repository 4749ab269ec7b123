/** `/docs` in Chromium: it shows every operation, and logs no error. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import type { Browser } from '@playwright/test'
import description from '../../docs/openapi.json'
import { launchChromium } from '../chromium.ts'
import { openTestService, type TestService } from '../service.ts'

setDefaultTimeout(240_000)

let opened: TestService
let server: ReturnType<typeof Bun.serve>
let browser: Browser

beforeAll(async () => {
  opened = await openTestService()
  server = Bun.serve({ port: 0, hostname: '127.0.0.1', idleTimeout: 60, fetch: (request) => opened.app.fetch(request) })
  browser = await launchChromium()
})
afterAll(async () => {
  await browser.close()
  await server.stop(true)
  await opened.close()
})

test('the page of the API shows every operation, and logs no error', async () => {
  const page = await browser.newPage()
  page.setDefaultTimeout(90_000)
  const complaints: string[] = []
  page.on('pageerror', (error) => complaints.push(error.message))
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) complaints.push(message.text())
  })
  page.on('request', (request) => {
    const url = request.url()
    if (!url.startsWith(server.url.origin) && !url.startsWith('data:')) complaints.push(`it asked ${url}`)
  })
  await page.goto(`${server.url.origin}/docs`)
  const operations = Object.entries(description.paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
  )
  await page
    .locator('.opblock')
    .nth(operations.length - 1)
    .waitFor()
  const shown = await page.evaluate(() =>
    [...document.querySelectorAll('.opblock')].map((one) => {
      const method = one.querySelector('.opblock-summary-method')?.textContent
      return `${method} ${one.querySelector('.opblock-summary-path')?.getAttribute('data-path')}`
    }),
  )
  expect(shown.sort()).toEqual(operations.sort())
  // swagger-ui takes a second or more to open one, so the test opens one of each kind: with a query, with a body, with neither.
  for (const id of ['Server-getServerWallet', 'Widget-postWidgetTopupConfirm', 'Operations-getReadyz']) {
    const one = page.locator(`#operations-${id}`)
    await one.locator('.opblock-summary-control').click()
    await one.locator('.responses-table .response').nth(2).waitFor()
    await one.locator('.opblock-summary-control').click()
  }
  expect(await page.locator('.errors-wrapper, .scheme-container .error').count()).toBe(0)
  expect(await page.locator('body').innerText()).not.toMatch(/could not resolve|failed to load|unknown type/i)
  expect(complaints).toEqual([])
  await page.close()
})
