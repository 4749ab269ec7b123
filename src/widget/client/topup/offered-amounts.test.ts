import { expect, test } from 'bun:test'
import { languages } from '../../../languages/languages.ts'
import { fill, type TopupKey } from '../../../languages/words.ts'
import type { TopupOffer } from '../../page-data.ts'
import { presetsFor, readTypedAmount } from './offered-amounts.ts'

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

function read(typed: string, lang: string, offer = dollars) {
  const { wallet, topup } = languages.get(lang)!
  const words = { ...wallet, ...topup }
  const say = (key: TopupKey, values: Readonly<Record<string, string>> = {}) => fill(words[key], values, lang)
  return readTypedAmount(typed, offer, { lang, say })
}

test.each([
  ['1,000', 'en', 1000],
  ['1.000', 'de', 1000],
  ['1.000,50', 'de', 1000.5],
  ['19.99', 'de', 19.99],
  ['$12.50', 'en', 12.5],
  ['1', 'en', 1],
  ['10000', 'en', 10_000],
])('%p typed in %s is %p dollars', (typed, lang, amount) => {
  expect(read(typed, lang)).toEqual({ amount })
})

const limits = 'Enter an amount between $1.00 and $10,000.00.'

test.each([
  ['20 €', 'This wallet is in US dollars. Enter the amount in US dollars.'],
  ['1.000', 'This can be read in two ways. For $1,000.00, enter 1000.'],
  ['twenty', 'This is not an amount we can read. Enter it like this: 25.00.'],
  ['-5', 'This is not an amount we can read. Enter it like this: 25.00.'],
  ['', limits],
  ['0.99', limits],
  ['10,000.01', limits],
  ['100.000', limits],
])('%p typed in English is refused with %p', (typed, problem) => {
  expect(read(typed, 'en')).toEqual({ problem })
})

test('a currency without decimals takes none', () => {
  expect(read('100', 'en', yen)).toEqual({ amount: 100 })
  expect(read('1,000', 'ja', yen)).toEqual({ amount: 1000 })
  expect(read('100.5', 'en', yen)).toEqual({
    problem: 'This is not an amount we can read. Enter it like this: 25.',
  })
})

test.each([...languages.keys()])('what %s proposes instead of an unclear amount is accepted', (lang) => {
  const { group = '.' } = Object.fromEntries(
    new Intl.NumberFormat(lang).formatToParts(1234567).map(({ type, value }) => [type, value]),
  )
  const answer = read(group === '.' ? '1,000' : '1.000', lang)
  expect(answer).toHaveProperty('problem')
  const [proposed = ''] = /1000/.exec((answer as { problem: string }).problem) ?? []
  expect(read(proposed, lang)).toEqual({ amount: 1000 })
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
