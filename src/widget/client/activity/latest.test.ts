import { expect, test } from 'bun:test'
import { languages } from '../../../languages/languages.ts'
import { fill } from '../../../languages/words.ts'
import type { Say } from '../page-context.tsx'
import { initialOf } from '../parts.tsx'
import { titleOf } from './latest.tsx'

const app = { name: 'Fernweh Books', logo: null }

test.each([...languages.keys()])('in %s an entry without a description has a title in the language', (code) => {
  const { wallet } = languages.get(code)!
  const say: Say = (key, values = {}) => fill(wallet[key], values, code)
  const title = (referenceType: string, type: 'DEBIT' | 'CREDIT', of: typeof app | null = app) =>
    titleOf({ app: of, description: null, referenceType, type } as Parameters<typeof titleOf>[0], say)
  expect(title('ORDER_PAYMENT', 'DEBIT')).toBe(wallet.moneyOut)
  expect(title('PAYOUT', 'CREDIT')).toBe(wallet.moneyIn)
  expect(title('TOPUP', 'CREDIT')).toBe(wallet.moneyIn)
  expect(title('ORDER_REFUND', 'CREDIT')).toBe(wallet.refundEntry)
  expect(title('SOMETHING_NEW', 'CREDIT', null)).toBe(wallet.moneyIn)
  expect(title('BONUS', 'CREDIT', null)).toBe(wallet.bonusEntry)
})

test.each([
  ['لينا', 'أحمد', 'ل'],
  ['Ada', 'Lovelace', 'A'],
  ['', 'Lovelace', 'L'],
  ['', '', ''],
])('the avatar of %p %p shows %p, which is no word', (firstName, lastName, shown) => {
  expect(initialOf({ firstName, lastName })).toBe(shown)
})
