import { expect, test } from 'bun:test'
import { languages } from '../../../languages/languages.ts'
import { formatMoney, monthName } from '../format.ts'
import { parseSearch, queryOf } from './parse-search.ts'

const usd = { code: 'USD', decimals: 2 }
const now = new Date(2026, 10, 17, 12)

const read = (typed: string, lang = 'en', currency = usd) =>
  parseSearch(typed, { lang, currency, now, words: languages.get(lang)!.activity })

const monthOf = (year: number, month: number) => ({
  from: new Date(year, month - 1, 1).toISOString(),
  until: new Date(year, month, 1).toISOString(),
})

const query = (typed: string, lang = 'en', currency = usd) => queryOf(read(typed, lang, currency), currency)

test.each([
  ['march', 'en', monthOf(2026, 3)],
  ['March 2025', 'en', monthOf(2025, 3)],
  ['mar', 'en', monthOf(2026, 3)],
  ['december', 'en', monthOf(2025, 12)],
  ['nov', 'en', monthOf(2026, 11)],
  ['2026-03', 'en', monthOf(2026, 3)],
  ['03/2026', 'en', monthOf(2026, 3)],
  ['in march', 'en', monthOf(2026, 3)],
  ['im März 2025', 'de', monthOf(2025, 3)],
  ['במרץ', 'he', monthOf(2026, 3)],
  ['last month', 'en', monthOf(2026, 10)],
  ['märz', 'de', monthOf(2026, 3)],
  ['MÄRZ 2025', 'de', monthOf(2025, 3)],
  ['marz', 'de', monthOf(2026, 3)],
  ['Jan.', 'de', monthOf(2026, 1)],
  ['letzten Monat', 'de', monthOf(2026, 10)],
  ['marzo de 2025', 'es', monthOf(2025, 3)],
  ['mars', 'fr', monthOf(2026, 3)],
  ['févr. 2026', 'fr', monthOf(2026, 2)],
  ['março', 'pt', monthOf(2026, 3)],
  ['3月', 'ja', monthOf(2026, 3)],
  ['2025年3月', 'ja', monthOf(2025, 3)],
  ['مارس ٢٠٢٥', 'ar', monthOf(2025, 3)],
  ['מרץ 2026', 'he', monthOf(2026, 3)],
])('%p in %p is a month', (typed, lang, expected) => {
  expect(query(typed, lang)).toEqual(expected)
})

test('every language reads the names that it writes, long and short, with and without a year', () => {
  for (const lang of languages.keys())
    for (let month = 1; month <= 12; month++) {
      const at = new Date(2025, month - 1, 1)
      expect({ lang, ...query(monthName(at, lang), lang) }).toEqual({ lang, ...monthOf(2025, month) })
      for (const style of ['long', 'short'] as const) {
        const name = new Intl.DateTimeFormat(lang, { month: style }).format(at)
        const latest = monthOf(month > 11 ? 2025 : 2026, month)
        expect({ lang, name, ...query(name, lang) }).toEqual({ lang, name, ...latest })
      }
    }
})

test.each([
  ['over 50', 'en', { min: '50.01' }],
  ['more than $1,000.50', 'en', { min: '1000.51' }],
  ['>50', 'en', { min: '50.01' }],
  ['>= 50', 'en', { min: '50.00' }],
  ['at least 50', 'en', { min: '50.00' }],
  ['under 50', 'en', { max: '49.99' }],
  ['under 0', 'en', { max: '0.00' }],
  ['over 10 under 50', 'en', { min: '10.01', max: '49.99' }],
  ['up to 20', 'en', { max: '20.00' }],
  ['über 1.000,50', 'de', { min: '1000.51' }],
  ['mehr als 50 €', 'de', { search: '€', min: '50.01' }],
  ['plus de 1 000,50', 'fr', { min: '1000.51' }],
  ['más de 50', 'es', { min: '50.01' }],
  ['mais de 50', 'pt', { min: '50.01' }],
  ['5,000以上', 'ja', { min: '5000.00' }],
  ['أكثر من ٥٠', 'ar', { min: '50.01' }],
  ['מעל 50', 'he', { min: '50.01' }],
])('%p in %p is a bound of the amount', (typed, lang, expected) => {
  expect(query(typed, lang)).toEqual(expected)
})

test('every language reads the bounds that it writes on their labels', () => {
  for (const [lang, { activity: words }] of languages) {
    const amount = formatMoney(1234.5, 'USD', lang).replace(/\p{Cf}/gu, '')
    const bounds = {
      amountsOver: { min: '1234.51' },
      amountsFrom: { min: '1234.50' },
      amountsUnder: { max: '1234.49' },
      amountsUpTo: { max: '1234.50' },
    } as const
    for (const [key, expected] of Object.entries(bounds))
      for (const pattern of words[key as keyof typeof bounds].split(/[,،、]/)) {
        const typed = pattern.trim().replace('{amount}', amount)
        expect({ lang, typed, ...query(typed, lang) }).toEqual({ lang, typed, ...expected })
      }
  }
})

test.each([
  // A number alone may be an amount or part of a reference: both are searched.
  ['64.40', 'en', { search: '64.40', amount: '64.40' }],
  ['64,40', 'de', { search: '64,40', amount: '64.40' }],
  ['1045', 'en', { search: '1045', amount: '1045' }],
  // Beside a text, only what can be nothing else is an amount.
  ['kino 31.50', 'en', { search: 'kino', min: '31.50', max: '31.50' }],
  ['kino $31', 'en', { search: 'kino', min: '31.00', max: '31.00' }],
  ['order 1045', 'en', { search: 'order 1045' }],
  // Two meanings, a foreign currency, more digits than a balance has: text.
  ['1.000', 'en', { search: '1.000' }],
  ['20 €', 'en', { search: '20 €' }],
  ['9'.repeat(16), 'en', { search: '9'.repeat(16) }],
])('%p in %p is searched as text and amount', (typed, lang, expected) => {
  expect(query(typed, lang)).toEqual(expected)
})

test.each([
  ['march kino', { search: 'kino', ...monthOf(2026, 3) }],
  ['Kino over 50 in march 2025', { search: 'Kino', min: '50.01', ...monthOf(2025, 3) }],
  ['march 64.40', { search: '64.40', amount: '64.40', ...monthOf(2026, 3) }],
  ['"march"', { search: 'march' }],
  ['“over 50”', { search: 'over 50' }],
  ['"may" march', { search: 'may', ...monthOf(2026, 3) }],
  ['marching', { search: 'marching' }],
  ['overlord 50', { search: 'overlord 50' }],
  ['B-17', { search: 'B-17' }],
  ['', {}],
  ['   ', {}],
])('%p is read as %j', (typed, expected) => {
  expect(query(typed)).toEqual(expected)
})

test('a currency without decimals has bounds without decimals', () => {
  expect(query('over 5,000', 'en', { code: 'JPY', decimals: 0 })).toEqual({ min: '5001' })
})

test('a part keeps the characters as they were typed', () => {
  expect(read('Kino MÄRZ 2025', 'de').meanings.map(({ typed }) => typed)).toEqual(['MÄRZ 2025'])
  expect(read('kino over 50 please').meanings.map(({ typed }) => typed)).toEqual(['over 50'])
})
