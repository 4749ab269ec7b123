/** Reads the lines of a gzipped text one by one, holding only a piece of it in memory. */
import { StringDecoder } from 'node:string_decoder'
import type { Readable } from 'node:stream'
import { createGunzip } from 'node:zlib'
import { CopyRefused } from './copy-file.ts'

export type Lines = {
  /** The line read last, with its line end. */
  readonly current: string
  readonly next: () => Promise<string>
}

export function openLines(input: Readable): Lines {
  const pieces = splitLines(input)
  let ready: string[] = []
  let position = 0
  let current = ''
  return {
    get current() {
      return current
    },
    next: async () => {
      while (position === ready.length) {
        const piece = await pieces.next().catch((error: unknown) => {
          throw new CopyRefused('The copy is damaged, or is no copy at all.', { cause: error })
        })
        if (piece.done) throw new CopyRefused('The copy was cut short.')
        ready = piece.value
        position = 0
      }
      const line = ready[position++]!
      current = `${line}\n`
      return line
    },
  }
}

/** Far above any row: a request has at most 64 KiB. */
const maxLineLength = 16 * 1024 * 1024

/** Only a line feed ends a line: other separators, such as U+2028, may occur within a text. */
async function* splitLines(input: Readable): AsyncGenerator<string[]> {
  const gunzip = createGunzip()
  input.on('error', (error) => gunzip.destroy(error))
  input.pipe(gunzip)
  const decoder = new StringDecoder('utf8')
  let rest: string[] = []
  let length = 0
  for await (const chunk of gunzip) {
    const text = decoder.write(chunk as Buffer)
    const [first = '', ...others] = text.split('\n')
    rest.push(first)
    length += first.length
    // A few bytes of gzip can expand to any number of characters without a line feed.
    if (length > maxLineLength) throw new RangeError(`a line is longer than ${maxLineLength} characters`)
    const last = others.pop()
    if (last === undefined) continue
    yield [rest.join(''), ...others]
    rest = [last]
    length = last.length
  }
}
