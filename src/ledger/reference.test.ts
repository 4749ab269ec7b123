import { expect, test } from 'bun:test'
import { findMismatch, type Mismatch } from './reference.ts'

const first = { walletId: 'ann', amountMinor: -500n }

const cases: [walletId: string | undefined, amountMinor: bigint, mismatch: Mismatch[]][] = [
  ['ann', -500n, []],
  ['ann', -501n, ['amount']],
  ['ann', 500n, ['direction']],
  ['ann', 501n, ['amount', 'direction']],
  ['bob', -500n, ['user']],
  [undefined, -500n, ['user']],
  ['bob', 1n, ['amount', 'user', 'direction']],
]
test.each(cases)(
  'a debit of 500 from ann that is repeated for %p with %p differs in %j',
  (walletId, amountMinor, said) => {
    expect(findMismatch(first, { walletId, amountMinor })).toEqual(said)
    expect(findMismatch({ walletId, amountMinor }, first)).toEqual(said)
  },
)
