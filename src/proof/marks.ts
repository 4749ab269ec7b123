/** The first bytes of leaves. They prove nothing, and name the leaf that is not what was sealed. */
import { hashBytes } from './sha256.ts'

export const markBytes = 4

/** Of hashes in one array. */
export function marksOf(hashes: Uint8Array): Buffer {
  const marks = Buffer.allocUnsafe((hashes.length / hashBytes) * markBytes)
  for (let from = 0, to = 0; to < marks.length; from += hashBytes)
    for (let i = 0; i < markBytes; i++) marks[to++] = hashes[from + i]!
  return marks
}

/** Whether the mark at this index differs from the hash. */
export const isOtherMark = (marks: Uint8Array, index: number, hash: Uint8Array) =>
  Buffer.compare(marks.subarray(index * markBytes, (index + 1) * markBytes), hash.subarray(0, markBytes)) !== 0
