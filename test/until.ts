/**
 * Waiting for something in a document, asked from outside. Playwright's own waits bring some 300 kB of script into every
 * document that they read, twice where they return an element: a third of what it costs Chromium to load a page.
 */
import type { Frame, Page } from '@playwright/test'
import { hasLeft } from './chromium.ts'
import { eventually } from './eventually.ts'

type Sendable = string | number | readonly (string | number)[]

/** Waits until the function, which runs in the document, says yes; through documents that go meanwhile. */
export async function until<Argument extends Sendable>(
  shown: Page | Frame,
  isSo: (argument: Argument) => boolean | undefined,
  argument?: Argument,
): Promise<void> {
  const ask = isSo as (argument: unknown) => boolean | undefined
  try {
    await eventually(async () => {
      try {
        return Boolean(await shown.evaluate(ask, argument))
      } catch (error) {
        if (!hasLeft(error)) throw error
        return false
      }
    }, true)
  } catch (error) {
    throw await withShownText(error, shown)
  }
}

/** Adds what the document shows to the error of a wait: a failure by chance is seen once. */
export async function withShownText(error: unknown, shown: Page | Frame): Promise<unknown> {
  if (!(error instanceof Error)) return error
  const text = await shown.evaluate(() => document.body.innerText).catch((reason: unknown) => String(reason))
  error.message += `\n${shown.url().split('?')[0]} shows:\n${text.slice(0, 2_000)}`
  return error
}

/** Waits until something that matches the CSS selector can be seen. */
export async function untilSeen(shown: Page | Frame, selector: string): Promise<void> {
  await until(
    shown,
    (selector) => {
      const found = document.querySelector(selector)
      const { width = 0, height = 0 } = found?.getBoundingClientRect() ?? {}
      return width > 0 && height > 0 && found!.checkVisibility({ visibilityProperty: true })
    },
    selector,
  )
}

export const isThere = (frame: Frame) => frame.url() !== '' && frame.url() !== 'about:blank'

/** The document in the first frame of another one, once it is there. */
export async function frameIn(parent: Page | Frame): Promise<Frame> {
  const around = 'mainFrame' in parent ? parent.mainFrame() : parent
  await eventually(() => around.childFrames().slice(0, 1).some(isThere), true)
  return around.childFrames()[0]!
}
