/** What axe finds in a document, as lines to read. */
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { AxeResults, Result } from 'axe-core'
import type { Frame, Page } from '@playwright/test'

const source = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

/** Every rule, but only violations are described in full: describing what is well costs as much as finding out. */
const options = { iframes: false, resultTypes: ['violations'] }

/** What is serious or critical. */
export async function findBarriers(frame: Frame | Page): Promise<string[]> {
  return (await examine(frame)).filter(({ impact }) => impact === 'serious' || impact === 'critical').flatMap(describe)
}

/** Everything, however small. */
export async function findingsIn(frame: Frame | Page): Promise<string[]> {
  return (await examine(frame)).flatMap(describe)
}

async function examine(frame: Frame | Page): Promise<Result[]> {
  if (!(await frame.evaluate('"axe" in window'))) await frame.evaluate(source)
  const { violations } = (await frame.evaluate(`axe.run(document, ${JSON.stringify(options)})`)) as AxeResults
  return violations
}

function describe({ id, nodes }: Result): string[] {
  return nodes.map((node) => `${id}: ${node.html} ${node.failureSummary}`)
}
