import { expect, test } from 'bun:test'
import * as fc from 'fast-check'
import type { Wallet } from './decide.ts'
import { maxBalanceMinor } from './money.ts'
import { allPost, decideInTurn, sumUp } from './plan.ts'

const amounts = fc.oneof(fc.bigInt(-20n, 20n), fc.bigInt(-maxBalanceMinor, maxBalanceMinor))
const operations = fc.array(
  amounts.filter((amount) => amount !== 0n).map((amountMinor) => ({ amountMinor, isReversal: false })),
  { minLength: 1, maxLength: 8 },
)
const balances = fc.oneof(fc.bigInt(0n, 50n), fc.bigInt(maxBalanceMinor - 50n, maxBalanceMinor))

test('the guard of the fast statement holds exactly when the rules let every operation of an active wallet post', () => {
  fc.assert(
    fc.property(balances, operations, (balanceMinor, asked) => {
      const wallet: Wallet = { balanceMinor, heldMinor: 0n, sequence: 7, frozenFor: null }
      const steps = decideInTurn(wallet, asked)
      expect(allPost(wallet, sumUp(asked))).toBe(steps.every(({ refusal }) => refusal === null))
    }),
    { numRuns: 5_000 },
  )
})

test('operations that all post end at the balances their sum says, one sequence after the other', () => {
  fc.assert(
    fc.property(balances, operations, (balanceMinor, asked) => {
      const wallet: Wallet = { balanceMinor, heldMinor: 0n, sequence: 7, frozenFor: null }
      const sum = sumUp(asked)
      fc.pre(allPost(wallet, sum))
      const steps = decideInTurn(wallet, asked)
      expect(steps.map((step) => step.wallet.balanceMinor)).toEqual(sum.offsetsMinor.map((each) => balanceMinor + each))
      expect(steps.map((step) => step.wallet.sequence)).toEqual(asked.map((_, i) => 8 + i))
      expect(steps.at(-1)!.wallet.balanceMinor).toBe(balanceMinor + sum.netMinor)
    }),
  )
})

test('a refused operation leaves the wallet as the one before it left it', () => {
  const steps = decideInTurn(
    { balanceMinor: 10n, heldMinor: 0n, sequence: 3, frozenFor: null },
    [-4n, -7n, 5n].map((amountMinor) => ({ amountMinor, isReversal: false })),
  )
  expect(steps.map(({ wallet, refusal }) => [wallet.balanceMinor, wallet.sequence, refusal])).toEqual([
    [6n, 4, null],
    [6n, 4, 'INSUFFICIENT_BALANCE'],
    [11n, 5, null],
  ])
})

test('a frozen wallet is never moved by its sum', () => {
  for (const frozenFor of ['operator', 'debt'] as const)
    expect(
      allPost(
        { balanceMinor: 100n, heldMinor: 0n, sequence: 1, frozenFor },
        sumUp([{ amountMinor: 1n, isReversal: false }]),
      ),
    ).toBe(false)
})
