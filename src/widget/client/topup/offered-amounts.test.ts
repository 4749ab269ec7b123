import { expect, test } from 'bun:test'
import type { TopupOffer } from '../../page-data.ts'
import { parseTypedAmount, presetsFor } from './offered-amounts.ts'

const dollars: TopupOffer = {
  processor: 'sandbox',
  currency: 'USD',
  decimals: 2,
  min: 1,
  max: 10_000,
  need: null,
  reason: null,
  scriptUrl: null,
}
const yen: TopupOffer = { ...dollars, currency: 'JPY', decimals: 0, min: 100, max: 6000 }

test.each([
  ['10', 10],
  ['12,50', 12.5],
  [' $ 12.5 ', 12.5],
  ['12.500', 12.5],
  ['١٢٫٥', 12.5],
  ['１０', 10],
  ['0.99', undefined],
  ['10000.01', undefined],
  ['1.234', undefined],
  ['1e3', undefined],
  ['-5', undefined],
  ['1,000.50', undefined],
  ['', undefined],
])('%p typed as an amount is %p', (text, amount) => {
  expect(parseTypedAmount(text, dollars)).toBe(amount)
})

test('a currency without decimals takes none', () => {
  expect(parseTypedAmount('100.5', yen)).toBeUndefined()
  expect(parseTypedAmount('100', yen)).toBe(100)
})

test('the presets are within the limits', () => {
  expect(presetsFor(dollars)).toEqual([10, 25, 50, 100])
  expect(presetsFor(yen)).toEqual([1000, 2500, 5000])
})

test.each([
  [14.98, [14.98, 25, 50, 100]],
  [25, [25, 50, 100]],
  [0.4, [1, 10, 25, 50]],
  [50_000, [10_000]],
])('%p that is wanted is offered first, within the limits', (wanted, offered) => {
  expect(presetsFor(dollars, wanted)).toEqual(offered)
})
