import { describe, expect, test } from 'bun:test'
import { mailsDue, parseRetryAfter, probeAfterMs, retryEventAfterMs } from './delivery-rules.ts'

const now = new Date('2026-01-01T00:00:00Z')
const hourMs = 3_600_000

describe('the back-off', () => {
  test('of an endpoint ends at an hour, ± 20 %', () => {
    const steps = [0, 1, 2, 3, 4, 5, 6, 100].map((probes) => probeAfterMs(probes, undefined, 0.5) / 1_000)
    expect(steps).toEqual([5, 30, 120, 600, 1_800, 3_600, 3_600, 3_600])
    expect([probeAfterMs(5, undefined, 0), probeAfterMs(5, undefined, 1)]).toEqual([0.8 * hourMs, 1.2 * hourMs])
  })

  test('of an event lasts some three days, and then it is given up', () => {
    let [attempts, total] = [0, 0]
    for (let ms; (ms = retryEventAfterMs(attempts, undefined, 0.5)) !== undefined; attempts++) total += ms
    expect([attempts, Math.round(total / hourMs)]).toEqual([12, 76])
  })

  test.each([
    [undefined, 5_000],
    [1_000, 5_000],
    [60_000, 60_000],
    [30 * 24 * hourMs, 24 * hourMs],
  ])('with a Retry-After of %p ms is %p ms: the longer one, up to a day', (asked, expected) => {
    expect(probeAfterMs(0, asked, 0.5)).toBe(expected)
  })
})

test.each([
  [undefined, undefined],
  ['120', 120_000],
  ['0', 0],
  ['Thu, 01 Jan 2026 00:02:00 GMT', 120_000],
  ['Wed, 31 Dec 2025 00:00:00 GMT', 0],
  ['soon', undefined],
  ['-5', expect.anything()],
  ['9999999999', expect.anything()],
  ['', undefined],
])('Retry-After %p is read as %p', (text, expected) => {
  const read = parseRetryAfter(text, now)
  if (expected === undefined || typeof expected === 'number') expect(read).toBe(expected as never)
  else expect(read === undefined || read >= 0).toBe(true)
})

test('mails follow after an hour, after a day, and when the endpoint is disabled', () => {
  expect([0, 0.9, 1, 23, 24, 119].map((hours) => mailsDue(hours * hourMs, false))).toEqual([0, 0, 1, 1, 2, 2])
  expect(mailsDue(0, true)).toBe(3)
})
