import { expect, test } from 'bun:test'
import { needLeft } from './kept-topup.ts'
import { repaymentOf } from './topup-outcomes.ts'

test.each([
  ['nothing came', 14.98, 3, 3, [], 14.98],
  ['a part came', 30, 0, 12, [], 18],
  ['all of it came', 14.98, 0, 14.98, [], null],
  ['more came', 10, 5, 40, [], null],
  ['money was spent since', 10, 5, 2.5, [], 12.5],
  ['a payment of it is under way', 20, 0, 0, [20], null],
  ['a part is under way and cents do not drift', 0.3, 0.1, 0.2, [0.1], 0.1],
] as const)(
  'when %s, a need of %p from a balance of %p to %p with %p under way is %p',
  (_, amount, then, now, way, left) => {
    const waiting = way.map((one) => ({ amount: one }))
    expect(needLeft({ amount, available: then }, { available: now, waiting }, 2)).toBe(left)
  },
)

test('a currency without decimals has no fractions of a need', () => {
  expect(needLeft({ amount: 500, available: 0 }, { available: 499, waiting: [] }, 0)).toBe(1)
})

test.each([
  [25, 25, 'topup', 0, 0],
  [40, 25, 'topup', 0, 0],
  [0, 20, 'repayment', 20, 0],
  [-5, 20, 'part-repayment', 20, 5],
  [5, 25, 'repayment-and-topup', 20, 5],
] as const)('a balance of %p after a payment of %p is a %s of %p with %p', (balance, amount, cause, repaid, rest) => {
  expect(repaymentOf({ available: balance, amount })).toEqual({ cause, repaid, rest })
})
