/** What axe finds in a document, as lines to read. Only what is serious or critical counts. */
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { AxeResults } from 'axe-core'
import type { Frame, Page } from '@playwright/test'

const source = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

/** Every rule, but only violations are described in full: describing what is well costs as much as finding out. */
const options = { iframes: false, resultTypes: ['violations'] }

export async function findBarriers(frame: Frame | Page): Promise<string[]> {
  if (!(await frame.evaluate('"axe" in window'))) await frame.evaluate(source)
  const { violations } = (await frame.evaluate(`axe.run(document, ${JSON.stringify(options)})`)) as AxeResults
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .flatMap(({ id, nodes }) => nodes.map((node) => `${id}: ${node.html} ${node.failureSummary}`))
}
