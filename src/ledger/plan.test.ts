import { expect, test } from 'bun:test'
import * as fc from 'fast-check'
import type { Wallet } from './decide.ts'
import { maxBalanceMinor } from './money.ts'
import { allPost, decideInTurn, sumUp } from './plan.ts'

const amounts = fc.oneof(fc.bigInt(-20n, 20n), fc.bigInt(-maxBalanceMinor, maxBalanceMinor))
const moves = amounts.filter((amount) => amount !== 0n).map((amountMinor) => ({ amountMinor, isReversal: false }))
const holds = fc.bigInt(1n, 20n).map((heldMinor) => ({ amountMinor: 0n, heldMinor, isReversal: false }))
const operations = fc.array(fc.oneof({ weight: 3, arbitrary: moves }, { weight: 2, arbitrary: holds }), {
  minLength: 1,
  maxLength: 8,
})
/** What is held is a part of the balance of an active wallet. */
const wallets = fc
  .record({
    balanceMinor: fc.oneof(fc.bigInt(0n, 50n), fc.bigInt(maxBalanceMinor - 50n, maxBalanceMinor)),
    part: fc.bigInt(0n, 20n),
  })
  .map(({ balanceMinor, part }): Wallet => ({
    balanceMinor,
    heldMinor: part < balanceMinor ? part : balanceMinor,
    sequence: 7,
    frozenFor: null,
  }))

test('the guard of the fast statement holds exactly when the rules let every operation of an active wallet post', () => {
  fc.assert(
    fc.property(wallets, operations, (wallet, asked) => {
      const steps = decideInTurn(wallet, asked)
      expect(allPost(wallet, sumUp(asked))).toBe(steps.every(({ refusal }) => refusal === null))
    }),
    { numRuns: 5_000 },
  )
})

test('operations that all post end at what their sum says, each entry with the next sequence', () => {
  fc.assert(
    fc.property(wallets, operations, (wallet, asked) => {
      const sum = sumUp(asked)
      fc.pre(allPost(wallet, sum))
      const steps = decideInTurn(wallet, asked)
      const { balanceMinor, heldMinor } = wallet
      expect(steps.map((step) => step.wallet.balanceMinor)).toEqual(sum.offsetsMinor.map((each) => balanceMinor + each))
      expect(steps.map((step) => step.wallet.heldMinor)).toEqual(sum.heldOffsetsMinor.map((each) => heldMinor + each))
      expect(steps.at(-1)!.wallet).toEqual({
        balanceMinor: balanceMinor + sum.netMinor,
        heldMinor: heldMinor + sum.netHeldMinor,
        sequence: 7 + asked.length - sum.holds,
        frozenFor: null,
      })
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
