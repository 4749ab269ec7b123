/** Reads a file of an archived period, and compares it with what the manifest says of it. */
import { createHash } from 'node:crypto'
import type { Readable } from 'node:stream'
import { createZstdDecompress } from 'node:zlib'
import { splitLines } from '../../copy/lines.ts'
import { ArchiveRefused, type WrittenFile } from './archive-file.ts'

/** The lines of a file, in pages. Refuses, at its end, a file that is not that of the manifest. */
export async function* readArchiveFile(
  { file, bytes, sha256 }: WrittenFile,
  openFile: (name: string) => Readable,
): AsyncGenerator<string[]> {
  const checksum = createHash('sha256')
  const input = openFile(file)
  let read = 0
  input.on('data', (chunk: Buffer) => {
    checksum.update(chunk)
    read += chunk.length
  })
  try {
    yield* splitLines(input, createZstdDecompress())
  } catch (error) {
    throw new ArchiveRefused(`${file} cannot be read: ${error instanceof Error ? error.message : String(error)}.`)
  } finally {
    input.destroy()
  }
  if (read !== bytes) throw new ArchiveRefused(`${file} has ${read} bytes, and the manifest says ${bytes}.`)
  if (checksum.digest('hex') !== sha256)
    throw new ArchiveRefused(`${file} is not the file of the manifest: its SHA-256 is another.`)
}
