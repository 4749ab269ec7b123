import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { newApp, newUsers, openTestService, type TestService } from './service.ts'
import { openBalanceReader } from '../src/store/shared-reader.ts'
import { placesPerTurn } from '../src/store/writer/turns.ts'

setDefaultTimeout(60_000)

let opened: TestService

beforeAll(async () => {
  opened = await openTestService()
})
afterAll(async () => {
  await opened.close()
})

test('a turn of the event loop gives at most 128 answers of the look-ups that shared a query', async () => {
  const { clientId } = await newApp(opened.service)
  const users = await newUsers(opened.service, { clientId }, 2)
  const reader = openBalanceReader(opened.service.db)
  let turn = 0
  let isOver = false
  const next = () => {
    turn++
    if (!isOver) setImmediate(next)
  }
  setImmediate(next)
  const answers = new Map<number, number>()
  const found = await Promise.all(
    Array.from({ length: 512 }, async (_, i) => {
      const wallet = await reader.find(clientId, users[i % 2]!.serviceUserId)
      answers.set(turn, (answers.get(turn) ?? 0) + 1)
      return wallet?.clientId
    }),
  )
  isOver = true
  expect(found).toEqual(Array.from({ length: 512 }, () => clientId))
  // A turn may end, and the next one begin, between two callbacks of `setImmediate`.
  expect(Math.max(...answers.values())).toBeLessThanOrEqual(2 * placesPerTurn)
})
