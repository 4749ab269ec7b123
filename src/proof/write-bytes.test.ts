import { expect, test } from 'bun:test'
import { beginning, openScratch, writeBytes, writeHex, writeWhole } from './write-bytes.ts'

const written = (write: (to: Uint8Array) => number) => {
  const to = new Uint8Array(100)
  return Buffer.from(to.subarray(0, write(to))).toString('latin1')
}

test('a whole number of up to 16 digits is written as it is read', () => {
  const edges = [0, 1, 9, 10, 99_999_999, 100_000_000, 100_000_001, 2 ** 31, 2 ** 32, Date.UTC(2099, 11) * 1_000]
  const powers = Array.from({ length: 16 }, (_, i) => 10 ** i).flatMap((power) => [power - 1, power, power + 1])
  const random = Array.from({ length: 1_000 }, () => Math.floor(Math.random() * 10 ** Math.ceil(Math.random() * 15)))
  for (const value of [...edges, ...powers, ...random])
    for (const each of [value, -value].map((number) => number + 0))
      expect(written((to) => writeWhole(to, 0, each))).toBe(String(each))
})

test('bytes and their hexadecimal digits go where they belong', () => {
  const all = Uint8Array.from({ length: 40 }, (_, i) => (i * 37) % 256)
  expect(written((to) => writeHex(to, 0, all))).toBe(Buffer.from(all).toString('hex'))
  expect(written((to) => writeBytes(to, writeWhole(to, 0, 7), Buffer.from('abcdef'), 2, 4))).toBe('7cd')
})

test('a view of a beginning has that length and what is written later', () => {
  const scratch = openScratch(5_000)
  for (const length of [0, 1, 1_024, 1_025, 5_000]) {
    const view = beginning(scratch, length)
    scratch.bytes.fill(length % 251)
    expect([...new Set(view)]).toEqual(length === 0 ? [] : [length % 251])
    expect(view).toHaveLength(length)
    expect(beginning(scratch, length)).toEqual(view)
  }
})
