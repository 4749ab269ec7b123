/**
 * A superuser edits books below a signed state at random: entries, their order, audit records, positions, and the log itself. Every edit is
 * named, and nothing is named without one. `npm test -- all` makes a thousand edits.
 */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import type { Checkpoint } from '../../sdk/verify/note.ts'
import { verifyLog, type LogFault } from '../../src/actions/proofs/verify-log.ts'
import type { Queryable } from '../../src/store/connection/database.ts'
import { newClient } from '../client.ts'
import { endDay, newestSigned, sealAll, withTampered } from '../sealed-books.ts'
import { newApp, newUser, openTestService, type TestService, type TestUser } from '../service.ts'

setDefaultTimeout(580_000)

const rounds = process.env['TEST_ALL'] === '1' ? 1_000 : 100

let opened: TestService
let users: TestUser[]
let signed: Checkpoint

beforeAll(async () => {
  opened = await openTestService()
  const app = await newApp(opened.service)
  const client = newClient(opened.app.fetch, app)
  users = await Promise.all(Array.from({ length: 6 }, async () => await newUser(opened.service, app)))
  for (let round = 0; round < 3; round++) {
    for (const [i, { serviceUserId }] of users.entries())
      for (let j = 0; j < 4 + i; j++) await client.credit(serviceUserId, 1 + j)
    if (round === 0) await endDay(opened.service)
    await sealAll(opened.service)
  }
  signed = await newestSigned(opened.service)
  for (const { serviceUserId } of users) await client.debit(serviceUserId, 1)
  await sealAll(opened.service)
})
afterAll(async () => await opened.close())

const faultsOf = async (db: Queryable): Promise<LogFault[]> => await Array.fromAsync(verifyLog(db, signed, 'USD'))

const pick = <T>(items: readonly T[]): T => items[Math.floor(Math.random() * items.length)]!

type Edit = { readonly about: string; readonly sql: readonly string[]; readonly names: (fault: LogFault) => boolean }

function editEntry(): Edit {
  const user = Math.floor(Math.random() * users.length)
  const { userId } = users[user]!
  const sealed = 3 * (4 + user)
  const sequence = 1 + Math.floor(Math.random() * sealed)
  const at = `wallet_id = '${userId}' and sequence = ${sequence}`
  const change = pick([
    `amount = amount + ${1 + Math.floor(Math.random() * 1_000)}`,
    `created_at = (created_at at time zone 'UTC' + interval '${1 + Math.floor(Math.random() * 1_000_000)} microseconds') at time zone 'UTC'`,
    `counter_account = counter_account || 'x'`,
    `reference_type = reference_type || 'x'`,
    `reference_id = reverse(reference_id) || '1'`,
    `description = coalesce(description, '') || 'x'`,
  ])
  const other = sequence === sealed ? 1 : sequence + 1
  const swap = [
    `update transfers set sequence = 100000 where ${at}`,
    `update transfers set sequence = ${sequence} where wallet_id = '${userId}' and sequence = ${other}`,
    `update transfers set sequence = ${other} where wallet_id = '${userId}' and sequence = 100000`,
  ]
  const sql = pick([[`update transfers set ${change} where ${at}`], [`delete from transfers where ${at}`], swap])
  const first = sql === swap ? Math.min(sequence, other) : sequence
  return {
    about: sql.join('; '),
    sql,
    names: (fault) => fault.kind === 'wallet' && fault.walletId === userId && fault.entry === first,
  }
}

function editRecord(ids: readonly string[]): Edit {
  const id = pick(ids)
  const change = pick([
    `actor = actor || 'x'`,
    `action = action || 'x'`,
    `subject = subject || 'x'`,
    `address = coalesce(address, '') || '1'`,
    `detail = detail || '{"x": 1}'`,
    `at = at + interval '1 microsecond'`,
  ])
  const sql = [pick([`update audit set ${change} where id = '${id}'`, `delete from audit where id = '${id}'`])]
  return { about: sql.join(), sql, names: (fault) => fault.kind === 'audit' && fault.id === id }
}

function editPosition(accounts: readonly string[]): Edit {
  const account = pick(accounts)
  const change = pick(['debited = debited + 1', 'credited = credited + 1', 'transfers = transfers + 1'])
  const old = `counter_account = '${account}' and day < current_date - 1`
  const sql = [pick([`update positions set ${change} where ${old}`, `delete from positions where ${old}`])]
  return { about: sql.join(), sql, names: (fault) => fault.kind === 'books' && fault.account === account }
}

function editLog(): Edit {
  const number = Math.floor(Math.random() * signed.size)
  const sql = [
    pick([
      `update log_leaves set hash = sha256(hash) where number = ${number}`,
      `delete from log_leaves where number = ${number}`,
      `update log_leaves set subject = null, kind = 'wallet' where number = ${number}`,
    ]),
  ]
  return { about: sql.join(), sql, names: (fault) => fault.kind === 'log' }
}

test(`of ${rounds} random edits below a signed state all are named, and none is named without an edit`, async () => {
  const { pool } = opened.service.db
  const { rows: records } = await pool.query<{ id: string }>(
    `select subject as id from log_leaves where kind = 'audit' and number < $1`,
    [signed.size],
  )
  const { rows: days } = await pool.query<{ accounts: string[] }>('select accounts from log_days')
  const ids = records.map(({ id }) => id)
  const accounts = days.flatMap((day) => day.accounts)
  expect([ids.length > 0, accounts.length > 0]).toEqual([true, true])
  const missed: string[] = []
  for (let round = 0; round < rounds; round++) {
    const edit = pick([editEntry, editEntry, () => editRecord(ids), () => editPosition(accounts), editLog])()
    const faults = await withTampered(opened.service, async (db) => {
      for (const sql of edit.sql) await db.query(sql)
      return await faultsOf(db)
    })
    if (!faults.some(edit.names)) missed.push(`${edit.about}: ${JSON.stringify(faults)}`)
    // An edit of the log itself may also contradict what the leaf is about.
    if (!faults.some(({ kind }) => kind === 'log') && faults.length > 1) missed.push(`more than one: ${edit.about}`)
    if (round % 25 === 0) expect(await faultsOf(pool)).toEqual([])
  }
  expect(missed).toEqual([])
  expect(await faultsOf(pool)).toEqual([])
})
