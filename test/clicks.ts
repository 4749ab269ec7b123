/**
 * Clicks that reach their element. Chromium sends the press and the release as two messages. If the element moves or is replaced between
 * them, or if the frame has moved in its page, the document gets no `click`, but Playwright, which checks only the press, reports success.
 * Here the document itself says whether the element was clicked, and a click that was lost is repeated.
 */
import type { BrowserContext, Frame, Page } from '@playwright/test'

declare global {
  interface Window {
    /** Recorded in every document from its start. */
    presses?: { readonly document: string; readonly count: number; readonly lost: string | null }
  }
}

/** Runs in every document. */
function recordPresses(): void {
  const press = { count: 0, isClicked: true, wanted: document.documentElement, at: '' }
  const describe = () => {
    const { x, y, width, height } = press.wanted.getBoundingClientRect()
    const box = press.wanted.isConnected ? [x, y, width, height].map(Math.round).join() : 'nowhere'
    return `${box}, scrolled ${Math.round(scrollY)} in ${innerWidth} × ${innerHeight}`
  }
  addEventListener(
    'pointerdown',
    ({ isTrusted, target }) => {
      if (!isTrusted) return
      const element = target as HTMLElement
      press.wanted = element.closest<HTMLElement>('button, a, label, summary, select, input, textarea') ?? element
      press.count++
      press.isClicked = false
      press.at = describe()
    },
    true,
  )
  addEventListener(
    'click',
    (event) => {
      if (event.isTrusted && event.composedPath().includes(press.wanted)) press.isClicked = true
    },
    true,
  )
  const name = crypto.getRandomValues(new Uint32Array(2)).join()
  Object.defineProperty(window, 'presses', {
    get: () => ({
      document: name,
      count: press.count,
      lost: press.isClicked ? null : `pressed at ${press.at}; now at ${describe()}`,
    }),
  })
}

/** Null where the document has no scripts, or is gone: then nothing is known. */
const pressesIn = async (frame: Frame) => {
  try {
    return (await frame.evaluate(() => window.presses)) ?? null
  } catch {
    return null
  }
}

/** Of the frame, and of the frames in it that the selector may enter. */
const documentsOf = (frame: Frame, selector: string): Frame[] =>
  selector.includes('enter-frame') ? [frame, ...frame.childFrames()] : [frame]

const most = 10

/** `check` and `uncheck` do not click what has its state already, and fail if a click did not change it. */
async function clickSurely(frame: Frame, selector: string, name: Method, act: () => Promise<void>): Promise<void> {
  for (let tries = 1; ; tries++) {
    const documents = documentsOf(frame, selector)
    const before = await Promise.all(documents.map(pressesIn))
    const failure = await act().then(
      () => undefined,
      (error: Error) => error,
    )
    if (failure && !failure.message.includes('did not change its state')) throw failure
    if (!failure && name !== 'click') return
    const reason = whyLost(before, await Promise.all(documents.map(pressesIn)))
    if (reason === null && failure) throw failure
    if (reason === null) return
    if (tries === most) throw new Error(`${most} clicks on ${selector} were lost: ${reason}`)
    process.stderr.write(`A click on ${selector} was lost: ${reason}\n`)
  }
}

type Presses = NonNullable<Window['presses']>

/** Null if the click was received, or may have been, in a document that is gone. */
function whyLost(before: (Presses | null)[], after: (Presses | null)[]): string | null {
  if (after.some((each, i) => each === null || each.document !== before[i]?.document)) return null
  const pressed = after.find((each, i) => each!.count > before[i]!.count)
  return pressed ? pressed.lost : 'no press arrived'
}

const methods = ['click', 'check', 'uncheck'] as const
type Method = (typeof methods)[number]

const patched = new Set<object>()

/** Playwright's own methods, which locators and pages call too. */
function patch(prototype: Frame): void {
  if (patched.has(prototype)) return
  patched.add(prototype)
  for (const name of methods) {
    const original = prototype[name]
    prototype[name] = async function (this: Frame, selector: string, options?: object) {
      await clickSurely(this, selector, name, () => original.call(this, selector, options))
    }
  }
}

export async function makeClicksSure(context: BrowserContext): Promise<BrowserContext> {
  context.on('page', (page: Page) => patch(Object.getPrototypeOf(page.mainFrame()) as Frame))
  await context.addInitScript(recordPresses)
  return context
}
