import { expect, test } from 'bun:test'
import { isTimeZone, monthInZone } from './month-in-zone.ts'

test.each([
  ['2026-11', 'UTC', '2026-11-01T00:00:00.000Z', '2026-12-01T00:00:00.000Z'],
  // The clocks go forward in March and back in October.
  ['2026-03', 'Europe/Berlin', '2026-02-28T23:00:00.000Z', '2026-03-31T22:00:00.000Z'],
  ['2026-10', 'Europe/Berlin', '2026-09-30T22:00:00.000Z', '2026-10-31T23:00:00.000Z'],
  ['2026-01', 'Pacific/Kiritimati', '2025-12-31T10:00:00.000Z', '2026-01-31T10:00:00.000Z'],
  ['2026-02', 'America/St_Johns', '2026-02-01T03:30:00.000Z', '2026-03-01T03:30:00.000Z'],
])('%s in %s is from %s to %s', (text, timeZone, from, until) => {
  const month = monthInZone(text, timeZone)!
  expect([month.from.toISOString(), month.until.toISOString()]).toEqual([from, until])
})

test('the end of one month is the beginning of the next, everywhere', () => {
  for (const timeZone of Intl.supportedValuesOf('timeZone'))
    expect(monthInZone('2026-03', timeZone)!.until).toEqual(monthInZone('2026-04', timeZone)!.from)
})

test('what is no month and no time zone is told', () => {
  for (const text of ['', '2026-13', '26-01', '1999-01', '2026-1']) expect(monthInZone(text, 'UTC')).toBeUndefined()
  expect(['Europe/Berlin', 'Mars/Olympus', '', 'x'.repeat(5000)].map(isTimeZone)).toEqual([true, false, false, false])
})
