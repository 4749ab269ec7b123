/** The threat model in docs/security.md names tests, and they are there. */
import { expect, test } from 'bun:test'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'

const root = new URL('..', import.meta.url).pathname
const text = await readFile(join(root, 'docs/security.md'), 'utf8')
const sections = text.split(/^## /m).filter((part) => part.startsWith('Threats'))
const rows = sections.flatMap((section) =>
  section.split('\n').filter((line) => line.startsWith('| ') && !/^\| (threat|routes|-+)/.test(line)),
)
const named = rows.map((row) =>
  [...row.matchAll(/`([\w./-]+\.test\.tsx?)`: “([^”]+)”/g)].map(([, file, name]) => [file!, name!]),
)

test('every line of the threat model names a test', () => {
  expect(rows.length).toBeGreaterThan(25)
  expect(rows.filter((_, index) => named[index]!.length === 0)).toEqual([])
})

test('every test that the threat model names is there', async () => {
  const missing: string[] = []
  for (const [file, name] of named.flat()) {
    const source = await readFile(join(root, file!), 'utf8').catch(() => '')
    const start = source.indexOf(`'${name}'`)
    if (start === -1 || !/\btest(\.each\([\s\S]*)?\(\s*$/.test(source.slice(Math.max(0, start - 400), start)))
      missing.push(`${file}: ${name}`)
  }
  expect(missing).toEqual([])
})
