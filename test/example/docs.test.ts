/** The codes, statuses and messages in docs/ are those of the code. */
import { expect, test } from 'bun:test'
import { existsSync } from 'node:fs'
import { ERROR_CODES } from '@billfold/sdk/contract'
import { statusOf, type RefusalCode } from '../../src/api/reply.ts'
import { anchorsOf } from '../deploy/anchors.ts'
import { readGuides } from './snippets.ts'

const guides = await readGuides()
const textOf = (name: string) => guides.find((guide) => guide.name === name)!.text
type Row = readonly [type: string, fields: string[]]

const byType = ([a]: Row, [b]: Row) => a.localeCompare(b)

const namesIn = (text: string, pattern: RegExp) => [...text.matchAll(pattern)].map(([, name = '']) => name)

const repository = new URL('../../', import.meta.url)

test('the guide lists every error code, once, with its status', () => {
  const rows = [...textOf('errors.md').matchAll(/^\| `([A-Z_]+)`\s+\| (\d{3}|–) (.*)$/gm)]
  expect(rows.map(([, code]) => code as string).sort()).toEqual([...ERROR_CODES].sort())
  for (const [, code = '', status, text = ''] of rows) {
    // The service never answers with it, so it has no status.
    if (code === 'ACCOUNT_NOT_LINKED') expect(status).toBe('–')
    else {
      const onGet = /(\d{3}) on GET/.exec(text)?.[1] ?? status
      const right = (['POST', 'GET'] as const).map((method) => statusOf(code as RefusalCode, method))
      expect([code, Number(status), Number(onGet)]).toEqual([code, ...right])
    }
  }
})

test('the guide names the errors of the SDK alone, and the SDK has no others', async () => {
  const source = await Bun.file(new URL('sdk/server/error.ts', repository)).text()
  const codes = namesIn(/type FaultCode = (.*)$/m.exec(source)![1]!, /'(\w+)'/g)
  const [sentence = ''] = /^The SDK adds four codes.*$/m.exec(textOf('errors.md'))!
  expect(namesIn(sentence, /`([A-Z_]+)`/g).sort()).toEqual(codes.sort())
})

test('the guide lists every message, with exactly its fields', async () => {
  const source = await Bun.file(new URL('sdk/contract/messages.ts', repository)).text()
  const union = [...source.matchAll(/\{ type: '(SERVICE_\w+)'; version: 1(?:; ([^}]*))? \}/g)]
  const expected = union.map(([, type = '', fields = '']): Row => [type, namesIn(fields, /(\w+)\??:/g)])
  expect(expected.length).toBe(11)
  const rows = [...textOf('messages.md').matchAll(/^\| `(SERVICE_\w+)`\s+\| ([^|]*)\|/gm)]
  const listed = rows.map(([, type = '', fields = '']): Row => [type, namesIn(fields, /`(\w+)`/g)])
  expect(listed.sort(byType)).toEqual(expected.sort(byType))
})

const addressOf = (guide: string) => new URL(`docs/${guide}`, repository)

test('every link in the guides has a target', async () => {
  const dead: string[] = []
  for (const { name, text } of guides) {
    for (const [, target = ''] of text.matchAll(/\]\(([^)]+)\)/g)) {
      const [path = '', anchor] = target.split('#')
      // An empty path resolves to the guide itself.
      const file = new URL(path, addressOf(name))
      const guide = guides.find((other) => addressOf(other.name).href === file.href)
      if (!existsSync(file) || (anchor && !anchorsOf(guide?.text ?? '').includes(anchor)))
        dead.push(`${name} → ${target}`)
    }
  }
  expect(dead).toEqual([])
})
