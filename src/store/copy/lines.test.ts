import { expect, test } from 'bun:test'
import { Readable } from 'node:stream'
import { gzipSync } from 'node:zlib'
import { CopyRefused } from './copy-file.ts'
import { openLines } from './lines.ts'

const linesOf = (text: string | Buffer) => openLines(Readable.from([gzipSync(text)]))

test('lines of any length come one after the other, wherever the pieces end', async () => {
  const texts = ['a', '', 'é'.repeat(100_000), 'b\u2028c', 'd'.repeat(1_000_000)]
  const lines = linesOf(`${texts.join('\n')}\n`)
  for (const text of texts) expect(await lines.next()).toBe(text)
  expect(lines.next()).rejects.toThrow('cut short')
})

test('a copy with a line that has no end is refused before it fills the memory', async () => {
  const lines = linesOf(Buffer.alloc(64 * 1024 * 1024, 'x'))
  const refused = await lines.next().catch((error: unknown) => error)
  expect(refused).toBeInstanceOf(CopyRefused)
  expect((refused as CopyRefused).message).toContain('damaged')
})
