/** What the owner of the database changes below a signed state of the log is named; what happens honestly is not. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { verifyLog, type LogFault } from '../../src/actions/proofs/verify-log.ts'
import type { Checkpoint } from '../../sdk/verify/note.ts'
import { mergePositions } from '../../src/store/books/merge-positions.ts'
import type { Queryable } from '../../src/store/connection/database.ts'
import { newClient, type Client } from '../client.ts'
import { endDay, newestSigned, queryEach, sealAll, withTampered } from '../sealed-books.ts'
import { newApp, newUser, openTestService, type TestService, type TestUser } from '../service.ts'

let opened: TestService
let client: Client
const users: TestUser[] = []
let signed: Checkpoint

const pool = () => opened.service.db.pool

beforeAll(async () => {
  opened = await openTestService()
  const app = await newApp(opened.service)
  client = newClient(opened.app.fetch, app)
  for (let i = 0; i < 8; i++) users.push(await newUser(opened.service, app))
  for (let round = 0; round < 3; round++) {
    for (const [i, { serviceUserId }] of users.entries())
      for (let j = 0; j <= i; j++) await client.credit(serviceUserId, 1 + j)
    // The first seal has the books of the days before.
    if (round === 0) await endDay(opened.service)
    await sealAll(opened.service)
  }
  signed = await newestSigned(opened.service)
  // Above the signed state: honest work that must not look like a rewrite.
  for (const { serviceUserId } of users) await client.debit(serviceUserId, 1)
  await sealAll(opened.service)
})
afterAll(async () => await opened.close())

async function faultsOf(db: Queryable, checkpoint = signed): Promise<LogFault[]> {
  return await Array.fromAsync(verifyLog(db, checkpoint, 'USD'))
}

const tampered = async <T>(work: (db: Queryable) => Promise<T>) => await withTampered(opened.service, work)

test('nothing is found where nothing was rewritten, by the old state and by the newest', async () => {
  expect(await faultsOf(pool())).toEqual([])
  const newest = await newestSigned(opened.service)
  expect(newest.size).toBeGreaterThan(signed.size)
  expect(await faultsOf(pool(), newest)).toEqual([])
})

const edits: Record<string, string> = {
  amount: 'update transfers set amount = amount + 1 where wallet_id = $1 and sequence = $2',
  time: `update transfers set created_at = (created_at at time zone 'UTC' + interval '1 microsecond') at time zone 'UTC' where wallet_id = $1 and sequence = $2`,
  account: `update transfers set counter_account = 'app:other' where wallet_id = $1 and sequence = $2`,
  type: `update transfers set reference_type = reference_type || ' ' where wallet_id = $1 and sequence = $2`,
  reference: `update transfers set reference_id = reference_id || '|' where wallet_id = $1 and sequence = $2`,
  description: `update transfers set description = '' where wallet_id = $1 and sequence = $2`,
  deletion: 'delete from transfers where wallet_id = $1 and sequence = $2',
}

test('every kind of change to every sealed entry is named with its wallet and its number', async () => {
  for (const [i, { userId }] of users.entries())
    for (let sequence = 1; sequence <= 3 * (i + 1); sequence++) {
      const [name, sql] = Object.entries(edits)[(i * 7 + sequence) % 7]!
      const faults = await tampered(async (db) => {
        await db.query(sql, [userId, sequence])
        return await faultsOf(db)
      })
      expect([name, faults]).toMatchObject([name, [{ kind: 'wallet', walletId: userId, entry: sequence }]])
    }
})

test('two entries in each other’s place are named', async () => {
  const { userId } = users[7]!
  const faults = await tampered(async (db) => {
    await db.query(`update transfers set sequence = 1000 where wallet_id = $1 and sequence = 3`, [userId])
    await db.query(`update transfers set sequence = 3 where wallet_id = $1 and sequence = 5`, [userId])
    await db.query(`update transfers set sequence = 5 where wallet_id = $1 and sequence = 1000`, [userId])
    return await faultsOf(db)
  })
  expect(faults).toMatchObject([{ kind: 'wallet', walletId: userId, entry: 3 }])
})

test('a changed and a missing audit record are named', async () => {
  const { rows } = await pool().query<{ id: string }>('select id from audit order by at, id')
  expect(rows.length).toBeGreaterThan(0)
  for (const { id } of rows) {
    const changed = await tampered(async (db) => {
      await db.query(`update audit set detail = detail || '{"x": 1}' where id = $1`, [id])
      return await faultsOf(db)
    })
    expect(changed).toEqual([{ kind: 'audit', id, was: 'changed' }])
    const missing = await tampered(async (db) => {
      await db.query('delete from audit where id = $1', [id])
      return await faultsOf(db)
    })
    expect(missing).toEqual([{ kind: 'audit', id, was: 'removed' }])
  }
})

test('a log that was made to agree with changed books contradicts the signed state', async () => {
  const faults = await tampered(async (db) => {
    await db.query(`update log_leaves set hash = sha256(hash) where number = 3`)
    return await faultsOf(db)
  })
  expect(faults).toContainEqual({ kind: 'log' })
  const shorter = await tampered(async (db) => {
    await db.query('delete from log_leaves where number >= $1', [signed.size - 1])
    return await faultsOf(db)
  })
  expect(shorter).toContainEqual({ kind: 'log' })
})

test('a record with an earlier time, a tree that is gone, and leaves without their subject are named', async () => {
  const added = await tampered(async (db) => {
    await db.query(
      `insert into audit (id, at, actor, action, subject) values (gen_random_uuid(), now() - interval '2 hours', 'x', 'x', 'x')`,
    )
    return await faultsOf(db)
  })
  expect(added).toMatchObject([{ kind: 'audit', was: 'added' }])
  const { userId } = users[2]!
  const gone = await tampered(async (db) => {
    await db.query('delete from wallet_heads where wallet_id = $1', [userId])
    return await faultsOf(db)
  })
  expect(gone).toMatchObject([{ kind: 'wallet', walletId: userId, entry: undefined }])
  const hidden = await tampered(async (db) => {
    await db.query('update transfers set amount = amount + 1 where wallet_id = $1 and sequence = 1', [userId])
    await db.query('update log_leaves set subject = null where subject = $1', [userId])
    return await faultsOf(db)
  })
  expect(hidden).toContainEqual({ kind: 'log' })
})

test('what an account moved on a sealed day is named with the account, and the merge of positions is not', async () => {
  const { rows } = await pool().query<{ account: string }>('select counter_account as account from positions')
  const account = rows[0]!.account
  const edits = [
    'update positions set debited = debited + 1, credited = credited + 1 where counter_account = $1',
    'update positions set transfers = transfers + 1 where counter_account = $1',
    'delete from positions where counter_account = $1',
    `insert into positions select 'app:other', day - 1, writer, debited, credited, transfers from positions where counter_account = $1`,
  ]
  await mergePositions(opened.service.db)
  expect(await faultsOf(pool())).toEqual([])
  for (const [i, sql] of edits.entries()) {
    const faults = await tampered(async (db) => {
      await db.query(sql, [account])
      return await faultsOf(db)
    })
    expect(faults).toMatchObject([{ kind: 'books', account: i === 3 ? 'app:other' : account }])
  }
  const forgotten = await tampered(async (db) => {
    await db.query('delete from log_days')
    return await faultsOf(db)
  })
  expect(forgotten).toEqual([{ kind: 'books', day: undefined, account: undefined }])
})

test('a log that was changed below its last signature is never signed again', async () => {
  const origin = (await pool().query('select note from log_checkpoints')).rows.length
  await queryEach(
    pool(),
    `alter table log_leaves disable trigger user; grant update on log_leaves to current_user;
    update log_leaves set hash = sha256(hash) where number = (select max(number) from log_leaves)`,
  )
  await client.credit(users[0]!.serviceUserId, 1)
  const refusal = await sealAll(opened.service).catch(String)
  expect(refusal).toContain('does not continue the signed one')
  expect((await pool().query('select note from log_checkpoints')).rows.length).toBe(origin)
})
