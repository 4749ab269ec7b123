import { expect, test } from 'bun:test'
import { decideCases, heldCases } from '../../test/decide-cases.ts'
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

test.each(heldCases)(
  'balance %p, held %p, frozen for %p, amount %p, change of held %p, %s: %s',
  (balanceMinor, held, frozenFor, amountMinor, heldMinor, kind, said) => {
    const wallet = { balanceMinor, heldMinor: held, sequence: 7, frozenFor }
    const operation = { amountMinor, heldMinor, isReversal: kind === 'reversal', isPromised: kind === 'capture' }
    const decision = decide(wallet, operation)
    if (decision.refusal) return expect(decision.refusal as string).toBe(said)
    const after = decision.wallet
    expect(`${after.balanceMinor} ${after.heldMinor} ${after.frozenFor ?? 'active'}`).toBe(said)
    expect(after.sequence).toBe(amountMinor === 0n ? 7 : 8)
  },
)
