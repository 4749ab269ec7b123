import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { newApp, newUsers, openTestService, type TestService } from './service.ts'
import { DatabaseUnavailable } from '../src/store/connection/database-unavailable.ts'
import { openBalanceReader, openSessionReader } from '../src/store/shared-reader.ts'
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

test('while each read is slow, a look-up that waited for too many others is refused, and those before it are answered', async () => {
  const { db } = opened.service
  const within = (limitMs: number) => {
    const { query } = db.pool.within(limitMs)
    return {
      query: async (asked: { text: string }) => {
        await Bun.sleep(1_000)
        return await query(asked)
      },
    }
  }
  const reader = openSessionReader(Object.assign({}, db, { pool: { ...db.pool, within } }))
  const hashes = Array.from({ length: 512 }, (_, i) => i.toString(16).padStart(64, '0'))
  const outcomes = await Promise.all(hashes.map((hash) => reader.find('', hash).catch((error: unknown) => error)))
  expect(outcomes.filter((each) => each === undefined).length).toBeGreaterThan(0)
  expect(outcomes.at(-1)).toBeInstanceOf(DatabaseUnavailable)
})
