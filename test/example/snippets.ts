/** The code blocks in docs/, by the name after their language: ```js wallet.mjs */
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'

const folder = new URL('../../docs/', import.meta.url).pathname

export type Guide = { readonly name: string; readonly text: string }

export async function readGuides(): Promise<Guide[]> {
  const names = (await readdir(folder, { recursive: true })).filter((name) => name.endsWith('.md')).sort()
  return await Promise.all(names.map(async (name) => ({ name, text: await readFile(join(folder, name), 'utf8') })))
}

/** Commands for operators need servers that no test has. They were run by hand; test/deploy runs the named ones. */
const isForOperators = (name: string) => /^(operations\/.*|operators|reliability|scaling)\.md$/.test(name)

/** Every code block needs a name: without one no test can run it. */
export function snippetsOf(guides: readonly Guide[]): Map<string, string> {
  const found = new Map<string, string>()
  for (const { name: guide, text } of guides.filter(({ name }) => !isForOperators(name))) {
    for (const [, info = '', code = ''] of text.matchAll(/^```(.*)\n([\s\S]*?)^```$/gm)) {
      const name = info.split(' ')[1]
      if (!name || found.has(name)) throw new Error(`${guide} has code without a name of its own: ${info}`)
      found.set(name, code)
    }
  }
  return found
}
