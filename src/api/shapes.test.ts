import { expect, test } from 'bun:test'
import { parseCurrency } from '../ledger/money.ts'
import { amount, requiredAmount } from './shapes.ts'

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
