/** What axe finds in a document, as lines to read. */
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { AxeResults, Result } from 'axe-core'
import type { Frame, Page } from '@playwright/test'

const source = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

/** Pictures for people to look at, in test/screenshots: SCREENSHOTS=1 takes them. */
export const wantsPictures = process.env['SCREENSHOTS'] === '1'

/**
 * Every rule, but only violations are described in full, and by their HTML: describing what is well costs as much as finding out. Style sheets and
 * media are not loaded a second time, for the rules that look into them are about pages that lock their orientation or play sounds.
 */
const options = { iframes: false, resultTypes: ['violations'], selectors: false, preload: false }
/** The rules about colours: all that can change when nothing but the colour scheme does. */
const colours = { ...options, runOnly: ['color-contrast', 'link-in-text-block'] }

/** What is serious or critical. */
export async function findBarriers(frame: Frame | Page, rules: 'all' | 'colours' = 'all'): Promise<string[]> {
  return (await examine(frame, rules))
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .flatMap(describe)
}

/** Everything, however small. */
export async function findingsIn(frame: Frame | Page, rules: 'all' | 'colours' = 'all'): Promise<string[]> {
  return (await examine(frame, rules)).flatMap(describe)
}

async function examine(frame: Frame | Page, rules: 'all' | 'colours'): Promise<Result[]> {
  await endFading(frame)
  if (!(await frame.evaluate('"axe" in window'))) await frame.evaluate(source)
  const wanted = JSON.stringify(rules === 'all' ? options : colours)
  const { violations } = (await frame.evaluate(`axe.run(document, ${wanted})`)) as AxeResults
  return violations
}

/**
 * Colours fade from one scheme to the other; axe wants to see where they end. They are brought there, not waited for: in a frame that
 * Chromium does not draw, because it is out of sight, no time passes for them.
 */
export const endFading = (shown: Frame | Page) =>
  shown.evaluate(() => {
    const animations = document.getAnimations()
    for (const each of animations) if (each.effect?.getComputedTiming().endTime !== Infinity) each.finish()
  })

function describe({ id, nodes }: Result): string[] {
  return nodes.map((node) => `${id}: ${node.html} ${node.failureSummary}`)
}
