/** A click that its element did not receive is repeated, and one that it received is not. */
import { afterAll, beforeAll, beforeEach, expect, setDefaultTimeout, test } from 'bun:test'
import type { Browser, Page } from '@playwright/test'
import { launchChromium } from './chromium.ts'

setDefaultTimeout(60_000)

let browser: Browser
let page: Page
let server: ReturnType<typeof Bun.serve>
beforeAll(async () => {
  server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    fetch: ({ url }) =>
      new Response(
        url.endsWith('/inner')
          ? pageWith('<button>Inside</button>')
          : pageWith('<button>Push</button><label><input type=checkbox> Want</label><a href="/away">Leave</a>'),
        { headers: { 'content-type': 'text/html' } },
      ),
  })
  browser = await launchChromium()
})
beforeEach(async () => {
  page = await browser.newPage()
  await page.goto(server.url.href)
})
afterAll(async () => {
  await browser.close()
  await server.stop(true)
})

declare global {
  interface Window {
    clicked: string[]
    /** Does it once, in the middle of the next click: after the press and before the release. */
    inTheMiddle(act: () => void): void
  }
}

/** Records the texts of what was clicked. */
const pageWith = (body: string) => `<!doctype html><body style="position: relative">${body}<script>
  window.clicked = []
  addEventListener('click', ({ target }) => clicked.push(target.textContent.trim()))
  window.inTheMiddle = (act) => addEventListener('pointerdown', act, { once: true })
</script>`

const clicked = () => page.evaluate(() => window.clicked)

test('on a button that moves under the pointer', async () => {
  await page.evaluate(() =>
    window.inTheMiddle(() => {
      document.querySelector('button')!.style.marginLeft = '300px'
    }),
  )
  await page.click('button')
  expect((await clicked()).filter((text) => text === 'Push')).toEqual(['Push'])
})

test('on a button that is replaced under the pointer', async () => {
  await page.evaluate(() =>
    window.inTheMiddle(() => {
      const old = document.querySelector('button')!
      old.replaceWith(old.cloneNode(true))
    }),
  )
  await page.getByRole('button').click()
  expect((await clicked()).filter((text) => text === 'Push')).toEqual(['Push'])
})

test('on a box that moves under the pointer', async () => {
  await page.evaluate(() =>
    window.inTheMiddle(() => {
      document.querySelector('label')!.style.marginLeft = '300px'
    }),
  )
  await page.getByLabel('Want').check()
  expect(await page.isChecked('input')).toBeTrue()
  // It has its state, so that nothing is clicked.
  await page.getByLabel('Want').check()
  expect(await page.isChecked('input')).toBeTrue()
})

test('on a button in a frame that moves under the pointer', async () => {
  await page.evaluate(() => {
    const frame = document.createElement('iframe')
    frame.src = '/inner'
    document.body.append(frame)
  })
  const inner = page.frameLocator('iframe')
  await inner.getByRole('button').waitFor()
  await page.frames()[1]!.evaluate(() =>
    window.inTheMiddle(() => {
      parent.document.querySelector('iframe')!.style.marginTop = '200px'
      // The new place counts for the release only after a layout.
      parent.document.body.getBoundingClientRect()
    }),
  )
  await inner.getByRole('button').click()
  const received = await page.frames()[1]!.evaluate(() => window.clicked)
  expect(received.filter((text) => text === 'Inside')).toEqual(['Inside'])
})

test('a click that was received is not repeated, whether the button is disabled by it, removed by it, or leads away', async () => {
  const requests: string[] = []
  page.on('request', (request) => requests.push(new URL(request.url()).pathname))
  await page.evaluate(() => {
    const [button, label] = [document.querySelector('button')!, document.querySelector('label')!]
    button.addEventListener('click', () => (button.disabled = true))
    label.addEventListener('click', () => label.remove())
  })
  await page.click('button')
  expect(await clicked()).toEqual(['Push'])
  await page.click('label')
  expect(await page.locator('label').count()).toBe(0)
  await page.click('a')
  await page.waitForURL('**/away')
  expect(requests).toEqual(['/away'])
})
