/** The lines of a gzipped text, one after the other, without ever holding more than a piece of it. */
import { StringDecoder } from 'node:string_decoder'
import type { Readable } from 'node:stream'
import { createGunzip } from 'node:zlib'
import { CopyRefused } from './copy-file.ts'

export type Lines = {
  /** The line that was read last, with its line end. */
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

/** Only a line feed ends a line: other separators, such as U+2028, may stand within a text. */
async function* splitLines(input: Readable): AsyncGenerator<string[]> {
  const gunzip = createGunzip()
  input.on('error', (error) => gunzip.destroy(error))
  input.pipe(gunzip)
  const decoder = new StringDecoder('utf8')
  let rest = ''
  for await (const chunk of gunzip) {
    const lines = (rest + decoder.write(chunk as Buffer)).split('\n')
    rest = lines.pop()!
    yield lines
  }
}
