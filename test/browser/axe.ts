/** What axe finds in a document, as lines to read. Only what is serious or critical counts. */
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { AxeResults } from 'axe-core'
import type { Frame, Page } from '@playwright/test'

const source = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

export async function findBarriers(frame: Frame | Page): Promise<string[]> {
  await frame.evaluate(source)
  const { violations } = (await frame.evaluate('axe.run(document, { iframes: false })')) as AxeResults
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .flatMap(({ id, nodes }) => nodes.map((node) => `${id}: ${node.html} ${node.failureSummary}`))
}
