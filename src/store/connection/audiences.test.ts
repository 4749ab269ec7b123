/** Apps, widgets, and the admin area with the jobs: each has its own connections, and waits only for its own. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { newClient } from '../../../test/client.ts'
import { eventually } from '../../../test/eventually.ts'
import { newApp, newUser, openTestService, type Credentials, type TestService } from '../../../test/service.ts'
import { openDatabase, type Database } from './database.ts'
import type { Pool, PooledClient } from './pool.ts'

setDefaultTimeout(60_000)

let opened: TestService
let app: Credentials

beforeAll(async () => {
  opened = await openTestService()
  app = await newApp(opened.service)
})
afterAll(() => opened.close())

/** Takes every connection of the pool, and some more callers wait for one. */
async function useUp(pool: Pool) {
  const held: PooledClient[] = []
  let isOver = false
  const hold = (one: PooledClient) => (isOver ? one.release() : void held.push(one))
  for (let asked = 0; asked < 16; asked++) pool.connect().then(hold, () => {})
  await eventually(() => pool.waitingCount > 0 && held.length === pool.totalCount, true)
  expect(held.length).toBeGreaterThan(5)
  return () => {
    isOver = true
    for (const one of held) one.release()
  }
}

test('while widgets use all their connections, the reads of apps are answered', async () => {
  const { serviceUserId } = await newUser(opened.service, app)
  const client = newClient(opened.app.fetch, app)
  const letGo = await useUp(opened.service.db.widget.pool)
  const page = opened.app.fetch(
    new Request('http://billfold.test/api/widget/wallet?session=ws_00000000-0000-4000-8000-000000000000'),
  )
  expect((await client.wallet(serviceUserId)).status).toBe(200)
  expect(await client.balance(serviceUserId)).toBe(0)
  letGo()
  expect((await page).status).toBe(401)
})

test('while apps use all their connections, a widget is answered', async () => {
  const letGo = await useUp(opened.service.db.pool)
  const session = 'ws_00000000-0000-4000-8000-000000000000'
  const request = new Request(`http://billfold.test/api/widget/wallet?session=${session}`)
  expect((await opened.app.fetch(request)).status).toBe(401)
  letGo()
})

/** Asks the pool for more connections than it may open, until `stop`, and counts those that it gave. */
function useMost(pool: Pool) {
  let given = 0
  let isOver = false
  // On a busy machine a connection may not open in time, as a caller may wait in vain: then it asks again.
  const ask = (): void =>
    void pool.connect().then(
      () => given++,
      () => (isOver ? undefined : ask()),
    )
  for (let asked = 0; asked < 30; asked++) ask()
  return { given: () => given, stop: () => (isOver = true) }
}

test.each([
  [2, 2],
  [3, 3],
  [4, 4],
  [9, 9],
  [16, 16],
])('of %d connections the audiences together open no more', async (configured, expected) => {
  const db: Database = openDatabase(opened.service.db.connection, configured)
  const pools = new Set([db.pool, db.widget.pool, db.longRunning.pool])
  const uses = [...pools].map(useMost)
  const total = () => uses.reduce((sum, { given }) => sum + given(), 0)
  await eventually(total, expected)
  await Bun.sleep(200)
  expect(total()).toBe(expected)
  for (const { stop } of uses) stop()
  await db.pool.end()
})
