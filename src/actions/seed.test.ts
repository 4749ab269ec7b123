import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { findCluster } from '../../test/postgres.ts'
import { newApp, openTestService, operator, type Credentials, type TestService } from '../../test/service.ts'
import { findApp } from '../store/apps.ts'
import { verifyBooks, type VerifyResult } from '../store/verify/verify.ts'
import { postForApp } from './money/post.ts'
import { seedUsers } from './seed.ts'

setDefaultTimeout(180_000)

let opened: TestService
let credentials: Credentials

beforeAll(async () => {
  opened = await openTestService()
  credentials = await newApp(opened.service)
})

afterAll(async () => await opened.close())

async function verify(): Promise<VerifyResult> {
  return await verifyBooks(opened.service.db.connection)
}

async function seed(users: number, creditMinor: bigint): Promise<string[]> {
  const result = await seedUsers(opened.service, operator, { users, clientId: credentials.clientId, creditMinor })
  if ('refusal' in result) throw new Error(result.refusal)
  return result.serviceUserIds
}

test('seeded users have their money, and the books stay exact, also with two seeds at once', async () => {
  const [one, two] = await Promise.all([seed(12_001, 500n), seed(3_000, 700n)])
  expect([one.length, new Set([...one, ...two]).size]).toEqual([12_001, 15_001])
  expect(await verify()).toMatchObject({ wallets: 15_001, transfers: 15_001, faults: 0 })
  const wallet = await opened.service.reader.find(credentials.clientId, one[11_999]!)
  expect(wallet).toMatchObject({ balanceMinor: 500n, isActive: true })
})

// On a cluster each node has its own statistics.
test.skipIf((await findCluster()) !== undefined)(
  'a seed leaves the planner with statistics of everything it filled',
  async () => {
    await seed(100, 500n)
    const { rows } = await opened.service.db.pool.query<{ tablename: string }>(
      `select distinct tablename from pg_stats where schemaname = 'public' order by 1`,
    )
    const analysed = rows.map((row) => row.tablename)
    for (const table of ['users', 'wallets', 'links', 'transfers', 'outcomes', 'positions'])
      expect(analysed).toContain(table)
  },
)

test('a seeded user can be debited like any other', async () => {
  const [serviceUserId = ''] = await seed(1, 500n)
  const app = (await findApp(opened.service.db.pool, credentials.clientId))!
  const posting = { serviceUserId, amountMinor: 200n, referenceType: 'T', referenceId: '1', description: null }
  const result = await postForApp(opened.service, app, { direction: 'debit', ...posting })
  expect(result).toMatchObject({ kind: 'outcome', outcome: { balanceMinor: 300n } })
  expect((await verify()).faults).toBe(0)
})

test('without a credit the wallets are empty, and nothing is entered', async () => {
  const before = await verify()
  await seed(10, 0n)
  expect(await verify()).toEqual({ ...before, wallets: before.wallets + 10 })
})

test('seeding is refused in production, and for an app that is not there', async () => {
  const order = { users: 1, clientId: credentials.clientId, creditMinor: 0n }
  const production = { ...opened.service, config: { ...opened.service.config, isProduction: true } }
  expect(await seedUsers(production, operator, order)).toEqual({ refusal: 'in-production' })
  expect(await seedUsers(opened.service, operator, { ...order, clientId: 'app_none' })).toEqual({
    refusal: 'unknown-app',
  })
})
