import { expect, test } from 'bun:test'
import * as fc from 'fast-check'
import { z } from 'zod'
import { parseCurrency } from '../ledger/money.ts'
import { amount, postingFields, readPostingFields, requiredAmount } from './shapes.ts'

test.each([
  ['USD', 0.001, 'has more than 2 decimals'],
  ['JPY', 0.5, 'must be a whole number, because JPY has no decimals'],
  ['JPY', 1_000_000_000, 'must be at most 999999999'],
  ['BHD', 1.2345, 'has more than 3 decimals'],
  ['BHD', 999_999_999.999, 'must be at most 999999999.99'],
] as const)('an amount of %s, %p, is refused: it %s', (code, value, problem) => {
  const { error } = amount(parseCurrency(code)!).safeParse(value)
  expect(error?.issues.map(({ message }) => message)).toEqual([problem])
})

test.each([
  ['JPY', '0.5', 'must be a whole number, because JPY has no decimals'],
  ['BHD', '1.2345', 'has more than 3 decimals'],
] as const)('a requiredAmount of %s, %p, is refused: it %s', (code, text, problem) => {
  const { error } = requiredAmount(parseCurrency(code)!).safeParse(text)
  expect(error?.issues.map(({ message }) => message)).toEqual([problem])
})

const texts = fc.oneof(
  { weight: 6, arbitrary: fc.string({ minLength: 1, maxLength: 6 }) },
  fc.string({ unit: 'binary', maxLength: 3 }),
  fc.constantFrom('', 'a\u0000', '\u0080', '\ud800', 'é', '😀'),
  fc
    .tuple(fc.constantFrom('x', 'é', '😀'), fc.constantFrom(99, 100, 101, 127, 128, 129, 255, 256, 500, 501))
    .map(([char, length]) => char.repeat(length)),
)
const others = fc.constantFrom<unknown>(undefined, null, 1, true, [], {}, ['x'])
const amounts = fc.oneof(
  { weight: 6, arbitrary: fc.integer({ min: -1, max: 10 ** 12 }).map((minor) => minor / 100) },
  fc.double(),
  fc.constantFrom(0, -0, 0.001, 0.1 + 0.2, 999_999_999.99, 1_000_000_000, NaN, Infinity),
)
const mostly = (usual: fc.Arbitrary<unknown>) =>
  fc.oneof({ weight: 19, arbitrary: usual }, { weight: 1, arbitrary: others })

test('the fields of a debit are read as the schema reads them, valid or not', () => {
  let valid = 0
  const values = fc.record({
    serviceUserId: mostly(texts),
    amount: mostly(amounts),
    referenceType: mostly(texts),
    referenceId: mostly(texts),
    description: mostly(fc.option(texts)),
    more: others,
  })
  fc.assert(
    fc.property(values, fc.constantFrom('USD', 'JPY', 'BHD'), (given, code) => {
      const currency = parseCurrency(code)!
      const { data } = z.object(postingFields(currency)).safeParse(given)
      expect(readPostingFields(given, currency)).toEqual(data)
      if (data) valid++
    }),
    { numRuns: 3_000 },
  )
  expect(valid).toBeGreaterThan(100)
})
