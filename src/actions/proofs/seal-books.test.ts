/** A pass over more wallets, and over more entries, than one page has. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { randomUUID } from 'node:crypto'
import { openTestService, type TestService } from '../../../test/service.ts'
import { newestSigned } from '../../../test/sealed-books.ts'
import type { Queryable } from '../../store/connection/database.ts'
import { proveEntry } from './prove-entry.ts'
import { sealBooks } from './seal-books.ts'
import { verifyLog, verifyWallets, type LogFault } from './verify-log.ts'

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
  after = 0,
): Promise<void> {
  await query(
    `insert into transfers (wallet_id, sequence, amount, balance_after, reference_key, created_at, counter_account, reference_type, reference_id)
     select id, n, 1, n, gen_random_uuid(), now(), 'service', 'TEST', n::text from unnest($1::uuid[]) id, generate_series($3::int + 1, $2::int) n`,
    [ids, entries, after],
  )
  await query(
    `insert into verified_wallets (wallet_id, sequence, balance) select id, $2::int, $2::int from unnest($1::uuid[]) id
     on conflict (wallet_id) do update set sequence = excluded.sequence, balance = excluded.balance`,
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
  { began: 0, next: 8 },
  { began: 3, next: 7 },
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

test('the entries of a wallet that was sealed in sixty passes are read together, also where one of them is missing', async () => {
  const walletId = randomUUID()
  for (let pass = 1; pass <= 60; pass++) {
    await addWallets(1, 3 * pass, [walletId], 3 * pass - 3)
    await query('update log_state set next_pass_at = now()')
    await sealBooks(rig.service)
  }
  const { pool } = rig.service.db
  const { rows } = await pool.query<{ salt: Buffer }>('select salt from wallet_heads where wallet_id = $1', [walletId])
  const { size } = await newestSigned(rig.service)
  const reads: string[] = []
  const counting = {
    query: (...call: Parameters<typeof pool.query>) => {
      const text = JSON.stringify(call[0])
      if (text.includes('transfers')) reads.push(text)
      return pool.query(...call)
    },
  } as unknown as Queryable
  const verify = async () => {
    const faults: LogFault[] = []
    const wallets = [{ walletId, salt: rows[0]!.salt }]
    for await (const found of verifyWallets(counting, wallets, size, rig.service.config.currency.code))
      faults.push(...found.faults)
    return faults
  }
  expect(await verify()).toEqual([])
  expect(reads).toHaveLength(1)
  await query('alter table transfers disable trigger user')
  await query('grant delete on transfers to current_user')
  await query('delete from transfers where wallet_id = $1 and sequence = 41', [walletId])
  expect(await verify()).toEqual([{ kind: 'wallet', walletId, from: 40, until: 42, entry: 41 }])
})
