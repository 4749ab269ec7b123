import { afterAll, beforeAll, expect, test } from 'bun:test'
import { openTestService, type TestService } from '../../test/service.ts'
import { letPass } from '../../test/time.ts'
import {
  clearLimit,
  forgiveRightGuess,
  giveBackLimit,
  takeGuess,
  takeLimit,
  takeLimits,
  userPasswords,
} from './limits.ts'

let opened: TestService
const rule = { name: 'test', limit: 3, windowMs: 60_000 }

beforeAll(async () => {
  opened = await openTestService()
})
afterAll(() => opened.close())

const take = (...parts: string[]) => takeLimit(opened.service, rule, ...parts)

test('the limit is reached after as many attempts as it says, and ends with its window', async () => {
  const begunAt = performance.now()
  for (let i = 0; i < 3; i++) expect(await take('a')).toBeUndefined()
  await letPass(opened.service.db.pool, 20_000)
  const limited = await take('a')
  expect(limited).toMatchObject({ kind: 'limited', isFirst: true })
  // The window began with the first attempt, so subtract the time that the test itself took.
  const tookSeconds = Math.ceil((performance.now() - begunAt) / 1_000)
  expect(limited!.retryAfterSeconds).toBeWithin(40 - tookSeconds, 41)
  await letPass(opened.service.db.pool, 40_000)
  expect(await take('a')).toBeUndefined()
})

test('of twenty attempts at once no more than the limit get through', async () => {
  const results = await Promise.all(Array.from({ length: 20 }, () => take('at once')))
  expect(results.filter((result) => result === undefined)).toHaveLength(3)
})

test('one key does not count for another, however its parts are cut', async () => {
  for (let i = 0; i < 4; i++) await take('x', 'y')
  expect(await take('x', 'z')).toBeUndefined()
  expect(await take('xy')).toBeUndefined()
})

test('a try that one limit refuses counts for no other, before it or behind it', async () => {
  const other = { ...rule, name: 'other' }
  const behind = { ...rule, name: 'behind' }
  for (let i = 0; i < 3; i++) await takeLimit(opened.service, other, 'c')
  for (let i = 0; i < 9; i++)
    expect(
      await takeLimits(opened.service, [
        [rule, 'c'],
        [other, 'c'],
        [behind, 'c'],
      ]),
    ).toMatchObject({ isFirst: i === 0 })
  for (const each of [rule, behind]) {
    for (let i = 0; i < 3; i++) expect(await takeLimit(opened.service, each, 'c')).toBeUndefined()
    expect(await takeLimit(opened.service, each, 'c')).toBeDefined()
  }
})

test('what turned out to be no failure is given back', async () => {
  for (let i = 0; i < 3; i++) await take('b')
  await giveBackLimit(opened.service, rule, 'b')
  expect(await take('b')).toBeUndefined()
  expect(await take('b')).toBeDefined()
  await clearLimit(opened.service, rule, 'b')
  expect(await take('b')).toBeUndefined()
})

test('a right guess forgives the wrong ones before it at that address', async () => {
  const guess = { whose: 'ada@example.com', address: '203.0.113.77', isKnownAddress: false }
  const { limit } = userPasswords.here
  for (let i = 0; i < limit; i++) expect(await takeGuess(opened.service, userPasswords, guess)).toBeUndefined()
  await forgiveRightGuess(opened.service, userPasswords, guess)
  for (let i = 0; i < limit; i++) expect(await takeGuess(opened.service, userPasswords, guess)).toBeUndefined()
  expect(await takeGuess(opened.service, userPasswords, guess)).toBeDefined()
})
