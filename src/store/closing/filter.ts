/**
 * A set of reference keys that may name a key it does not have, in about one of 800 cases, and never misses one it has: a split block
 * Bloom filter, as Apache Parquet specifies it. A key sets one bit in each of the eight words of one block, so that a question reads one
 * line of the processor's cache. The keys are hashes already: their first 32 bits choose the block, their last 32 bits the bits.
 */

const wordsPerBlock = 8
const bytesPerBlock = 32
const bitsPerKey = 16

/** Odd numbers, of the specification: each gives another five bits of the product. */
const salts = [0x47b6137b, 0x44974d91, 0x8824ad5b, 0xa2b7289d, 0x705495c7, 0x2df1424b, 0x9efc4947, 0x5c6bfb31] as const

export function countBlocks(keys: number): number {
  return Math.max(1, Math.ceil((keys * bitsPerKey) / (bytesPerBlock * 8)))
}

export function filterBytes(keys: number): number {
  return countBlocks(keys) * bytesPerBlock
}

/** Its bytes are little-endian words, as every processor that Bun runs on has them. */
export function emptyFilter(keys: number): Uint32Array {
  return new Uint32Array(countBlocks(keys) * wordsPerBlock)
}

/** `first` and `last` are the first and the last 32 bits of the key. */
export function addKey(filter: Uint32Array, first: number, last: number): void {
  const from = blockOf(filter, first)
  for (let i = 0; i < wordsPerBlock; i++) filter[from + i]! |= 1 << bitOf(last, i)
}

export function mayHaveKey(filter: Uint32Array, first: number, last: number): boolean {
  const from = blockOf(filter, first)
  for (let i = 0; i < wordsPerBlock; i++) if ((filter[from + i]! & (1 << bitOf(last, i))) === 0) return false
  return true
}

/** The first word of the block. Keys in ascending order fill the blocks in ascending order. */
function blockOf(filter: Uint32Array, first: number): number {
  return Math.floor((first / 2 ** 32) * (filter.length / wordsPerBlock)) * wordsPerBlock
}

function bitOf(last: number, word: number): number {
  return Math.imul(last, salts[word]!) >>> 27
}
