/** Reads the lines of a compressed text one by one, holding only a piece of it in memory. */
import { StringDecoder } from 'node:string_decoder'
import type { Duplex, Readable } from 'node:stream'
import { createGunzip } from 'node:zlib'
import { CopyRefused } from './copy-file.ts'

export type Lines = {
  /** The line read last, with its line end. */
  readonly current: string
  readonly next: () => Promise<string>
}

export function openLines(input: Readable): Lines {
  const pieces = splitLines(input, createGunzip())
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
export async function* splitLines(input: Readable, unpack: Duplex): AsyncGenerator<string[]> {
  input.on('error', (error) => unpack.destroy(error))
  input.pipe(unpack)
  const decoder = new StringDecoder('utf8')
  let rest: string[] = []
  let length = 0
  for await (const chunk of unpack) {
    const text = decoder.write(chunk as Buffer)
    const [first = '', ...others] = text.split('\n')
    rest.push(first)
    length += first.length
    // A few compressed bytes can expand to any number of characters without a line feed.
    if (length > maxLineLength) throw new RangeError(`a line is longer than ${maxLineLength} characters`)
    const last = others.pop()
    if (last === undefined) continue
    yield [rest.join(''), ...others]
    rest = [last]
    length = last.length
  }
}
