import { afterAll, beforeAll, expect, test } from 'bun:test'
import { testDatabase, type TestDatabase } from '../../test/postgres.ts'
import { openDatabase, type Database } from './connection/database.ts'
import { openSandboxPayments } from './sandbox-payments.ts'

let database: TestDatabase
let db: Database
let store: ReturnType<typeof openSandboxPayments>

beforeAll(async () => {
  database = await testDatabase()
  db = openDatabase(database.connection)
  store = openSandboxPayments(db)
})
afterAll(async () => {
  await db.pool.end()
  await database.drop()
})

const at = (ms: number) => new Date(1_700_000_000_000 + ms)
const row = (id: string, version: number, document = '{}', dueAt?: Date) => ({
  id,
  version,
  document,
  createdAt: at(version),
  dueAt,
})

test('a row is found as it was put', async () => {
  const put = row('a', 1, '{"amountMinor":"99999999999"}', at(5))
  expect(await store.put(put)).toBeTrue()
  const { dueAt: _, ...found } = put
  expect(await store.find('a')).toEqual(found)
  expect(await store.find('b')).toBeUndefined()
})

test('of ten writers of one version exactly one writes, be it the first version or a later one', async () => {
  for (const version of [1, 2, 3]) {
    const writes = Array.from({ length: 10 }, (_, i) => store.put(row('raced', version, `${version}-${i}`)))
    const isWritten = await Promise.all(writes)
    expect(isWritten.filter(Boolean)).toHaveLength(1)
    expect((await store.find('raced'))?.document).toBe(`${version}-${isWritten.indexOf(true)}`)
  }
  expect(await store.put(row('raced', 5))).toBeFalse()
  expect(await store.put(row('never', 2))).toBeFalse()
})

test('a row with a due time adds work for then, and the newest are listed first', async () => {
  await store.put(row('late', 1, '{}', at(20)))
  await store.put(row('early', 1, '{}', at(10)))
  await store.put(row('future', 1, '{}', at(9_999)))
  const { rows } = await db.pool.query('select key, due_at from work order by due_at')
  const due = { a: at(5), early: at(10), late: at(20), future: at(9_999) }
  expect(rows).toEqual(Object.entries(due).map(([key, due_at]) => ({ key, due_at })))
  expect(await store.listNewest(2)).toHaveLength(2)
  expect((await store.listNewest(1))[0]?.id).toBe('raced')
})
