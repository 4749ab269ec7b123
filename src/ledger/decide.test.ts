import { expect, test } from 'bun:test'
import { decideCases } from '../../test/decide-cases.ts'
import { decide } from './decide.ts'

test.each(decideCases)(
  'balance %p, frozen for %p, amount %p, reversal %p: %s',
  (balance, frozenFor, amount, isReversal, said) => {
    const decision = decide(
      { balanceMinor: balance, heldMinor: 0n, sequence: 7, frozenFor },
      { amountMinor: amount, isReversal },
    )
    if (decision.refusal) return expect(decision.refusal as string).toBe(said)
    const { wallet } = decision
    expect(`${wallet.balanceMinor} ${wallet.frozenFor ?? 'active'}`).toBe(said)
    expect(wallet.sequence).toBe(8)
  },
)

test.each([
  [100n, 'operator', -40n, '60 operator'],
  [100n, 'operator', -101n, 'INSUFFICIENT_BALANCE'],
  [-5n, 'debt', -1n, 'WALLET_INACTIVE'],
  [0n, 'closed', -1n, 'WALLET_INACTIVE'],
  [-5n, 'closed', 6n, 'WALLET_CLOSED'],
  [100n, null, -100n, '0 active'],
] as const)(
  'a correction by an operator, balance %p, frozen for %p, amount %p: %s',
  (balanceMinor, frozenFor, amount, said) => {
    const operation = { amountMinor: amount, isReversal: false, isByOperator: true }
    const decision = decide({ balanceMinor, heldMinor: 0n, sequence: 7, frozenFor }, operation)
    if (decision.refusal) return expect(decision.refusal as string).toBe(said)
    expect(`${decision.wallet.balanceMinor} ${decision.wallet.frozenFor ?? 'active'}`).toBe(said)
  },
)
