/** Violations that axe finds in a document, one line each. */
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { AxeResults, Result } from 'axe-core'
import type { Frame, Page } from '@playwright/test'
import { until } from '../until.ts'
import { wantsAll } from '../wants-all.ts'

const source = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

/** SCREENSHOTS=1 writes screenshots to test/screenshots, for review by people. */
export const wantsPictures = process.env['SCREENSHOTS'] === '1'

/**
 * Only violations are described in full, and by their HTML: describing passed rules costs as much as checking them. Style sheets
 * and media are not loaded again, because only rules about locked orientation and playing sounds need them.
 */
const options = { iframes: false, resultTypes: ['violations'], selectors: false, preload: false }
const colourRules = ['color-contrast', 'link-in-text-block']
const colours = { ...options, runOnly: colourRules }
const impacts = ['minor', 'moderate', 'serious', 'critical'] as const
type Impact = (typeof impacts)[number]
const barriers: readonly Impact[] = ['serious', 'critical']

/** Serious and critical violations. */
export async function findBarriers(shown: Frame | Page): Promise<string[]> {
  return await findViolations(shown, barriers)
}

export async function findAllViolations(shown: Frame | Page): Promise<string[]> {
  return await findViolations(shown, impacts)
}

/**
 * Checks every rule once. If the page shows a component that no earlier page has shown, it compares the colours of both schemes, and checks
 * the colour rules, which cost most, in each scheme that has new ones: the colours of a text depend only on the element, its ancestors and
 * the style sheet. `npm test -- all` checks every page.
 */
async function findViolations(shown: Frame | Page, meant: readonly Impact[]): Promise<string[]> {
  const found: string[] = []
  const check = async (options: object, label = '') => {
    const chosen = (await examine(shown, options)).filter(({ impact }) => meant.includes(impact as Impact))
    found.push(...chosen.flatMap(describe).map((line) => label + line))
  }
  if (!(await shown.evaluate('"axe" in window'))) await shown.evaluate(source)
  await check(await withoutColours(shown, meant))
  if (!isNew(await shown.evaluate(listComponents), 'component')) return found
  const page = 'page' in shown ? shown.page() : shown
  const isDark = await shown.evaluate(() => matchMedia('(prefers-color-scheme: dark)').matches)
  for (const colorScheme of isDark ? (['light', 'dark'] as const) : (['dark', 'light'] as const)) {
    await setScheme(page, shown, colorScheme)
    await endFading(shown)
    if (isNew(await shown.evaluate(listColours), 'colour')) await check(colours, `${colorScheme}: `)
  }
  return found
}

const examined = new Set<string>()

/** Whether one of them was on no earlier page. */
function isNew(listed: readonly string[], kind: 'component' | 'colour'): boolean {
  const unknown = listed.map((each) => `${kind} ${each}`).filter((each) => !examined.has(each))
  for (const each of unknown) examined.add(each)
  return wantsAll || unknown.length > 0
}

const withoutColoursBy = new Map<readonly Impact[], object>()

/** Leaves out the rules of other impacts too: what a rule finds has the impact of the rule. */
async function withoutColours(shown: Frame | Page, meant: readonly Impact[]): Promise<object> {
  const known = withoutColoursBy.get(meant)
  if (known) return known
  const all = (await shown.evaluate('axe._audit.rules.map(({ id, impact }) => ({ id, impact }))')) as RuleImpact[]
  const others = all.filter(({ impact }) => !meant.includes(impact)).map(({ id }) => id)
  const rules = Object.fromEntries([...colourRules, ...others].map((rule) => [rule, { enabled: false }]))
  const made = { ...options, rules }
  withoutColoursBy.set(meant, made)
  return made
}

type RuleImpact = { readonly id: string; readonly impact: Impact }

async function examine(shown: Frame | Page, wanted: object): Promise<Result[]> {
  await endFading(shown)
  const { violations } = (await shown.evaluate(`axe.run(document, ${JSON.stringify(wanted)})`)) as AxeResults
  return violations
}

/** The colours of each visible text as they are computed in the present scheme, and what else decides whether it can be read. */
function listColours(): string[] {
  const backgroundOf = (element: Element | null): string => {
    if (!element) return ''
    const { backgroundColor, backgroundImage, opacity, filter } = getComputedStyle(element)
    const own = [backgroundColor, backgroundImage, opacity, filter].join()
    const isOpaque = backgroundColor.startsWith('rgb(') && backgroundImage === 'none'
    const around = isOpaque && opacity === '1' ? '' : backgroundOf(element.parentElement)
    return own === 'rgba(0, 0, 0, 0),none,1,none' ? around : `${own}>${around}`
  }
  const seen = [...document.body.querySelectorAll('*')].filter((element) => {
    const texts = [...element.childNodes].filter((node) => node.nodeType === Node.TEXT_NODE)
    const hasText = element instanceof HTMLInputElement || texts.some((node) => node.textContent!.trim() !== '')
    return hasText && element.checkVisibility({ visibilityProperty: true, opacityProperty: true })
  })
  const describe = (element: Element): string => {
    const { color, fontSize, fontWeight, textDecorationLine, textShadow } = getComputedStyle(element)
    const block =
      element.localName === 'a' ? `${textDecorationLine} in ${getComputedStyle(element.parentElement!).color}` : ''
    const isDisabled = element.closest(':disabled, [aria-disabled=true]') !== null
    return [color, fontSize, fontWeight, textShadow, block, isDisabled, backgroundOf(element)].join(' ')
  }
  return [...new Set(seen.map(describe))]
}

/** Each visible element with text, described by the tags, classes and attributes that style sheets may select it by. */
function listComponents(): string[] {
  const named = new Set<string>()
  const collect = (rules: CSSRuleList) => {
    for (const rule of rules) {
      const selector = (rule as CSSStyleRule).selectorText ?? ''
      for (const [, name] of selector.matchAll(/\[([\w-]+)/g)) named.add(name!)
      if ('cssRules' in rule) collect(rule.cssRules as CSSRuleList)
    }
  }
  let missing = 0
  for (const sheet of document.styleSheets) {
    try {
      collect(sheet.cssRules)
    } catch {
      // A style sheet that did not load has no rules to read, and the page looks different without it.
      missing++
    }
  }
  for (const name of ['class', 'style', 'disabled']) named.add(name)
  const paths = new Map<Element, string>()
  const pathOf = (element: Element): string => {
    const known = paths.get(element)
    if (known !== undefined) return known
    const attributes = [...named].map((name) => element.getAttribute(name) ?? '-').join()
    const isChosen = [element, element.previousElementSibling, ...element.children].some((e) => e?.matches(':checked'))
    const state = `${isChosen ? ':checked' : ''}${element.matches(':focus') ? ':focus' : ''}`
    const around = element.parentElement ? pathOf(element.parentElement) : ''
    const path = `${around}>${element.localName}[${attributes}]${state}`
    paths.set(element, path)
    return path
  }
  const inline = [...document.querySelectorAll('style')].map((style) => style.textContent).join()
  const seen = [...document.body.querySelectorAll('*')].filter((element) => {
    const texts = [...element.childNodes].filter((node) => node.nodeType === Node.TEXT_NODE)
    const hasText = element instanceof HTMLInputElement || texts.some((node) => node.textContent!.trim() !== '')
    return hasText && element.checkVisibility()
  })
  return [...new Set(seen.map((element) => `${missing} ${inline} ${pathOf(element)}`))]
}

/** A frame takes the scheme of the page around it, and learns it only when that page is drawn. */
export async function setScheme(page: Page, shown: Frame | Page, colorScheme: 'light' | 'dark'): Promise<void> {
  await page.emulateMedia({ colorScheme })
  await until(shown, (scheme) => matchMedia(`(prefers-color-scheme: ${scheme})`).matches, colorScheme)
}

/**
 * Ends the fading of colours from one scheme to the other, because axe must see the final colours. Waiting does not help: in a frame
 * that is out of sight Chromium does not draw, and the transition makes no progress.
 */
export const endFading = (shown: Frame | Page) =>
  shown.evaluate(() => {
    const animations = document.getAnimations()
    for (const each of animations) if (each.effect?.getComputedTiming().endTime !== Infinity) each.finish()
  })

function describe({ id, nodes }: Result): string[] {
  return nodes.map((node) => `${id}: ${node.html} ${node.failureSummary}`)
}
