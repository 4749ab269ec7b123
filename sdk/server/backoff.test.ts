import { expect, test } from 'bun:test'
import { parseRetryAfter, waitBefore } from './backoff.ts'

test('waits grow, stay bounded, and differ between callers', () => {
  expect([0, 1, 2, 3, 4, 10].map((attempt) => waitBefore(attempt, undefined, 1))).toEqual([
    250, 500, 1000, 2000, 4000, 4000,
  ])
  expect(waitBefore(0, undefined, 0)).toBe(125)
})

test('a wait is never shorter than the service asked for', () => {
  for (const random of [0, 0.5, 0.999]) expect(waitBefore(0, 2000, random)).toBeGreaterThanOrEqual(2000)
  expect(waitBefore(0, 30_000, 0)).toBe(30_000)
  expect(waitBefore(0, 30_001, 0)).toBeNull()
})

test.each([
  [null, undefined],
  ['0', 0],
  ['7', 7000],
  ['Sat, 01 Mar 2025 10:00:05 GMT', 5000],
  ['Sat, 01 Mar 2025 09:00:00 GMT', 0],
  ['soon', undefined],
  ['', undefined],
])('Retry-After %p is %p ms', (header, expected) => {
  expect(parseRetryAfter(header, Date.UTC(2025, 2, 1, 10))).toBe(expected as number)
})
