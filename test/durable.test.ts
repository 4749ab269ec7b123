/** Money is acknowledged only when it is on disk, under any settings of the server or its role. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { grantBonus } from '../src/actions/money/grant-bonus.ts'
import { closeService, openService } from '../src/actions/service.ts'
import { openMetrics } from '../src/platform/metrics.ts'
import { openDatabase } from '../src/store/connection/database.ts'
import { buildApp } from '../src/app.ts'
import { newClient } from './client.ts'
import { recordQueries } from './recorded-queries.ts'
import { newApp, newUser, openTestService, operator, type TestService } from './service.ts'

let opened: TestService

beforeAll(async () => {
  opened = await openTestService()
})
afterAll(() => opened.close())

/** The setting of every connection that inserts transfers, in a service opened on a database with this setting. */
async function settingsWhereMoneyMoves(setting: string): Promise<string[]> {
  const { config, log, now, db } = opened.service
  const { rows } = await db.pool.query<{ name: string }>('select current_database() as name')
  await db.pool.query(`alter database ${rows[0]!.name} set synchronous_commit = ${setting}`)
  const late = openDatabase(db.connection)
  const service = openService({ config, log, now, db: late, metrics: openMetrics() })
  try {
    const { rows: plain } = await late.pool.query<{ synchronous_commit: string }>('show synchronous_commit')
    expect(plain[0]!.synchronous_commit).toBe(setting)
    const credentials = await newApp(service)
    const { userId, serviceUserId } = await newUser(service, credentials)
    const recorded = await recordQueries(async () => {
      const client = newClient(buildApp(service).fetch, credentials)
      expect((await client.credit(serviceUserId, 5)).status).toBe(200)
      await grantBonus(service, operator, { walletId: userId, amountMinor: 5n, referenceId: userId, reason: 'test' })
    })
    const movers = new Set(recorded.flatMap(({ client, text }) => (text.includes('into transfers') ? [client] : [])))
    const shown = [...movers].map(async (client) => {
      const { rows } = await client.query<{ synchronous_commit: string }>('show synchronous_commit')
      return rows[0]!.synchronous_commit
    })
    return await Promise.all(shown)
  } finally {
    await closeService(service)
    await late.pool.end()
    await db.pool.query(`alter database ${rows[0]!.name} reset synchronous_commit`)
  }
}

test('a database set to acknowledge before the data is on disk is overruled wherever money moves', async () => {
  const settings = await settingsWhereMoneyMoves('off')
  expect(settings.length).toBeGreaterThan(0)
  expect(new Set(settings)).toEqual(new Set(['on']))
})

test.each(['local', 'remote_write', 'remote_apply'])(
  'the setting %s, which waits for the disk too, is kept',
  async (choice) => {
    expect(new Set(await settingsWhereMoneyMoves(choice))).toEqual(new Set([choice]))
  },
)
