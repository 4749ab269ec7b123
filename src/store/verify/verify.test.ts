import { afterAll, beforeAll, beforeEach, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { Client } from 'pg'
import { findCluster, testDatabase, type TestDatabase } from '../../../test/postgres.ts'
import type { OpenClient } from '../connection/open-client.ts'
import { openClient } from '../connection/servers.ts'
import { referenceKeyOf } from '../outcomes.ts'
import { checks, type Check, type Fault } from './fault.ts'
import { nextSlice } from './slice.ts'
import { verifySlice } from './verify.ts'
import { verifyBooks } from './verify.ts'

setDefaultTimeout(180_000)

let database: TestDatabase
let client: OpenClient

const ann = '01900000-0000-7000-8000-000000000001'
const between = '01900000-0000-7000-8000-000000000002'
const bob = '01900000-0000-7000-8000-000000000003'
const nobody = '01900000-0000-7000-8000-00000000000f'
const at = '2026-03-01T12:00:00.123456Z'

beforeAll(async () => {
  database = await testDatabase()
  client = await openClient(database.connection, { name: 'test' })
  // What a thief of the database's own password could do.
  for (const table of ['transfers', 'outcomes', 'wallets', 'links', 'users', 'holds', 'hold_steps']) {
    await client.query(`grant all on ${table} to current_user`)
    await client.query(`alter table ${table} disable trigger user`)
  }
  await client.query('alter table links drop constraint links_user_id_fkey')
  await client.query('alter table wallets drop constraint wallets_not_overdrawn')
  await client.query('alter table transfers drop constraint transfers_not_overdrawn')
  await client.query(`insert into apps (client_id, name) values ('app_one', 'One'), ('app_two', 'Two')`)
  for (const id of [ann, bob]) {
    await client.query(`insert into users (id, email, first_name, last_name) values ($1, $2, 'A', 'B')`, [
      id,
      `${id}@x.y`,
    ])
    await client.query('insert into wallets (id) values ($1)', [id])
    await client.query(`insert into links (id, client_id, user_id) values ($1, 'app_one', $2)`, [`su_${id}`, id])
  }
  await enter(ann, 1, 1000, 1000, 'bonus', 'B-1')
  await enter(ann, 2, -300, 700, 'app:app_one', 'D-1')
  await enter(ann, 3, 50, 750, 'app:app_one', 'C-1')
  await enter(bob, 1, 500, 500, 'cards', 'T-1')
  await enter(bob, 2, -500, 0, 'app:app_one', 'D-2')
  // A card payment that was spent is taken back, and a part of the debt repaid.
  await enter(bob, 3, -500, -500, 'cards', 'R-1')
  await enter(bob, 4, 200, -300, 'app:app_one', 'C-2')
  await client.query(`update wallets set balance = 750, sequence = 3 where id = $1`, [ann])
  await holdAnn()
  await client.query(`update wallets set balance = -300, sequence = 4, frozen_for = 'debt' where id = $1`, [bob])
  await client.query(
    `insert into outcomes (reference_key, wallet_id, amount, balance, created_at, refusal) values ($1, $2, -800, 750, $3, 'INSUFFICIENT_BALANCE')`,
    [keyOf('app:app_one', 'D-3'), ann, at],
  )
  await client.query(`insert into positions (counter_account, day, writer, debited, credited, transfers)
    select counter_account, (created_at at time zone 'UTC')::date, 1 + sequence % 2, sum(greatest(-amount, 0)), sum(greatest(amount, 0)), count(*)
    from transfers group by 1, 2, 3`)
})

afterAll(async () => {
  await client.end()
  await database.drop()
})

function keyOf(counterAccount: string, id: string): string {
  return referenceKeyOf({ namespace: counterAccount.startsWith('app:') ? counterAccount : 'service', type: 'Käse', id })
}

async function enter(walletId: string, sequence: number, amount: number, after: number, account: string, id: string) {
  const key = keyOf(account, id)
  await client.query(
    `insert into transfers (wallet_id, sequence, amount, balance_after, reference_key, created_at, counter_account, reference_type, reference_id)
     values ($1, $2, $3, $4, $5, $6, $7, 'Käse', $8)`,
    [walletId, sequence, amount, after, key, at, account, id],
  )
  await client.query(
    'insert into outcomes (reference_key, wallet_id, amount, balance, sequence, created_at) values ($1, $2, $3, $4, $5, $6)',
    [key, walletId, amount, after, sequence, at],
  )
}

const open = '11111111-0000-7000-8000-000000000001'
const captured = '11111111-0000-7000-8000-000000000002'

/** Ann has an open hold of 100, and one of which an entry took 300 and 20 were given back. */
async function holdAnn(): Promise<void> {
  const insertHold = `insert into holds (wallet_id, id, client_id, reference_type, reference_id, amount, captured, released, extra, created_at,
    expires_at, closed_at, ended_by, steps) values ('${ann}', $1, 'app_one', 'ORDER', 'x', $2, $3, $4, $5, now(), now() + interval '1 day', $6, $7, $8)`
  await client.query(insertHold, [open, 100, 0, 0, 0, null, null, 1])
  await client.query(insertHold, [captured, 270, 250, 20, 50, new Date(), 'capture', 1])
  await client.query(
    `insert into hold_steps (wallet_id, hold_id, number, kind, amount, sequence, actor, at) values
     ('${ann}', '${open}', 1, 'extend', 0, null, 'app:app_one', now()), ('${ann}', '${captured}', 1, 'capture', 300, 2, 'app:app_one', now())`,
  )
  await client.query(
    `insert into outcomes (reference_key, wallet_id, amount, balance, held, created_at, is_hold) values
     ('${open}', '${ann}', -100, 750, 100, now(), true), ('${captured}', '${ann}', -270, 1000, 270, now(), true)`,
  )
  await client.query(`update wallets set held = 100 where id = '${ann}'`)
}

/** The faults of the books as the given statement would leave them; nothing stays. */
async function faultsAfter(corruption: string): Promise<Fault[]> {
  await client.query(corruption)
  const [one, several] = [await faultsWith(1), await faultsWith(3)]
  expect(several.map(({ message }) => message).toSorted()).toEqual(one.map(({ message }) => message).toSorted())
  return one
}

async function faultsWith(jobs: number): Promise<Fault[]> {
  const faults: Fault[] = []
  const result = await verifyBooks(database.connection, { jobs, onFault: (fault) => faults.push(fault) })
  expect(result.faults).toBe(faults.length)
  return faults
}

let copies: string[] = []
beforeEach(async () => {
  // Each test begins with the good books again.
  if (copies.length === 0) {
    copies = ['users', 'wallets', 'links', 'transfers', 'outcomes', 'positions', 'holds', 'hold_steps', 'work']
    for (const table of copies) await client.query(`create table good_${table} as table ${table}`)
    return
  }
  await client.query('delete from closings; drop table if exists closed_outcomes_1')
  for (const table of copies.toReversed()) await client.query(`delete from ${table}`)
  for (const table of copies) await client.query(`insert into ${table} select * from good_${table}`)
})

test('good books, with a debt and a refusal in them, have no fault', async () => {
  const faults: Fault[] = []
  const result = await verifyBooks(database.connection, { onFault: (fault) => faults.push(fault) })
  expect(faults).toEqual([])
  const entry = { transactionId: expect.stringMatching(/^txn_[0-9a-f]{32}$/) as string, createdAt: new Date(at) }
  const counts = { wallets: 2, transfers: 7, archived: 0, refusals: 1, faults: 0, balanceMinor: 450n }
  expect(result).toEqual({ ...counts, first: entry, last: entry })
})

/** A statement that breaks the books; each check it must raise, with the wallet and entry that are named. */
const corruptions: [name: string, sql: string, expected: [Check, string | null, number | null][]][] = [
  [
    'a balance that was raised',
    `update wallets set balance = balance + 1 where id = '${ann}'`,
    [
      ['wallet-balance', ann, null],
      ['wallet-last-entry', ann, null],
      ['books-unbalanced', null, null],
    ],
  ],
  ['a wallet that forgot a hold', `update wallets set held = 0 where id = '${ann}'`, [['wallet-held', ann, null]]],
  [
    'an outcome that two periods have',
    `insert into closings (id) values (1); create table closed_outcomes_1 as select * from outcomes where wallet_id = '${ann}' and sequence = 1`,
    [['outcome-twice', ann, null]],
  ],
  [
    'a hold that was taken out',
    `delete from holds where id = '${open}'`,
    [
      ['wallet-held', ann, null],
      ['hold-steps', ann, null],
      ['outcome-without-hold', ann, null],
    ],
  ],
  [
    'a hold that captured more than its entries',
    `update holds set extra = 51 where id = '${captured}'`,
    [['hold-steps', ann, null]],
  ],
  [
    'a step of a hold that was taken out',
    `delete from hold_steps where hold_id = '${open}'`,
    [['hold-steps', ann, null]],
  ],
  [
    'a capture of another amount than its entry',
    `update hold_steps set amount = 299 where hold_id = '${captured}'; update holds set extra = 49 where id = '${captured}'`,
    [['hold-entry', ann, null]],
  ],
  [
    'a hold whose outcome is of another amount',
    `update outcomes set amount = -99 where reference_key = '${open}'`,
    [['hold-without-outcome', ann, null]],
  ],
  ['a wallet that lost count', `update wallets set sequence = 9 where id = '${ann}'`, [['wallet-sequence', ann, null]]],
  [
    'an amount that was changed',
    `update transfers set amount = -301 where reference_id = 'D-1'`,
    [
      ['entry-running-balance', ann, 2],
      ['entry-unlike-outcome', ann, 2],
      ['wallet-balance', ann, null],
      ['hold-entry', ann, null],
      ['position-differs', null, null],
    ],
  ],
  [
    'a running balance that was changed',
    `update transfers set balance_after = 701 where reference_id = 'D-1'`,
    [
      ['entry-running-balance', ann, 2],
      ['entry-running-balance', ann, 3],
      ['entry-unlike-outcome', ann, 2],
    ],
  ],
  [
    'an entry that was taken out',
    `delete from transfers where reference_id = 'D-1'`,
    [
      ['entry-sequence', ann, 3],
      ['entry-running-balance', ann, 3],
      ['wallet-balance', ann, null],
      ['wallet-sequence', ann, null],
      ['hold-entry', ann, null],
      ['outcome-without-entry', ann, 2],
      ['position-differs', null, null],
    ],
  ],
  [
    'an entry whose outcome is gone',
    `delete from outcomes where sequence = 2 and wallet_id = '${ann}'`,
    [['entry-without-outcome', ann, 2]],
  ],
  [
    'an entry whose outcome is a refusal',
    `update outcomes set sequence = null, refusal = 'INSUFFICIENT_BALANCE' where wallet_id = '${bob}' and sequence = 2`,
    [['entry-with-refusal', bob, 2]],
  ],
  [
    'an outcome of another time',
    `update outcomes set created_at = '${at.replace('6Z', '7Z')}' where wallet_id = '${bob}' and sequence = 2`,
    [['entry-unlike-outcome', bob, 2]],
  ],
  [
    'an outcome of another wallet',
    `update outcomes set wallet_id = '${ann}' where wallet_id = '${bob}' and sequence = 4`,
    [
      ['entry-unlike-outcome', bob, 4],
      ['outcome-without-entry', ann, 4],
    ],
  ],
  [
    'an outcome without an entry',
    `insert into outcomes (reference_key, wallet_id, amount, balance, sequence, created_at) values (gen_random_uuid(), '${ann}', 5, 755, 4, now())`,
    [['outcome-without-entry', ann, 4]],
  ],
  [
    'a refusal without cause',
    `update outcomes set amount = -750 where refusal is not null`,
    [['outcome-refusal-unfounded', ann, null]],
  ],
  [
    'a balance limit that was not reached',
    `update outcomes set amount = 1, refusal = 'BALANCE_LIMIT' where refusal is not null`,
    [['outcome-refusal-unfounded', ann, null]],
  ],
  [
    'a refusal of a wallet that is not there',
    `update outcomes set wallet_id = '${nobody}' where refusal is not null`,
    [['outcome-without-wallet', nobody, null]],
  ],
  [
    'a reference that was renamed',
    `update transfers set reference_id = 'D-9' where reference_id = 'D-1'`,
    [['entry-reference-key', ann, 2]],
  ],
  [
    "an app's entry moved to another app",
    `update transfers set counter_account = 'app:app_two' where reference_id = 'D-1'`,
    [
      ['entry-reference-key', ann, 2],
      ['entry-without-link', ann, 2],
      ['position-differs', null, null],
      ['position-differs', null, null],
    ],
  ],
  [
    'an entry that goes back in time',
    `update transfers set created_at = '${at.replace('6Z', '5Z')}' where reference_id = 'C-1';
    update outcomes set created_at = '${at.replace('6Z', '5Z')}' where wallet_id = '${ann}' and sequence = 3`,
    [['entry-time', ann, 3]],
  ],
  [
    "an app's debit below zero",
    `update transfers set counter_account = 'app:app_one' where reference_id = 'R-1'`,
    [
      ['entry-overdraft', bob, 3],
      ['entry-reference-key', bob, 3],
      ['position-differs', null, null],
      ['position-differs', null, null],
    ],
  ],
  [
    'a debt that is not frozen',
    `update wallets set frozen_for = null where id = '${bob}'`,
    [['wallet-overdrawn-active', bob, null]],
  ],
  [
    'a freeze for a debt that is none',
    `update wallets set frozen_for = 'debt' where id = '${ann}'`,
    [['wallet-frozen-without-debt', ann, null]],
  ],
  [
    'a position that was changed',
    `update positions set debited = debited + 1 where counter_account = 'cards' and writer = 2`,
    [
      ['position-differs', null, null],
      ['books-unbalanced', null, null],
    ],
  ],
  [
    'two positions that make up for each other',
    `update positions set credited = credited + case counter_account when 'cards' then 1 else -1 end
    where counter_account in ('cards', 'bonus') and credited > 0`,
    [
      ['position-differs', null, null],
      ['position-differs', null, null],
    ],
  ],
  [
    'a position of the day after',
    `update positions set day = day + 1 where counter_account = 'bonus'`,
    [
      ['position-differs', null, null],
      ['position-differs', null, null],
    ],
  ],
  [
    'a wallet that is gone',
    `delete from wallets where id = '${ann}'`,
    [
      ['wallet-held', ann, null],
      ['wallet-missing', ann, null],
      ['books-unbalanced', null, null],
      ['outcome-without-wallet', ann, null],
    ],
  ],
  [
    'entries of a wallet nobody has',
    `insert into transfers select '${nobody}', sequence, amount, balance_after, gen_random_uuid(), created_at, counter_account, reference_type, 'X', null
    from transfers where reference_id = 'B-1'`,
    [
      ['entry-reference-key', nobody, 1],
      ['entry-without-outcome', nobody, 1],
      ['wallet-missing', nobody, null],
      ['position-differs', null, null],
    ],
  ],
  [
    'a wallet without its user',
    `delete from users where id = '${ann}'`,
    [
      ['wallet-without-user', ann, null],
      ['link-dangling', ann, null],
    ],
  ],
]

describe('verify names', () => {
  for (const [name, sql, expected] of corruptions) {
    test(name, async () => {
      const faults = await faultsAfter(sql)
      const found = faults.map((fault) => [fault.check, fault.walletId, fault.sequence].join(' '))
      expect(found.toSorted()).toEqual(expected.map((fault) => fault.join(' ')).toSorted())
      for (const fault of faults) {
        expect(fault.message).toEndWith('.')
        if (fault.walletId) expect(fault.message).toContain(fault.walletId)
        if (fault.sequence) expect(fault.message).toContain(`entry ${fault.sequence}`)
      }
    })
  }
})

test('every check is raised by one of the corruptions', () => {
  const raised = new Set(corruptions.flatMap(([, , expected]) => expected.map(([check]) => check)))
  // src/store/closing/archive/archived.test.ts raises it: no period is archived here.
  raised.add('archive-changed')
  expect([...checks].filter((check) => !raised.has(check))).toEqual([])
})

test('slices that touch cover every wallet, and an entry of a wallet between two of them', async () => {
  await client.query(
    `insert into transfers values ('${between}', 1, 5, 5, '${keyOf('bonus', 'Z')}', now(), 'bonus', 'Käse', 'Z', null)`,
  )
  const ranges = []
  const faults: Fault[] = []
  let from: string | null = null
  do {
    const slice = await nextSlice(client, from, 1)
    ranges.push([slice.from, slice.until, slice.wallets, slice.entries])
    faults.push(...(await verifySlice(client, slice)))
    from = slice.until
  } while (from !== null)
  expect(ranges).toEqual([
    [null, bob, 1, 3],
    [bob, null, 1, 4],
  ])
  expect(faults.map((fault) => [fault.check, fault.walletId])).toEqual([
    ['entry-without-outcome', between],
    ['wallet-missing', between],
  ])
})

test('progress ends at the whole, and an abort stops it between slices', async () => {
  const seen: number[] = []
  await verifyBooks(database.connection, { onProgress: ({ done, total }) => seen.push(done / total) })
  expect(seen).toEqual([0, 1, 1])
  for (const jobs of [1, 3]) {
    const stopped = verifyBooks(database.connection, { jobs, signal: AbortSignal.abort(new Error('enough')) })
    expect(await stopped.catch((error: Error) => error.message)).toBe('enough')
  }
})

// On a cluster only the service's own writes are in the snapshot, and this test writes directly: see live.test.ts.
test.skipIf((await findCluster()) !== undefined)('all connections see the snapshot of the first one', async () => {
  // oxlint-disable-next-line typescript/unbound-method -- It is called with its own client below.
  const query = Client.prototype.query as (this: Client, ...asked: unknown[]) => Promise<unknown>
  let isBroken = false
  Client.prototype.query = function (this: Client, ...asked: unknown[]) {
    if (isBroken || !String(asked[0]).includes('pg_export_snapshot')) return query.apply(this, asked)
    isBroken = true
    // Between the first connection's snapshot and the transactions of the others, the books change.
    return query.apply(this, asked).then(async (exported) => {
      await client.query(`update wallets set balance = balance + 1`)
      return exported
    })
  } as typeof Client.prototype.query
  try {
    expect(await faultsWith(3)).toEqual([])
    expect(isBroken).toBe(true)
  } finally {
    Client.prototype.query = query as typeof Client.prototype.query
  }
  expect((await faultsWith(3)).length).toBeGreaterThan(0)
})
