/** Packs files into the archive that npm installs. The same files always give the same bytes. */
import { gzipSync } from 'node:zlib'
import type { SdkFiles } from './build.ts'

const blockBytes = 512
/** The fixed time that npm gives every file, 26 October 1985, so that an archive does not depend on when it was made. */
const modifiedAt = 499_162_500

export function packTarball(files: SdkFiles): Uint8Array<ArrayBuffer> {
  const blocks: Uint8Array[] = []
  for (const [path, bytes] of files) {
    const padding = new Uint8Array((blockBytes - (bytes.length % blockBytes)) % blockBytes)
    blocks.push(headerOf(`package/${path}`, bytes.length), bytes, padding)
  }
  // Two empty blocks end an archive.
  const archive = Buffer.concat([...blocks, new Uint8Array(2 * blockBytes)])
  const packed = new Uint8Array(gzipSync(archive, { level: 9 }))
  // Byte 9 of a gzip header names the operating system; 255 means "unknown".
  packed[9] = 255
  return packed
}

const octal = (value: number, digits: number) => `${value.toString(8).padStart(digits, '0')}\0`

/** A POSIX ustar header: fixed offsets, octal numbers, and a checksum over the header with its own field as spaces. */
function headerOf(name: string, size: number): Uint8Array {
  if (name.length > 100) throw new Error(`${name} is too long for an archive.`)
  const header = Buffer.alloc(blockBytes)
  const write = (text: string, at: number) => header.write(text, at, 'latin1')
  write(name, 0)
  write(octal(0o644, 7), 100)
  write(octal(0, 7), 108)
  write(octal(0, 7), 116)
  write(octal(size, 11), 124)
  write(octal(modifiedAt, 11), 136)
  write(' '.repeat(8), 148)
  write('0', 156)
  write('ustar\0', 257)
  write('00', 263)
  const sum = header.reduce((total, byte) => total + byte, 0)
  write(`${sum.toString(8).padStart(6, '0')}\0 `, 148)
  return header
}
