import { describe, expect, test } from 'bun:test'
import { isCardMistake, parseCard, passesLuhn, testCards } from './test-cards.ts'

const now = new Date('2030-06-15T12:00:00Z')
const good = { number: '4242 4242 4242 4242', expiry: '12 / 34', cvc: '123' }

test('every test card passes the Luhn check', () => {
  expect(testCards.filter((card) => !passesLuhn(card.number))).toEqual([])
})

test('a test card is read with spaces, with dashes and without', () => {
  for (const number of ['4242424242424242', '4242 4242 4242 4242', '4242-4242-4242-4242']) {
    expect(parseCard({ ...good, number }, now)).toEqual({ kind: 'succeeds' })
  }
})

describe('a card is refused with the field at fault', () => {
  const cases: [string, Partial<typeof good>, string][] = [
    ['a digit is wrong', { number: '4242 4242 4242 4241' }, 'number'],
    ['there is no number', { number: '' }, 'number'],
    ['there are letters', { number: '4242 4242 4242 424x' }, 'number'],
    ['the number is too long', { number: '0'.repeat(20) }, 'number'],
    ['the month does not exist', { expiry: '13 / 34' }, 'expiry'],
    ['the month is zero', { expiry: '00 / 34' }, 'expiry'],
    ['the card expired last month', { expiry: '05 / 30' }, 'expiry'],
    ['there is no expiry date', { expiry: '' }, 'expiry'],
    ['the CVC is too short', { cvc: '12' }, 'cvc'],
    ['the CVC is too long', { cvc: '12345' }, 'cvc'],
    ['the CVC has letters', { cvc: '12a' }, 'cvc'],
  ]
  test.each(cases)('a card is refused with the field at fault: %s', (_, change, field) => {
    const answer = parseCard({ ...good, ...change }, now)
    expect(isCardMistake(answer) && answer.field).toBe(field as 'number')
  })
})

test('a card is good until the end of the month on it', () => {
  expect(parseCard({ ...good, expiry: '06/30' }, new Date('2030-06-30T23:59:59Z'))).toEqual({ kind: 'succeeds' })
  expect(parseCard({ ...good, expiry: '06/30' }, new Date('2030-07-01T00:00:00Z'))).toMatchObject({ field: 'expiry' })
})

test('a valid number that is no test card is refused with a warning, and not repeated', () => {
  const answer = parseCard({ ...good, number: '5105105105105100' }, now)
  expect(answer).toMatchObject({ field: 'number', message: expect.stringContaining('never type a real card') })
  expect(JSON.stringify(answer)).not.toContain('5105')
})
