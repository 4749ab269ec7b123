import { afterAll, beforeAll, expect, test } from 'bun:test'
import { testDatabase, type TestDatabase } from '../../test/postgres.ts'
import { openDatabase, transact, type Database } from './connection/database.ts'
import { withDemoLock, locks, tryLock } from './locks.ts'

let database: TestDatabase
let db: Database
beforeAll(async () => {
  database = await testDatabase()
  db = openDatabase(database.connection)
})
afterAll(async () => {
  await db.pool.end()
  await database.drop()
})

test('while one process makes the demo, another may take every other lock, and the demo’s only afterwards', async () => {
  const { demo, ...others } = locks
  await withDemoLock(db, async () => {
    await transact(db, async (tx) => {
      expect(await tryLock(tx, demo)).toBe(false)
      for (const lock of Object.values(others)) expect(await tryLock(tx, lock)).toBe(true)
    })
  })
  // The server notices the end of the connection shortly after.
  await withDemoLock(db, async () => {})
})

test('no two advisory locks share a number', () => {
  const numbers = Object.values(locks)
  expect(new Set(numbers).size).toBe(numbers.length)
})
