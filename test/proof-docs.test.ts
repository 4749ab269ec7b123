/** docs/security.md names the proof of every route, from the table of the routes. `UPDATE=1` writes it. */
import { afterAll, expect, test } from 'bun:test'
import { readFile, writeFile } from 'node:fs/promises'
import { proofTable } from './proof-table.ts'
import { openTestService } from './service.ts'

const opened = await openTestService()
afterAll(() => opened.close())

const file = new URL('../docs/security.md', import.meta.url)
const between = /(<!-- proofs -->\n\n)([\s\S]*?)(\n\n<!-- \/proofs -->)/

test('the proofs in the guide are those of the routes', async () => {
  const table = proofTable(opened.app.routes, opened.app.pages)
  const text = await readFile(file, 'utf8')
  if (process.env['UPDATE'])
    await writeFile(
      file,
      text.replace(between, (_, head, __, tail) => head + table + tail),
    )
  expect(between.exec(await readFile(file, 'utf8'))?.[2]).toBe(table)
})

test('a route whose proof changes is found', () => {
  const [first, ...rest] = opened.app.routes.filter(({ proof }) => proof === 'presence')
  const before = proofTable([first!, ...rest], [])
  expect(proofTable([{ ...first!, proof: 'session' }, ...rest], [])).not.toBe(before)
  expect(() => proofTable([], [{ method: 'GET', path: '/widget/new' }])).toThrow('/widget/new')
})
