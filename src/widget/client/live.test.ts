import { expect, test } from 'bun:test'
import { backoffMs } from './live.ts'

/** The waits of 600 widgets, with evenly distributed random numbers. */
const waits = (failures: number) => Array.from({ length: 600 }, (_, i) => backoffMs(failures, i / 600))

test('of 600 widgets that lose their stream at once, no more than 40 return in the same tenth of a second', () => {
  for (const failures of [1, 2, 3, 8, 50]) {
    const perTenth = Map.groupBy(waits(failures), (wait) => Math.floor(wait / 100))
    for (const together of perTenth.values()) expect(together.length).toBeLessThanOrEqual(40)
  }
})

test('a widget returns within two seconds after one failure, and within 30 after any number of them', () => {
  expect(Math.max(...waits(1))).toBeLessThanOrEqual(2_000)
  expect(Math.max(...waits(1_000))).toBeLessThanOrEqual(30_000)
})
