import { expect, test } from 'bun:test'
import { addKey, countBlocks, emptyFilter, mayHaveKey } from './filter.ts'

const keysOf = (count: number) => {
  const bytes = new DataView(new ArrayBuffer(count * 8))
  for (let at = 0; at < bytes.byteLength; at += 65_536)
    crypto.getRandomValues(new Uint8Array(bytes.buffer, at, Math.min(65_536, bytes.byteLength - at)))
  return Array.from({ length: count }, (_, i) => [bytes.getUint32(i * 8), bytes.getUint32(i * 8 + 4)] as const)
}

test.each([1, 2, 15, 16, 17, 1_000, 100_000])('a filter of %d keys misses none of them', (count) => {
  const keys = keysOf(count)
  const filter = emptyFilter(count)
  for (const [first, last] of keys) addKey(filter, first, last)
  expect(keys.filter(([first, last]) => !mayHaveKey(filter, first, last))).toEqual([])
})

test('the smallest and the largest key are within the filter', () => {
  const filter = emptyFilter(1_000)
  for (const key of [0, 0xffffffff]) {
    expect(mayHaveKey(filter, key, key)).toBe(false)
    addKey(filter, key, key)
    expect(mayHaveKey(filter, key, key)).toBe(true)
  }
})

test('of the keys that it does not have it names few, and an empty one names none', () => {
  const filter = emptyFilter(100_000)
  const others = keysOf(100_000)
  expect(others.filter(([first, last]) => mayHaveKey(filter, first, last))).toEqual([])
  for (const [first, last] of keysOf(100_000)) addKey(filter, first, last)
  // 0.12 % are expected.
  expect(others.filter(([first, last]) => mayHaveKey(filter, first, last)).length).toBeLessThan(300)
})

test('it takes two bytes for each key', () => {
  expect([0, 1, 16, 17, 32_000_000].map(countBlocks)).toEqual([1, 1, 1, 2, 2_000_000])
  expect(emptyFilter(1_600).byteLength).toBe(3_200)
})
