import { expect, test } from 'bun:test'
import { createHeightFilter } from './resize.ts'

test('a height is reported when it changes, and not again', () => {
  const judge = createHeightFilter()
  expect([500, 500, 640, 640, 500].map((height, i) => judge(height, i * 2000))).toEqual([
    'report',
    'leave',
    'report',
    'leave',
    'report',
  ])
})

test('a height may come back quickly once: a menu was opened and closed', () => {
  const judge = createHeightFilter()
  expect([judge(500, 0), judge(640, 100), judge(500, 200)]).toEqual(['report', 'report', 'report'])
})

test('a parent that changes our width with every height ends at the higher height', () => {
  const judge = createHeightFilter()
  const reported: number[] = []
  let now = 0
  let height = 500
  /** At 500 a scroll bar appears and makes the text 520 high; at 520 it disappears and the text is 500 high again. */
  for (let round = 0; round < 10_000; round++) {
    const verdict = judge(height, now)
    if (verdict === 'report') {
      reported.push(height)
      height = height === 500 ? 520 : 500
    }
    now += typeof verdict === 'object' ? verdict.measureAgainMs : 16
  }
  expect(reported.length).toBeLessThan(25)
  expect(reported.at(-1)).toBe(520)
})

test('after a loop has ended, a lower height is reported in the end', () => {
  const judge = createHeightFilter()
  for (const [i, height] of [500, 520, 500, 520].entries()) judge(height, i * 16)
  expect(judge(500, 80)).toEqual({ measureAgainMs: 1000 })
  expect(judge(500, 1080)).toBe('report')
})
