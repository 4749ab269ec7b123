/** Balance checks while the database does not answer, and when it answers again. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { openBalanceReader } from '../src/store/shared-reader.ts'
import { DatabaseUnavailable } from '../src/store/connection/database-unavailable.ts'
import type { OpenClient } from '../src/store/connection/open-client.ts'
import { openPool } from '../src/store/connection/pool.ts'
import { openClient } from '../src/store/connection/servers.ts'
import { newApp, newUser, openTestService, type TestService } from './service.ts'

setDefaultTimeout(60_000)

let opened: TestService
beforeAll(async () => void (opened = await openTestService()))
afterAll(() => opened.close())

test('after a silence of the database, a look-up that came lately is answered, and one that waited through it is refused', async () => {
  const { clientId } = await newApp(opened.service)
  const { serviceUserId } = await newUser(opened.service, { clientId })
  // Open already: a slow machine must not use up the time of the read.
  const ready: OpenClient[] = []
  for (let i = 0; i < 4; i++) ready.push(await openClient(opened.service.db.connection, { name: 'test' }))
  const silent = Promise.withResolvers<OpenClient>()
  const state = { isSilent: true }
  const open = () => (state.isSilent ? silent.promise : Promise.resolve(ready.pop()!))
  const pool = openPool(open, 20, 30_000)
  const reader = openBalanceReader({ ...opened.service.db, pool })
  const find = () => reader.find(clientId, serviceUserId).catch((error: unknown) => error)
  // Two reads run at once, and the next look-ups wait for them.
  const during = [find()]
  await Bun.sleep(10)
  during.push(find())
  await Bun.sleep(10)
  during.push(find())
  // Longer than the limit of a read, whose second attempt waits on.
  await Bun.sleep(2_500)
  state.isSilent = false
  const lately = find()
  silent.reject(new DatabaseUnavailable('no answer'))
  for (const each of await Promise.all(during)) expect(each).toBeInstanceOf(DatabaseUnavailable)
  expect(await lately).toMatchObject({ clientId, balanceMinor: 0n })
  for (const client of ready) await client.end()
  await pool.end()
})
