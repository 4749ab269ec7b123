/** The comparison with a signed state reads many wallets at once, and each wallet gets the result that it gets alone. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { verifyWallets, type LogFault } from '../../src/actions/proofs/verify-log.ts'
import type { Queryable } from '../../src/store/connection/database.ts'
import { nextSealed, type SealedWallet } from '../../src/store/proofs/wallet-trees.ts'
import { newClient } from '../client.ts'
import { newApp, newUser, openTestService, type TestService, type TestUser } from '../service.ts'
import { queryEach } from '../sealed-books.ts'
import { newestOf, sealNow } from './seal-now.ts'

setDefaultTimeout(180_000)

let opened: TestService
/** With more states in the log than are read at once. */
let busy: TestUser
const others: TestUser[] = []
const pool = () => opened.service.db.pool

beforeAll(async () => {
  opened = await openTestService()
  const app = await newApp(opened.service)
  const client = newClient(opened.app.fetch, app)
  busy = await newUser(opened.service, app)
  for (let i = 0; i < 12; i++) others.push(await newUser(opened.service, app))
  for (const [i, { serviceUserId }] of others.entries())
    for (let amount = 1; amount <= 1 + (i % 3); amount++) await client.credit(serviceUserId, amount)
  for (let i = 1; i <= 52; i++) {
    await client.credit(busy.serviceUserId, i)
    await sealNow(opened.service)
  }
})
afterAll(async () => await opened.close())

async function verify(wallets: readonly SealedWallet[]): Promise<{ faults: LogFault[]; statements: number }> {
  const { size } = await newestOf(opened.service)
  const faults: LogFault[] = []
  let statements = 0
  const query = (...args: Parameters<Queryable['query']>) => {
    statements++
    return pool().query(...args)
  }
  const { code } = opened.service.config.currency
  for await (const group of verifyWallets({ query } as unknown as Queryable, wallets, size, code))
    faults.push(...group.faults)
  return { faults, statements }
}

const sealedOf = async (users: readonly TestUser[]) =>
  (await nextSealed(pool(), null, 100)).filter(({ walletId }) => users.some(({ userId }) => userId === walletId))

test('twelve wallets take as many statements as two', async () => {
  const two = await verify(await sealedOf(others.slice(0, 2)))
  const all = await verify(await sealedOf(others))
  expect(all).toEqual({ faults: [], statements: two.statements })
})

test('a changed entry of a wallet among others is named, and of a wallet with many states too', async () => {
  const { rows } = await pool().query<{ n: number }>(
    `select count(*)::integer as n from log_leaves where kind = 'wallet' and subject = $1`,
    [busy.userId],
  )
  expect(rows[0]!.n).toBeGreaterThan(50)
  const all = await sealedOf([busy, ...others])
  expect(all).toHaveLength(13)
  expect((await verify(all)).faults).toEqual([])
  await queryEach(pool(), 'grant all on transfers to current_user; alter table transfers disable trigger user')
  const changed = [
    [busy.userId, 52],
    [others[4]!.userId, 2],
  ] as const
  for (const [walletId, sequence] of changed)
    await pool().query(`update transfers set description = 'another' where wallet_id = $1 and sequence = $2`, [
      walletId,
      sequence,
    ])
  const { faults } = await verify(all)
  const named = faults.flatMap((fault) => (fault.kind === 'wallet' ? [[fault.walletId, fault.entry] as const] : []))
  expect(named).toHaveLength(changed.length)
  expect(new Map<string, number | undefined>(named)).toEqual(new Map(changed))
})

test('a missing entry of one wallet is named, and the others are not', async () => {
  const [first, second] = others as [TestUser, TestUser, ...TestUser[]]
  await pool().query('delete from transfers where wallet_id = $1 and sequence = 1', [second.userId])
  const { faults } = await verify(await sealedOf([first, second]))
  expect(faults).toMatchObject([{ kind: 'wallet', walletId: second.userId, entry: 1 }])
})
