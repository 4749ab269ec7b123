import { expect, test } from 'bun:test'
import { formatMoney } from '../format.ts'
import { toDecimal } from './parse-search.ts'
import { rowsOf } from './sums.tsx'
import { addAnswer, type SourceSum } from './use-sums.ts'

const nothing = { sources: [], searched: 0, left: 0, nextBefore: null }
const app = (clientId: string) => ({ clientId, name: clientId, logo: null, color: '#123456' })
const sourceOf = (key: string, outMinor: bigint, inMinor = 0n): SourceSum => ({
  key,
  app: app(key),
  count: 1,
  outMinor,
  inMinor,
})

test('answers of several calls are added by source, also beyond the digits of a number', () => {
  const answer = (n: string) => ({
    sources: [
      { source: 'app' as const, app: app('shop'), count: 2, out: n, in: '0.01' },
      { source: 'card' as const, app: null, count: 1, out: '0.00', in: n },
    ],
    searched: 10,
    left: 10,
    nextBefore: 11,
  })
  const first = addAnswer(nothing, answer('90071992547409.91'), 2)
  const both = addAnswer(first, { ...answer('90071992547409.92'), left: 0, nextBefore: null }, 2)
  expect(both).toEqual({
    sources: [
      { key: 'shop', app: app('shop'), count: 4, outMinor: 18014398509481983n, inMinor: 2n },
      { key: 'card', app: null, count: 2, outMinor: 0n, inMinor: 18014398509481983n },
    ],
    searched: 20,
    left: 0,
    nextBefore: null,
  })
  expect(formatMoney(toDecimal(18014398509481983n, 2), 'USD', 'en')).toBe('$180,143,985,094,819.83')
})

test('the largest sources come first, and from the sixth on they are one row', () => {
  const sources = [1n, 5n, 3n, 0n, 8n, 2n, 1n].map((minor, n) => sourceOf(`app-${n}`, minor))
  expect(rowsOf(sources, 'outMinor').map(({ key, minor, sources }) => [key, minor, sources])).toEqual([
    ['app-4', 8n, 1],
    ['app-1', 5n, 1],
    ['app-2', 3n, 1],
    ['app-5', 2n, 1],
    ['others', 2n, 2],
  ])
  expect(rowsOf(sources, 'inMinor')).toEqual([])
})

test('the shares of the bar add up to the whole, and every row adds up to the total', () => {
  const sources = [7n, 10n ** 17n, 1n, 33n].map((minor, n) => sourceOf(`app-${n}`, minor))
  const rows = rowsOf(sources, 'outMinor')
  expect(rows.reduce((sum, { minor }) => sum + minor, 0n)).toBe(10n ** 17n + 41n)
  expect(rows.map(({ share }) => share)).toEqual([999, 0, 0, 0])
})

test.each([
  [0n, 2, '0.00'],
  [5n, 2, '0.05'],
  [123456n, 2, '1234.56'],
  [123n, 0, '123'],
  [1n, 3, '0.001'],
])('%p with %p decimals is %p', (minor, decimals, text) => {
  expect(toDecimal(minor, decimals)).toBe(text as `${number}`)
})
