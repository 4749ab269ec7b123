import { describe, expect, test } from 'bun:test'
import { fromStripeAmount, toStripeAmount } from './amounts.ts'

const iso: Record<string, number> = { USD: 2, JPY: 0, BHD: 3, KWD: 3, ISK: 0, UGX: 0, MGA: 2, HUF: 2 }
const decimalsOf = (currency: string) => iso[currency]!

describe('an amount becomes what Stripe calls that amount, and back', () => {
  const cases: [string, bigint, number][] = [
    ['USD', 1999n, 1999],
    ['JPY', 500n, 500],
    ['BHD', 5120n, 5120],
    ['ISK', 5n, 500],
    ['UGX', 5n, 500],
    ['MGA', 500n, 5],
    ['HUF', 1045n, 1045],
    ['USD', 99_999_999_999n, 99_999_999_999],
  ]
  test.each(cases)('our %s %p is Stripe’s %p, and back', (currency, amountMinor, amount) => {
    expect(toStripeAmount(amountMinor, currency, decimalsOf)).toBe(amount)
    expect(fromStripeAmount(amount, currency, decimalsOf)).toBe(amountMinor)
  })
})

describe('an amount that Stripe could only round is refused', () => {
  const cases: [string, bigint, string][] = [
    ['BHD', 5124n, 'third decimal'],
    ['KWD', 1n, 'third decimal'],
    ['MGA', 550n, 'whole units'],
    ['USD', 0n, 'more than zero'],
    ['USD', -100n, 'more than zero'],
    ['USD', 2n ** 60n, 'more than the card processor accepts'],
  ]
  test.each(cases)(
    'an amount of %s %p, which Stripe could only round, is refused: %s',
    (currency, amountMinor, says) => {
      const answer = toStripeAmount(amountMinor, currency, decimalsOf)
      expect(answer).toMatchObject({ refused: 'amount-unsupported', message: expect.stringContaining(says) })
    },
  )
})

test('an amount from Stripe that is no whole minor unit of ours is a fault, not rounded', () => {
  expect(() => fromStripeAmount(550, 'ISK', decimalsOf)).toThrow('not a whole minor unit')
})
