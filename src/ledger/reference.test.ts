import { expect, test } from 'bun:test'
import { findMismatch, isDescription, isLabel, isLongerThan, maxDescriptionLength, type Mismatch } from './reference.ts'

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

test('a length counts what people see as characters: an emoji is one, however it is stored', () => {
  for (const character of ['x', 'é', '語', '🎉']) {
    expect(isLongerThan(character.repeat(9), 10)).toBeFalse()
    expect(isLongerThan(character.repeat(10), 10)).toBeFalse()
    expect(isLongerThan(character.repeat(11), 10)).toBeTrue()
    expect(isLongerThan(character.repeat(10_000), 10)).toBeTrue()
    expect([10, 11].map((times) => isLabel(character.repeat(times), 10))).toEqual([true, false])
    const lengths = [maxDescriptionLength, maxDescriptionLength + 1]
    expect(lengths.map((times) => isDescription(character.repeat(times)))).toEqual([true, false])
  }
})

test('a label has no control character and no lone surrogate, and is as long as its code points', () => {
  for (const text of ['ORDER', 'Käse', '注文', '👛'.repeat(3), '~ !']) expect(isLabel(text, 5)).toBeTrue()
  for (const text of ['', 'a\nb', 'a\u0000b', 'é\u0085', '\u009fé', 'é\ud83d', '123456', '👛'.repeat(6)])
    expect(isLabel(text, 5), JSON.stringify(text)).toBeFalse()
})
