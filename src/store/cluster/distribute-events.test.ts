/** `distribute` on a database with open holds and with events that have their numbers. Needs a real cluster: CONTRIBUTING.md. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { expectBalancedBooks } from '../../../test/books.ts'
import { callCommand } from '../../../test/command.ts'
import { newClient } from '../../../test/client.ts'
import { newAppWithEvents, numberAll, readAll, sequencesOf } from '../../../test/events/rig.ts'
import { holdClient, holdOf } from '../../../test/holds.ts'
import { findCluster } from '../../../test/postgres.ts'
import { newUsers, openTestService, type TestService } from '../../../test/service.ts'
import { verifyBooks } from '../verify/verify.ts'

setDefaultTimeout(180_000)

const nodes = await findCluster()
let opened: TestService
beforeAll(async () => {
  if (nodes) opened = await openTestService()
})
afterAll(async () => await opened?.close())

const tables = ['repeats', 'outcomes', 'hold_steps', 'holds', 'transfers', 'wallets']

test.skipIf(nodes === undefined)(
  'events that were numbered before stay as they are, and open holds move with their wallets',
  async () => {
    const { service, databaseUrl } = opened
    const app = await newAppWithEvents(service)
    const client = newClient(opened.app.fetch, app)
    const holds = holdClient(client, app)
    const users = await newUsers(service, app, 6)
    for (const { serviceUserId } of users)
      expect((await client.credit(serviceUserId, 100)).body).toMatchObject({ balance: 100 })
    const open = await Promise.all(users.map(async ({ serviceUserId }) => holdOf(await holds.place(serviceUserId, 40))))
    await numberAll(service)
    const feed = async () =>
      (await client.get('/api/server/events', { after: '0', limit: '1000' })).body['events'] as unknown[]
    const before = await feed()
    expect(before).toHaveLength(1 + 3 * users.length)
    // As it was before: all rows are in one place, and the events have their numbers.
    for (const table of tables) await service.db.longRunning.pool.query(`select undistribute_table('${table}')`)
    const { exitCode, stdout } = await callCommand(['distribute', '--json'], { DATABASE_URL: databaseUrl })
    expect([exitCode, stdout]).toEqual([0, expect.any(String)])
    for (const { serviceUserId } of users)
      expect((await client.debit(serviceUserId, 1)).body).toMatchObject({ balance: 99 })
    for (const { id } of open.slice(0, 3)) expect((await holds.capture(id)).status).toBe(200)
    for (const { id } of open.slice(3)) expect((await holds.void(id)).status).toBe(200)
    await numberAll(service)
    const events = await readAll(service, app.clientId)
    expect((await feed()).slice(0, before.length)).toEqual(before)
    expect(events).toHaveLength(before.length + users.length + 9)
    for (const sequences of Object.values(sequencesOf(events)))
      expect(sequences).toEqual(sequences.map((_, i) => i + 1))
    await expectBalancedBooks(service)
    expect(await verifyBooks(service.db.connection)).toMatchObject({ faults: 0, transfers: 2 * users.length + 3 })
  },
)
