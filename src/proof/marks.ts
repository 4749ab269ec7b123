/** The first bytes of leaves. They prove nothing, and name the leaf that is not what was sealed. */

export const markBytes = 4

export function marksOf(hashes: readonly Uint8Array[]): Buffer {
  const marks = Buffer.allocUnsafe(hashes.length * markBytes)
  for (const [i, hash] of hashes.entries()) for (let k = 0; k < markBytes; k++) marks[i * markBytes + k] = hash[k]!
  return marks
}

/** Whether the mark at this index differs from the hash. */
export const isOtherMark = (marks: Uint8Array, index: number, hash: Uint8Array) =>
  Buffer.compare(marks.subarray(index * markBytes, (index + 1) * markBytes), hash.subarray(0, markBytes)) !== 0
