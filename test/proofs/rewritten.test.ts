/** What the owner of the database changes below a signed state of the log is named; what happens honestly is not. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { checkBooks } from '../../src/actions/money/check-books.ts'
import { logOrigin } from '../../src/actions/proofs/checkpoint.ts'
import { sealBooks } from '../../src/actions/proofs/seal-books.ts'
import { verifyLog, type LogFault } from '../../src/actions/proofs/verify-log.ts'
import { parseCheckpoint, parseNote, type Checkpoint } from '../../sdk/verify/note.ts'
import { findLog, findNewestCheckpoint } from '../../src/store/proofs/proof-log.ts'
import type { Queryable } from '../../src/store/connection/database.ts'
import { newClient, type Client } from '../client.ts'
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
    await seal()
  }
  signed = await newestCheckpoint()
  // Above the signed state: honest work that must not look like a rewrite.
  for (const { serviceUserId } of users) await client.debit(serviceUserId, 1)
  await seal()
})
afterAll(async () => await opened.close())

async function seal(): Promise<void> {
  await pool().query(`update books_check set next_pass_at = now(), next_sums_at = now()`)
  await checkBooks(opened.service)
  await pool().query('update log_state set next_pass_at = now()')
  await sealBooks(opened.service)
}

async function newestCheckpoint(): Promise<Checkpoint> {
  const log = (await findLog(pool()))!
  const { note } = (await findNewestCheckpoint(pool(), logOrigin(opened.service, log)))!
  return parseCheckpoint(parseNote(note)!.text)!
}

async function faultsOf(db: Queryable, checkpoint = signed): Promise<LogFault[]> {
  return await Array.fromAsync(verifyLog(db, checkpoint, 'USD'))
}

/** In a transaction that is rolled back, without the triggers that refuse changes. */
async function tampered<T>(work: (db: Queryable) => Promise<T>): Promise<T> {
  const connection = await pool().connect()
  try {
    await connection.query('begin')
    for (const table of ['transfers', 'audit', 'log_leaves', 'log_checkpoints'])
      await connection.query(`alter table ${table} disable trigger user; grant all on ${table} to current_user`)
    return await work(connection)
  } finally {
    await connection.query('rollback')
    connection.release()
  }
}

test('nothing is found where nothing was rewritten, by the old state and by the newest', async () => {
  expect(await faultsOf(pool())).toEqual([])
  const newest = await newestCheckpoint()
  expect(newest.size).toBeGreaterThan(signed.size)
  expect(await faultsOf(pool(), newest)).toEqual([])
})

const edits: Record<string, string> = {
  amount: 'update transfers set amount = amount + 1 where wallet_id = $1 and sequence = $2',
  time: `update transfers set created_at = created_at + interval '1 microsecond' where wallet_id = $1 and sequence = $2`,
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
    expect(changed).toEqual([{ kind: 'audit', id, isMissing: false }])
    const missing = await tampered(async (db) => {
      await db.query('delete from audit where id = $1', [id])
      return await faultsOf(db)
    })
    expect(missing).toEqual([{ kind: 'audit', id, isMissing: true }])
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
