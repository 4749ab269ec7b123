import { expect, test } from 'bun:test'
import { decideCases } from '../../test/decide-cases.ts'
import { decide } from './decide.ts'

test.each(decideCases)(
  'balance %p, frozen for %p, amount %p, reversal %p: %s',
  (balance, frozenFor, amount, isReversal, said) => {
    const decision = decide({ balanceMinor: balance, sequence: 7, frozenFor }, { amountMinor: amount, isReversal })
    if (decision.refusal) return expect(decision.refusal as string).toBe(said)
    const { wallet } = decision
    expect(`${wallet.balanceMinor} ${wallet.frozenFor ?? 'active'}`).toBe(said)
    expect(wallet.sequence).toBe(8)
  },
)
