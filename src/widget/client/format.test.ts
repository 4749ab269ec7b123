import { expect, test } from 'bun:test'
import { formatMoney, moneyParts, relativeTime, relativeWait } from './format.ts'

test.each([
  [1232.86, 'USD', 'en', '$1,232.86'],
  [1232.86, 'EUR', 'de', '1.232,86\u00a0€'],
  [-42, 'USD', 'en', '\u2212$42.00'],
  [1500, 'JPY', 'ja', '￥1,500'],
  [1.5, 'BHD', 'en', 'BHD\u00a01.500'],
  [9007199254740.99, 'USD', 'en', '$9,007,199,254,740.99'],
])('the amount %p %s in %s is %p', (amount, currency, lang, text) => {
  expect(formatMoney(amount, currency, lang)).toBe(text)
})

test('a signed amount shows a plus as well', () => {
  expect(formatMoney(5, 'USD', 'en', true)).toBe('+$5.00')
  expect(formatMoney(-5, 'USD', 'en', true)).toBe('\u2212$5.00')
})

test('in Arabic the symbol is kept together', () => {
  expect(formatMoney(-9.99, 'USD', 'ar', true)).toContain('\u2068US$\u2069')
})

test('the decimals are marked as a separate part, and nothing is lost', () => {
  const parts = moneyParts(1232.86, 'USD', 'en')
  expect(parts.map(({ text }) => text).join('')).toBe('$1,232.86')
  expect(parts.filter(({ isMinor }) => isMinor).map(({ text }) => text)).toEqual(['.', '86'])
})

const now = new Date(2026, 5, 15, 12, 0, 0)
const ago = (ms: number) => relativeTime(new Date(now.getTime() - ms), now, 'en')
const [minute, hour, day] = [60_000, 3_600_000, 86_400_000]

test.each([
  [-5000, 'now'],
  [0, 'now'],
  [59_000, 'now'],
  [minute, '1 minute ago'],
  [59 * minute, '59 minutes ago'],
  [2 * hour, '2 hours ago'],
  [13 * hour, 'yesterday'],
  [2 * day, '2 days ago'],
  [8 * day, 'Jun 7'],
  [400 * day, 'May 11, 2025'],
])('a time %p ms ago reads %p', (ms, text) => {
  expect(ago(ms)).toBe(text)
})

test('a wait is shown in seconds, then in minutes', () => {
  expect([0, 30, 60, 61].map((seconds) => relativeWait(seconds, 'en'))).toEqual([
    'in 1 second',
    'in 30 seconds',
    'in 1 minute',
    'in 2 minutes',
  ])
})
