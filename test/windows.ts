/**
 * Windows of a browser, each as a new visitor has it. To make one costs Chromium more than most tests do with it, so a
 * plain window that was given back is wiped and used again.
 */
import type { Browser, BrowserContextOptions, Frame, Page } from '@playwright/test'
import { withShownText } from './until.ts'

export function newWindows(
  browser: Browser,
  plain: BrowserContextOptions,
  prepare: (page: Page) => Promise<void> = async () => {},
) {
  const free: Page[] = []
  const reusable = new Set<Page>()

  async function open(options: BrowserContextOptions = {}): Promise<Page> {
    const isPlain = Object.keys(options).length === 0
    const wiped = isPlain ? free.pop() : undefined
    if (wiped) return wiped
    const context = await browser.newContext({ ...plain, ...options })
    // Of the windows that this one opens too. A wait that fails costs this long; one on a busy machine must not fail.
    context.setDefaultTimeout(60_000)
    const page = await context.newPage()
    explainWaits(page)
    await prepare(page)
    if (isPlain) reusable.add(page)
    return page
  }

  /** Not for one that a test has changed for good, by a fake clock or a script in every document. */
  async function giveBack(page: Page): Promise<void> {
    if (!reusable.has(page) || page.isClosed()) return await page.context().close()
    await wipe(page)
    free.push(page)
  }

  async function wipe(page: Page): Promise<void> {
    const context = page.context()
    for (const other of context.pages()) if (other !== page) await other.close()
    page.removeAllListeners()
    await Promise.all([
      page.unrouteAll({ behavior: 'ignoreErrors' }),
      context.setOffline(false),
      context.clearCookies(),
      context.clearPermissions(),
    ])
    // Storage belongs to the origins that are open; an error page has none.
    await Promise.all(page.frames().map((frame) => frame.evaluate(() => sessionStorage.clear()).catch(() => {})))
    await page.goto('about:blank')
    const devtools = await context.newCDPSession(page)
    await devtools.send('Page.resetNavigationHistory')
    await devtools.detach()
    const { viewport } = plain
    await Promise.all([
      page.emulateMedia({ colorScheme: null, reducedMotion: null }),
      viewport && page.setViewportSize(viewport),
    ])
  }
  return { open, giveBack }
}

let areExplained = false

/** Playwright's own waits say what they waited for, not what the document showed instead. */
function explainWaits(page: Page): void {
  if (areExplained) return
  areExplained = true
  const frameClass = Object.getPrototypeOf(page.mainFrame()) as Frame
  for (const name of ['waitForSelector', 'click', 'fill'] as const) {
    const wait = frameClass[name] as (...given: unknown[]) => Promise<unknown>
    Object.assign(frameClass, {
      [name](this: Frame, ...given: unknown[]) {
        return wait.apply(this, given).catch(async (error: unknown) => {
          throw await withShownText(error, this)
        })
      },
    })
  }
}
