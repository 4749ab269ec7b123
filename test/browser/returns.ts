/** What a reload of the shop's page and Back show in a state of the hosted pages. */
import type { Frame, Page } from '@playwright/test'
import { hasLeft, leaveBy } from '../chromium.ts'
import { eventually } from '../eventually.ts'
import { frameIn, untilSeen } from '../until.ts'

/** Null if the browser refuses to show the frame. */
type Exception = { readonly shows: string | null; readonly because: string }

export type Returns = {
  /** What a reload shows instead of the same view with the same content, and why. */
  readonly reload?: Exception
  /** What each Back shows, until the first view of the page. */
  readonly back?: readonly string[]
  /** What Forward shows after that instead of what the reload showed, and why. */
  readonly forward?: Exception
}

/** The text and the fields of the document. Times are left out, because they differ. */
const contentOf = (shown: Frame | Page) =>
  shown.evaluate(() => {
    const root = document.getElementById('root')?.cloneNode(true) as HTMLElement | undefined
    // The document has not arrived yet.
    if (!root) return ''
    for (const time of root.querySelectorAll('time')) time.remove()
    const inputs = [...document.querySelectorAll('input')]
    const typed = inputs.map(({ name, value, checked, type }) => (type === 'radio' ? [value, checked] : [name, value]))
    return JSON.stringify([location.pathname, root.textContent, typed])
  })

async function untilContent(shown: Frame | Page, content: string): Promise<void> {
  await eventually(async () => {
    try {
      return await contentOf(shown)
    } catch (error) {
      if (!hasLeft(error)) throw error
      return ''
    }
  }, content)
}

/** Reloads the page around the frame, as F5 does, and goes back through the views and forward again. Returns the document then. */
export async function expectReturns(page: Page, shown: Frame | Page, { reload, back = [], forward = reload }: Returns) {
  const isFramed = 'parentFrame' in shown
  const current = () => (isFramed ? frameIn(page) : page)
  const before = await contentOf(shown)
  const address = page.url()
  const untilShown = async (instead: Exception | undefined) => {
    if (!instead) return await untilContent(await current(), before)
    if (instead.shows !== null) return await untilSeen(await current(), instead.shows)
    await eventually(async () => (await current()).url().startsWith('chrome-error:'), true)
  }
  // A frame that becomes wide shows more.
  await page.setViewportSize({ width: 800, height: 900 })
  // The app's page itself needs the network.
  await page.context().setOffline(false)
  await page.reload()
  await untilShown(reload)
  for (const selector of back) {
    await leaveBy(page, () => history.back())
    await untilSeen(await current(), selector)
    if (page.url() !== address) throw new Error(`Back left ${address}`)
  }
  if (back.length > 0) {
    await leaveBy(page, (steps) => history.go(Number(steps)), String(back.length))
    await untilShown(forward)
  }
  return await current()
}
