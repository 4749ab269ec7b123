import { describe, expect, test } from 'bun:test'
import * as fc from 'fast-check'
import { formatMinor, parseDecimal, type Currency } from './money.ts'
import { formatMoney } from '../widget/client/format.ts'
import { languages } from '../languages/languages.ts'
import { parseTypedAmount } from './typed-amount.ts'

const usd = { code: 'USD', decimals: 2 }
const jpy = { code: 'JPY', decimals: 0 }
const bhd = { code: 'BHD', decimals: 3 }
const eur = { code: 'EUR', decimals: 2 }
const currencies = [usd, jpy, bhd, eur]

type Case = readonly [typed: string, lang: string, currency: Currency, amount: string]

const amounts: Case[] = [
  ['10', 'en', usd, '10'],
  ['1,000', 'en', usd, '1000'],
  ['1,000.50', 'en', usd, '1000.50'],
  ['1,234,567.5', 'en', usd, '1234567.5'],
  ['1.000', 'de', usd, '1000'],
  ['1.000,50', 'de', usd, '1000.50'],
  ['19,99', 'de', usd, '19.99'],
  ['1 000,50', 'fr', usd, '1000.50'],
  ['1\u00a0000,50', 'fr', usd, '1000.50'],
  ['1\u202f000,50', 'fr', usd, '1000.50'],
  ['1\u2009000', 'fr', usd, '1000'],
  ["1'000.50", 'de', usd, '1000.50'],
  ['1’000.50', 'de', usd, '1000.50'],
  ['١٢٫٥', 'ar', usd, '12.5'],
  ['١٬٠٠٠٫٥٠', 'ar', usd, '1000.50'],
  ['۱٬۰۰۰', 'ar', usd, '1000'],
  ['1,000.50', 'ar', usd, '1000.50'],
  ['１，０００．５０', 'ja', usd, '1000.50'],
  ['１０００', 'ja', jpy, '1000'],
  // Of another convention, and with one meaning.
  ['19.99', 'de', usd, '19.99'],
  ['12.5', 'de', usd, '12.5'],
  ['12,50', 'en', usd, '12.50'],
  ['19.99', 'fr', usd, '19.99'],
  ['1,000.50', 'de', usd, '1000.50'],
  ['1.000,50', 'en', usd, '1000.50'],
  ['1.000.000', 'en', usd, '1000000'],
  ['1 000', 'en', usd, '1000'],
  ['0,500', 'en', bhd, '0.500'],
  // The currency's decimals.
  ['1.500', 'en', bhd, '1.500'],
  ['1,500', 'de', bhd, '1.500'],
  ['1.500', 'de', bhd, '1500'],
  ['1,500', 'en', jpy, '1500'],
  // The wallet's own currency.
  [' $ 12.5 ', 'en', usd, '12.5'],
  ['US$20', 'en', usd, '20'],
  ['20 usd', 'en', usd, '20'],
  ['USD 20', 'de', usd, '20'],
  ['20 US dollars', 'en', usd, '20'],
  ['20 US-Dollar', 'de', usd, '20'],
  ['20 $US', 'fr', usd, '20'],
  ['1000円', 'ja', jpy, '1000'],
  ['￥1,000', 'ja', jpy, '1000'],
  ['20 €', 'de', eur, '20'],
  ['د.ب. 1.500', 'ar', bhd, '1.500'],
]

test.each(amounts)('%p in %s, %j, is %p', (typed, lang, currency, text) => {
  expect(parseTypedAmount(typed, lang, currency)).toEqual({ kind: 'amount', text })
})

const unclear: Case[] = [
  ['1.000', 'en', usd, '1000'],
  ['12.500', 'en', usd, '12500'],
  ['1,000', 'de', usd, '1000'],
  ['1.000', 'fr', usd, '1000'],
  ['1,000', 'fr', usd, '1000'],
  ['1.000', 'en', jpy, '1000'],
  ['1.234', 'fr', bhd, '1234'],
  ['١,٠٠٠', 'ar', usd, '1000'],
  ['١،٠٠٠', 'ar', usd, '1000'],
]

test.each(unclear)('%p in %s, %j, has two meanings, one of them %p', (typed, lang, currency, text) => {
  expect(parseTypedAmount(typed, lang, currency)).toEqual({ kind: 'unclear', text })
})

test.each([
  ['20 €', 'en', usd],
  ['£20', 'en', usd],
  ['20 EUR', 'de', usd],
  ['A$20', 'en', usd],
  ['20 円', 'ja', usd],
  ['20 kr', 'en', usd],
  ['$20', 'de', eur],
  ['$20 EUR', 'en', usd],
] as const)('%p in %s, %j, is in another currency', (typed, lang, currency) => {
  expect(parseTypedAmount(typed, lang, currency)).toEqual({ kind: 'foreign' })
})

test.each([
  '',
  ' ',
  '$',
  'abc',
  '-5',
  '−5',
  '+5',
  '5-',
  '5%',
  '1e3',
  '0x10',
  '1/2',
  '10²',
  '①',
  '½',
  '1.2.3',
  '1,00,000',
  '1 0',
  '10 50',
  '1..5',
  '5.',
  ',5',
  '$.50',
  'Rs.50x5',
  '1,000 000',
  '1.000,000.00',
  '1٫5٫5',
  '0.001',
  '1.2345',
  '0,001',
  '20-30',
  '1 000\n5',
  '१०',
  '9'.repeat(65),
])('%p is no amount of US dollars in any language', (typed) => {
  for (const lang of languages.keys()) {
    expect(parseTypedAmount(typed, lang, usd)).toEqual({ kind: 'malformed' })
  }
})

const digits = (text: string) =>
  text
    .normalize('NFKC')
    .replace(/[٠-٩]/g, (digit) => String(digit.charCodeAt(0) & 15))
    .replace(/\D/g, '')

describe.each([...languages.keys()])('in %s', (lang) => {
  test.each(currencies)('an amount of %j that is shown and typed back is the same', (currency) => {
    fc.assert(
      fc.property(fc.bigInt(1n, 10n ** 12n - 1n), (minor) => {
        const { code, decimals } = currency
        const text = formatMinor(minor, currency)
        const number = new Intl.NumberFormat(lang, { minimumFractionDigits: decimals })
        const shown = [
          text,
          formatMoney(Number(text), code, lang),
          number.format(text as `${number}`),
          ...(['symbol', 'code', 'name'] as const).map((currencyDisplay) =>
            new Intl.NumberFormat(lang, { style: 'currency', currency: code, currencyDisplay }).format(
              text as `${number}`,
            ),
          ),
        ]
        for (const typed of shown) {
          const read = parseTypedAmount(typed, lang, currency)
          // Plain decimal text of three decimals has two meanings in some languages.
          if (typed === text && read.kind === 'unclear') continue
          expect([typed, read.kind === 'amount' && parseDecimal(read.text, currency)]).toEqual([typed, minor])
        }
      }),
      { numRuns: 15 },
    )
  })

  test('any text is refused or is an amount of exactly its digits', () => {
    const piece = fc.constantFrom(..."0123456789.,'’٬٫ \u202f$€-+eE٠٥９％x円\u200f²½".split(''))
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string({ maxLength: 70 }),
          fc.array(piece, { maxLength: 12 }).map((all) => all.join('')),
        ),
        fc.constantFrom(...currencies),
        (typed, currency) => {
          const read = parseTypedAmount(typed, lang, currency)
          if (read.kind !== 'amount') return
          expect(parseDecimal(read.text, currency)).toBeDefined()
          expect(digits(read.text)).toBe(
            digits(typed)
              .replace(/^0+(?=\d)/, '')
              .padStart(digits(read.text).length, '0'),
          )
        },
      ),
      { numRuns: 300 },
    )
  })
})
