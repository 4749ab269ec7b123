/** Whether a document's text fits at every width, at both text sizes and in both directions. */
import type { CDPSession, Frame, Page } from '@playwright/test'
import { until } from '../until.ts'
import { wantsAll } from '../wants-all.ts'
import { wantsPictures } from './axe.ts'

type Shape = { readonly width: 320 | 360 | 800 | 1280; readonly text: 100 | 200; readonly isMirrored?: true }

const widest: Shape = { width: 1280, text: 100 }
const hardest: Shape = { width: 320, text: 200, isMirrored: true }

/** Shapes of one width follow each other, because changing the width takes longest. */
const others: readonly Shape[] = [
  { width: 1280, text: 200 },
  { width: 800, text: 100 },
  { width: 360, text: 100 },
  { width: 360, text: 200 },
  { width: 320, text: 100 },
  { width: 320, text: 200 },
]

/**
 * By default the widest, the hardest and one of the six others, by the name of what is shown: over the hundred states each is tried many
 * times. `npm test -- all` and pictures take every shape.
 */
function shapesFor(name: string): readonly Shape[] {
  const chosen = others[Bun.hash.crc32(name) % others.length]!
  return [widest, ...(wantsAll || wantsPictures ? others : [chosen]), hardest]
}

export const nameOf = ({ width, text, isMirrored }: Shape) =>
  `${width}${text === 200 ? '-200' : ''}${isMirrored ? '-mirrored' : ''}`

/**
 * Shows the document in the shapes of the name and collects what does not fit. `onShape` may take a picture. Afterwards the document has its first
 * text size and direction, and the last width.
 */
export async function findMisfits(
  page: Page,
  shown: Frame | Page,
  name: string,
  onShape: (shape: Shape) => Promise<void> = async () => {},
): Promise<string[]> {
  const devtools = await page.context().newCDPSession(shown)
  const isUnseen = 'parentFrame' in shown && !wantsPictures
  if (isUnseen) await placeFrames(page, unseen)
  const found: string[] = []
  let width = 0
  for (const shape of shapesFor(name)) {
    if (shape.width !== width) await setWidth(page, shown, (width = shape.width))
    await setText(devtools, shape.text)
    if (shape.isMirrored) await mirror(shown)
    found.push(...(await shown.evaluate(misfitsIn)).map((line) => `${nameOf(shape)}: ${line}`))
    await onShape(shape)
    if (shape.isMirrored) await mirror(shown)
  }
  await setText(devtools, 100)
  await devtools.detach()
  if (isUnseen) await placeFrames(page, '')
  // Only a frame in sight draws, and only one that draws can report what is at one of its points.
  if (isUnseen) await shown.evaluate(() => new Promise((drawn) => requestAnimationFrame(drawn)))
  return found
}

/** In a frame below the window Chromium lays out, and does not draw: a quarter of the work. */
const unseen = 'absolute'

const placeFrames = (page: Page, position: string) =>
  page.evaluate((position) => {
    for (const { style } of document.querySelectorAll('iframe')) Object.assign(style, { position, top: '9999px' })
  }, position)

/** Sets the width of the frame alone in a shop, which is faster than changing the window. */
async function setWidth(page: Page, shown: Frame | Page, width: number): Promise<void> {
  const isFramed = 'parentFrame' in shown
  if (!isFramed || page.viewportSize()!.width < width) await page.setViewportSize({ width, height: 900 })
  if (isFramed)
    await page.evaluate((width) => {
      for (const frame of document.querySelectorAll('iframe')) frame.style.width = `${width}px`
    }, width)
  // A frame of another origin has its own process, which learns the new width later.
  await until(shown, (width) => innerWidth === width, width)
}

/** As a user sets it in the browser: media queries in `rem` follow too. */
async function setText(devtools: CDPSession, text: 100 | 200): Promise<void> {
  const size = (16 * text) / 100
  await devtools.send('Page.setFontSizes', { fontSizes: { standard: size, fixed: (size * 13) / 16 } })
}

const mirror = (shown: Frame | Page) =>
  shown.evaluate(() => {
    const { documentElement: root } = document
    root.dir = root.dir === 'rtl' ? 'ltr' : 'rtl'
  })

/** Runs in the page, at its present width. */
export function misfitsIn(): string[] {
  const found = new Set<string>()
  const root = document.documentElement
  // Inside, because only this function is sent to the page.
  const dom = {
    describe(element: Element, text: string): string {
      const classes = (element.getAttribute('class') ?? '').split(' ')
      return `${[element.localName, ...classes].join('.')} “${text.trim().slice(0, 40)}”`
    },
    /** Remembers what is asked about an element: most texts have the same ancestors. */
    remember<Answer>(ask: (element: Element) => Answer): (element: Element) => Answer {
      const known = new Map<Element, Answer>()
      return (element) => {
        if (!known.has(element)) known.set(element, ask(element))
        return known.get(element)!
      }
    },
    isReadable({ data, parentElement }: Text): boolean {
      if (data.trim() === '') return false
      const isLeftOut = parentElement!.closest('.visually-hidden, script, style, noscript, option, textarea') !== null
      if (isLeftOut || isClipped(parentElement!)) return false
      return parentElement!.checkVisibility({ visibilityProperty: true, opacityProperty: true })
    },
    linesOf(rects: DOMRect[]): number {
      return new Set(rects.map(({ top }) => Math.round(top / 4))).size
    },
    blockOf(element: Element): Element {
      const isInline = ['inline', 'contents'].includes(getComputedStyle(element).display)
      return isInline ? dom.blockOf(element.parentElement!) : element
    },
    /** Text that is cut off is complete in a title. */
    isTitled(element: Element, text: string): boolean {
      return element.closest('[title]')?.getAttribute('title')?.includes(text) ?? false
    },
  }
  /** Hidden from sight as `.visually-hidden` is, by a rule for narrow pages: the head of a table whose rows are cards. */
  const isClipped = dom.remember((element): boolean => {
    const { parentElement } = element
    return getComputedStyle(element).clipPath === 'inset(50%)' || (parentElement !== null && isClipped(parentElement))
  })
  /** The boxes around an element that cut off what leaves them, itself included. */
  const cuttersOf = dom.remember((element): DOMRect[] => {
    if (element === document.body) return []
    const around = element.parentElement ? cuttersOf(element.parentElement) : []
    return getComputedStyle(element).overflowX === 'visible' ? around : [element.getBoundingClientRect(), ...around]
  })
  const boxOf = dom.remember((element) => dom.blockOf(element).getBoundingClientRect())
  if (root.scrollWidth > innerWidth) found.add(`the page is ${root.scrollWidth} px wide`)

  const shown: { rect: DOMRect; node: Text; cell: Element | null }[] = []
  const range = document.createRange()
  const rectsOf = () => [...range.getClientRects()].filter(({ width }) => width > 0.5)

  function checkEdges(node: Text): void {
    const element = node.parentElement!
    const block = boxOf(element)
    const isTitledHere = dom.isTitled(element, node.data.trim())
    const cell = element.closest('th, td')
    for (const rect of rectsOf()) {
      /** What of it is seen. */
      let { left, right, bottom } = rect
      const sticksOut = (box: DOMRect) => rect.left < box.left - 1 || rect.right > box.right + 1
      if (!isTitledHere && sticksOut(block)) found.add(`${dom.describe(element, node.data)} is wider than its box`)
      if (!isTitledHere && (rect.left < -1 || rect.right > innerWidth + 1))
        found.add(`${dom.describe(element, node.data)} leaves the frame`)
      for (const box of cuttersOf(element)) {
        const isCut = sticksOut(box) || rect.bottom > box.bottom + 2 || rect.top < box.top - 2
        if (!isCut) continue
        left = Math.max(left, box.left)
        right = Math.min(right, box.right)
        bottom = Math.min(bottom, box.bottom)
        if (!isTitledHere) found.add(`${dom.describe(element, node.data)} is cut off`)
      }
      if (right > left && bottom > rect.top + 2)
        shown.push({ rect: new DOMRect(left, rect.top, right - left, bottom - rect.top), node, cell })
    }
  }

  /** A word may break only where a whole line of its card, or of its column, is too short for it. */
  function checkWords(node: Text): void {
    if (dom.linesOf(rectsOf()) < 2) return
    const card = node.parentElement!.closest('.button, .ask, .notice, .side, .card, .hero, main') ?? document.body
    const { paddingLeft, paddingRight } = getComputedStyle(card)
    const line = card.clientWidth - parseFloat(paddingLeft) - parseFloat(paddingRight)
    // A space that does not break belongs to its word. Japanese breaks anywhere, and an address is not a word.
    for (const { 0: word, index } of node.data.matchAll(/[^ \n\t\-‐–—/·…]+/gu)) {
      if (/[\u3040-\u30ff\u3400-\u9fff]|[?=&@_:]|\.\w/u.test(word)) continue
      range.setStart(node, index)
      range.setEnd(node, index + word.length)
      const rects = rectsOf()
      const width = rects.reduce((sum, rect) => sum + rect.width, 0)
      if (dom.linesOf(rects) > 1 && width <= line)
        found.add(`${dom.describe(node.parentElement!, word)} is broken inside`)
    }
  }

  /** An amount in two lines reads as another amount. */
  function checkAmount(node: Text): void {
    const isBroken = node.parentElement!.closest('.money') !== null && dom.linesOf(rectsOf()) > 1
    if (isBroken) found.add(`the amount ${dom.describe(node.parentElement!, node.data)} is in several lines`)
  }

  /** How far a range begins and ends inside a box. */
  function insetsOf(box: DOMRect): { left: number; right: number } {
    const rects = rectsOf()
    const left = Math.min(...rects.map((rect) => rect.left)) - box.left
    return { left, right: box.right - Math.max(...rects.map((rect) => rect.right)) }
  }

  const titles = '.entry-title, .top-name > span'

  /** A title may end in dots, but its beginning is seen. */
  function checkBeginning(node: Text): void {
    const title = node.parentElement!.closest(titles)
    if (!title) return
    const { left, right } = insetsOf(title.getBoundingClientRect())
    const isRightToLeft = getComputedStyle(node.parentElement!).direction === 'rtl'
    if ((isRightToLeft ? right : left) < -1) found.add(`the beginning of “${node.data}” is cut off`)
  }

  /** The lines of a title in any language begin where those of the page do. */
  function checkSides(): void {
    for (const title of document.querySelectorAll(titles)) {
      const { direction, textAlign } = getComputedStyle(title.parentElement!)
      if (textAlign.includes('center') || !title.checkVisibility()) continue
      range.selectNodeContents(title)
      const { left, right } = insetsOf(title.getBoundingClientRect())
      if ((direction === 'rtl' ? right : left) > 2) found.add(`“${title.textContent}” is on the wrong side`)
    }
  }

  function checkCodes(): void {
    for (const input of document.querySelectorAll('.code-input'))
      if (input.scrollWidth > input.clientWidth + 1) found.add('a code is longer than its field')
  }

  function checkOverlaps(): void {
    for (const [i, one] of shown.entries())
      for (const other of shown.slice(i + 1)) {
        if (one.node === other.node) continue
        const down = Math.min(one.rect.bottom, other.rect.bottom) - Math.max(one.rect.top, other.rect.top)
        // Most of the many pairs are on different lines.
        if (down <= 0) continue
        const across = Math.min(one.rect.right, other.rect.right) - Math.max(one.rect.left, other.rect.left)
        const isCovered = across > 1 && down > Math.min(one.rect.height, other.rect.height) / 2
        // Cells of a table whose words run together.
        const runsOn = one.cell !== other.cell && down > 4 && across > -4
        if (isCovered || runsOn) found.add(`“${one.node.data.trim()}” and “${other.node.data.trim()}” run together`)
      }
  }

  function checkMarks(): void {
    for (const mark of document.querySelectorAll('.swatch, .preset .icon')) {
      if (!mark.checkVisibility({ visibilityProperty: true })) continue
      const box = mark.getBoundingClientRect()
      for (const { rect, node } of shown) {
        const across = Math.min(rect.right, box.right) - Math.max(rect.left, box.left)
        const down = Math.min(rect.bottom, box.bottom) - Math.max(rect.top, box.top)
        if (across > 0 && down > 0) found.add(`a mark covers “${node.data.trim()}”`)
      }
    }
  }

  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
  while (walker.nextNode()) {
    const node = walker.currentNode as Text
    if (!dom.isReadable(node)) continue
    range.selectNodeContents(node)
    checkEdges(node)
    checkAmount(node)
    checkBeginning(node)
    checkWords(node)
  }
  checkSides()
  checkCodes()
  checkOverlaps()
  checkMarks()
  return [...found]
}
