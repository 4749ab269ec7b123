/** Apps, widgets, and the admin area with the jobs: each has its own connections, and waits only for its own. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { newClient } from '../../../test/client.ts'
import { eventually } from '../../../test/eventually.ts'
import { newApp, newUser, openTestService, type Credentials, type TestService } from '../../../test/service.ts'
import { openDatabase, type Database } from './database.ts'
import type { Pool } from './pool.ts'

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
  const held = await Promise.all(Array.from({ length: 6 }, () => pool.connect()))
  const last = await Promise.race([pool.connect(), Bun.sleep(200)])
  if (last) held.push(last)
  return () => {
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

/** Asks the pool for more connections than it may open, and counts those that it gave. */
function useMost(pool: Pool): () => number {
  let given = 0
  for (let asked = 0; asked < 30; asked++)
    void pool.connect().then(
      () => given++,
      () => {},
    )
  return () => given
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
  const opens = [...pools].map(useMost)
  const total = () => opens.reduce((sum, given) => sum + given(), 0)
  await eventually(total, expected)
  await Bun.sleep(200)
  expect(total()).toBe(expected)
  await db.pool.end()
})
