/**
 * The trees of RFC 6962: a log that only grows, of which any entry can be proven against the root, and any earlier root against a
 * later one. Complete subtrees never change, so they alone are stored; a subtree is named by its level and its index at that level.
 */
import { hashBytes, sha256, sha256Into } from './sha256.ts'

export type Subtree = { readonly level: number; readonly index: number }

/** The roots of the complete subtrees of a tree, from the largest to the smallest: one for each bit of its size. */
export type Peaks = { readonly size: number; readonly hashes: readonly Uint8Array[] }

export const noPeaks: Peaks = { size: 0, hashes: [] }

/** RFC 6962 hashes a leaf with a zero byte before it, and a pair of hashes with a one. */
const pair = new Uint8Array(65)
pair[0] = 1

export function hashLeaf(data: Uint8Array): Uint8Array {
  const leaf = new Uint8Array(1 + data.length)
  leaf.set(data, 1)
  return sha256(leaf)
}

export function hashPair(left: Uint8Array, right: Uint8Array): Uint8Array {
  pair.set(left, 1)
  pair.set(right, 33)
  return sha256(pair)
}

/** Adds the hashes of leaves at the end. `onSubtree` gets every subtree that this completes, the leaves included. */
export function addLeaves(
  peaks: Peaks,
  leaves: readonly Uint8Array[],
  onSubtree?: (subtree: Subtree, hash: Uint8Array) => void,
): Peaks {
  const write = (to: Uint8Array, i: number) => to.set(leaves[i]!)
  return growTree(
    peaks,
    leaves.length,
    write,
    onSubtree && ((level, index, hash) => onSubtree({ level, index }, hash.slice())),
  )
}

/** The same with all hashes in one array; `onSubtree` must copy a hash that it keeps. */
export function addJoined(
  peaks: Peaks,
  joined: Uint8Array,
  onSubtree?: (level: number, index: number, hash: Uint8Array) => void,
): Peaks {
  const write = (to: Uint8Array, i: number) => {
    const from = i * hashBytes
    for (let k = 0; k < hashBytes; k++) to[k] = joined[from + k]!
  }
  return growTree(peaks, joined.length / hashBytes, write, onSubtree)
}

/**
 * For each level of a tree the two hashes that become one of the level above, after the byte that RFC 6962 puts before a pair. Every
 * tree grows in this same memory: an array for each hash would cost more than the hash.
 */
const levels = Array.from({ length: 53 }, () => {
  const both = new Uint8Array(1 + 2 * hashBytes)
  both[0] = 1
  return { both, left: both.subarray(1, 1 + hashBytes), right: both.subarray(1 + hashBytes) }
})

const isOdd = (index: number) => index % 2 === 1

function growTree(
  peaks: Peaks,
  count: number,
  writeLeaf: (to: Uint8Array, i: number) => void,
  onSubtree?: (level: number, index: number, hash: Uint8Array) => void,
): Peaks {
  const until = peaks.size + count
  for (const [i, level] of peakLevels(peaks.size).entries()) levels[level]!.left.set(peaks.hashes[i]!)
  for (let size = peaks.size; size < until; size++) {
    const { left, right } = levels[0]!
    const leaf = isOdd(size) ? right : left
    writeLeaf(leaf, size - peaks.size)
    onSubtree?.(0, size, leaf)
    // As in a binary counter: each trailing one bit of the size is a complete subtree to merge with.
    for (let level = 0, index = size; isOdd(index); level++) {
      index = (index - 1) / 2
      const above = levels[level + 1]!
      const to = isOdd(index) ? above.right : above.left
      sha256Into(levels[level]!.both, to)
      onSubtree?.(level + 1, index, to)
    }
  }
  return { size: until, hashes: peakLevels(until).map((level) => levels[level]!.left.slice()) }
}

/**
 * What a tree knows of the leaves from `start` up to `end`, which are those of one complete subtree: its peaks among them, as a tree by itself.
 * Undefined where one of its peaks has more than those leaves.
 */
export function peaksWithin({ size, hashes }: Peaks, start: number, end: number): Peaks | undefined {
  const found: Uint8Array[] = []
  let from = 0
  for (const [i, level] of peakLevels(size).entries()) {
    const until = from + 2 ** level
    if (from >= start && until <= end) found.push(hashes[i]!)
    else if (from < end && until > start) return undefined
    from = until
  }
  return { size: Math.max(0, Math.min(size, end) - start), hashes: found }
}

/** The levels of the complete subtrees of a tree, from the largest to the smallest. */
function peakLevels(size: number): number[] {
  const found: number[] = []
  for (let level = 0, rest = size; rest > 0; level++, rest = Math.floor(rest / 2)) if (isOdd(rest)) found.push(level)
  return found.reverse()
}

export function rootOf({ hashes }: Peaks): Uint8Array {
  return hashes.length === 0 ? sha256('') : foldPeaks(hashes)
}

function foldPeaks(hashes: readonly Uint8Array[]): Uint8Array {
  return hashes.reduceRight((right, left) => hashPair(left, right))
}

/** One hash of a proof: the root over neighbouring complete subtrees, from the largest to the smallest. */
export type ProofPart = readonly Subtree[]

export function hashPart(part: ProofPart, hashOf: (subtree: Subtree) => Uint8Array): Uint8Array {
  return foldPeaks(part.map(hashOf))
}

/** The parts of the proof that the leaf at `index` is in the tree of `size` leaves, from the leaf to the root. */
export function inclusionParts(index: number, size: number): readonly ProofPart[] {
  if (!Number.isSafeInteger(index) || index < 0 || index >= size) throw new RangeError(`no leaf ${index} in ${size}`)
  const parts: ProofPart[] = []
  let [from, to] = [0, size]
  while (to - from > 1) {
    const middle = from + largestPowerBelow(to - from)
    if (index < middle) {
      parts.push(subtreesOf(middle, to))
      to = middle
    } else {
      parts.push(subtreesOf(from, middle))
      from = middle
    }
  }
  return parts.reverse()
}

/** The parts of the proof that the tree of `size` leaves begins with the tree of `earlier` leaves. Empty where they are equal. */
export function consistencyParts(earlier: number, size: number): readonly ProofPart[] {
  if (!Number.isSafeInteger(earlier) || earlier < 1 || earlier > size)
    throw new RangeError(`no tree of ${earlier} in ${size}`)
  const parts: ProofPart[] = []
  let [from, to] = [0, size]
  while (earlier < to) {
    const middle = from + largestPowerBelow(to - from)
    if (earlier <= middle) {
      parts.push(subtreesOf(middle, to))
      to = middle
    } else {
      parts.push(subtreesOf(from, middle))
      from = middle
    }
  }
  // The earlier tree ends where this subtree ends. The verifier knows its hash if it is the whole earlier tree.
  if (from > 0) parts.push(subtreesOf(from, to))
  return parts.reverse()
}

/** The same, beginning in every case with a hash of the earlier tree: a verifier then learns what this tree says about it. */
export function beginningParts(earlier: number, size: number): readonly ProofPart[] {
  const parts = consistencyParts(earlier, size)
  const level = Math.log2(earlier)
  return Number.isInteger(level) && earlier < size ? [[{ level, index: 0 }], ...parts] : parts
}

/** The complete subtrees of the leaves from `from` up to `to`. */
function subtreesOf(from: number, to: number): ProofPart {
  const subtrees: Subtree[] = []
  for (let start = from; start < to;) {
    let level = 0
    while (start % 2 ** (level + 1) === 0 && start + 2 ** (level + 1) <= to) level++
    subtrees.push({ level, index: start / 2 ** level })
    start += 2 ** level
  }
  return subtrees
}

function largestPowerBelow(count: number): number {
  let power = 1
  while (power * 2 < count) power *= 2
  return power
}
