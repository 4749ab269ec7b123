/** A pass over more wallets, and over more entries, than one page has. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { randomUUID } from 'node:crypto'
import { openTestService, type TestService } from '../../../test/service.ts'
import { newestSigned } from '../../../test/sealed-books.ts'
import { proveEntry } from './prove-entry.ts'
import { sealBooks } from './seal-books.ts'
import { verifyLog } from './verify-log.ts'

setDefaultTimeout(300_000)

let rig: TestService

beforeAll(async () => {
  rig = await openTestService()
})
afterAll(() => rig.close())

const query = async (sql: string, values: unknown[] = []) =>
  (await rig.service.db.longRunning.pool.query<{ count: number }>(sql, values)).rows[0]?.count

/** Wallets with entries that the check has found right. */
async function addWallets(
  count: number,
  entries: number,
  ids = Array.from({ length: count }, () => randomUUID() as string),
): Promise<void> {
  await query(
    `insert into transfers (wallet_id, sequence, amount, balance_after, reference_key, created_at, counter_account, reference_type, reference_id)
     select id, n, 1, n, gen_random_uuid(), now(), 'service', 'TEST', n::text from unnest($1::uuid[]) id, generate_series(1, $2::int) n`,
    [ids, entries],
  )
  await query(
    'insert into verified_wallets (wallet_id, sequence, balance) select id, $2::int, $2::int from unnest($1::uuid[]) id',
    [ids, entries],
  )
}

test('a pass seals every entry of every wallet, in as many pages as it needs', async () => {
  await addWallets(700, 1)
  await addWallets(1, 30_100)
  await addWallets(120, 300)
  await sealBooks(rig.service)
  expect(
    await query(
      'select count(*)::int as count from verified_wallets v join wallet_heads h using (wallet_id) where h.size = v.sequence',
    ),
  ).toBe(821)
  // The wallet that is larger than a page has a state for each of its pages.
  expect(await query(`select count(*)::int as count from log_leaves where kind = 'wallet'`)).toBeGreaterThan(821)
  const signed = await newestSigned(rig.service)
  expect(await Array.fromAsync(verifyLog(rig.service.db.pool, signed, rig.service.config.currency.code))).toEqual([])
})

test.each([
  { began: 0, next: 10 },
  { began: 2, next: 8 },
  { began: 60, next: 5 },
])('a pass that began $began minutes ago is followed $next minutes after its begin', async ({ began, next }) => {
  await query(
    `update log_state set next_pass_at = now(), pass_started_at = now() - make_interval(mins => nullif($1::int, 0))`,
    [began],
  )
  await sealBooks(rig.service)
  const minutes = `select round(extract(epoch from next_pass_at - sealed_up_to) / 60)::int as count from log_state`
  expect(await query(minutes)).toBe(next)
})

test('between two pages of a pass, an entry of a wallet whose turn has not come is proven', async () => {
  const last = 'ffffffff-ffff-4fff-bfff-ffffffffffff'
  await addWallets(700, 1)
  await addWallets(1, 1, [last])
  await query('update log_state set next_pass_at = now()')
  const kinds: string[] = []
  await sealBooks(rig.service, {
    betweenPages: async () => {
      expect(await query('select count(*)::int as count from log_state where pass_started_at is not null')).toBe(1)
      if (kinds.length > 0) return
      expect(await query('select count(*)::int as count from wallet_heads where wallet_id = $1', [last])).toBe(0)
      kinds.push((await proveEntry(rig.service, { walletId: last, sequence: 1 })).kind)
    },
  })
  expect(kinds).toEqual(['proof'])
})
