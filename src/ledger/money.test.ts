import { describe, expect, test } from 'bun:test'
import * as fc from 'fast-check'
import {
  formatMinor,
  majorNumber,
  maxBalanceMinor,
  maxOperationMinor,
  parseAmount,
  parseCurrency,
  parseDecimal,
} from './money.ts'

const usd = parseCurrency('USD')!
const jpy = parseCurrency('JPY')!
const bhd = parseCurrency('BHD')!

describe('an amount', () => {
  test.each([
    [19.99, usd, 1999n],
    [0.01, usd, 1n],
    [5, usd, 500n],
    [1e2, usd, 10_000n],
    [999_999_999.99, usd, 99_999_999_999n],
    [5, jpy, 5n],
    [999_999_999, jpy, 999_999_999n],
    [1.234, bhd, 1234n],
  ] as const)('the amount %p is exact in its currency', (value, currency, minor) => {
    expect(parseAmount(value, currency)).toBe(minor)
  })

  const none = [
    0.001,
    0.1 + 0.2,
    Number('1e309'),
    -0,
    0,
    -1,
    1e-7,
    1e21,
    1_000_000_000,
    Number.NaN,
    Number.MIN_VALUE,
    5n,
  ]
  const otherTypes = ['5', true, [5], null, undefined, { valueOf: () => 5 }]
  test.each([...none, ...otherTypes].map((value) => [value]))('%p is no amount', (value) => {
    expect(parseAmount(value, usd)).toBeUndefined()
  })

  test('an amount of yen has no decimals, and one of dinar has three', () => {
    expect(parseAmount(0.5, jpy)).toBeUndefined()
    expect(parseAmount(1.2345, bhd)).toBeUndefined()
    expect(parseAmount(999_999_999.999, bhd)).toBeUndefined()
    expect(parseAmount(999_999_999.99, bhd)).toBe(999_999_999_990n)
  })

  test('an amount is what the shortest text of the number says, for every number', () => {
    const near = fc.tuple(fc.integer({ min: 0, max: 99_999_999_999 }), fc.integer({ min: -2, max: 2 }))
    const numbers = fc.oneof(
      fc.double(),
      near.map(([minor, steps]) => (minor / 100) * (1 + steps * Number.EPSILON)),
      near.map(([thousandths]) => thousandths / 1000),
      near.map(([minor, steps]) => minor * 0.01 + steps * 0.1),
    )
    fc.assert(
      fc.property(numbers, fc.constantFrom(usd, jpy, bhd), (value, currency) => {
        const read = parseDecimal(String(value), currency)
        const isAmount = read !== undefined && read > 0n && read <= maxOperationMinor(currency)
        expect(parseAmount(value, currency)).toBe(isAmount ? read : undefined)
      }),
      { numRuns: 20_000 },
    )
  })

  test('survives the way out and in again', () => {
    fc.assert(
      fc.property(fc.bigInt(1n, 99_999_999_999n), fc.constantFrom(usd, jpy, bhd), (minor, currency) => {
        fc.pre(currency !== jpy || minor <= 999_999_999n)
        expect(parseAmount(majorNumber(minor, currency), currency)).toBe(minor)
      }),
    )
  })
})

test.each([
  ['0', 0n],
  ['19.99', 1999n],
  ['19.990', 1999n],
  ['19.991', undefined],
  ['', undefined],
  ['-1', undefined],
  ['+1', undefined],
  ['1e3', undefined],
  ['0x10', undefined],
  ['01', undefined],
  ['1.', undefined],
  ['.5', undefined],
  [' 1', undefined],
  ['１', undefined],
  ['9'.repeat(17), undefined],
])('the decimal text %p is %p', (text, minor) => {
  expect(parseDecimal(text, usd)).toBe(minor)
})

test('every balance there can be is exact as a JSON number', () => {
  fc.assert(
    fc.property(fc.bigInt(-maxBalanceMinor, maxBalanceMinor), fc.constantFrom(usd, jpy, bhd), (minor, currency) => {
      const number = majorNumber(minor, currency)
      expect(JSON.parse(JSON.stringify(number))).toBe(number)
      expect(number).toBe(Number(formatMinor(minor, currency)))
      expect(number).not.toBe(majorNumber(minor + 1n, currency))
      expect(number).not.toBe(majorNumber(minor - 1n, currency))
    }),
  )
})

test('minor units have an exact text', () => {
  expect(formatMinor(1n, usd)).toBe('0.01')
  expect(formatMinor(-1999n, usd)).toBe('-19.99')
  expect(formatMinor(1999n, jpy)).toBe('1999')
  expect(formatMinor(5n, bhd)).toBe('0.005')
})
