import { afterAll, beforeAll, expect, test } from 'bun:test'
import { newApp, newUser, openTestService, type TestService } from '../../test/service.ts'
import { letPass } from '../../test/time.ts'
import { connect } from '../actions/people/manage-links.ts'
import { createSession } from '../actions/people/open-session.ts'
import { findApp } from './apps.ts'
import { deleteExpired } from './cleanup.ts'
import { openDatabase } from './database.ts'
import { upsertLimit } from './limits.ts'
import { upsertMailedCode } from './mailed-codes.ts'
import { upsertSignUp } from './sign-ups.ts'

let opened: TestService
const hourMs = 3_600_000
const hoursPass = (hours: number) => letPass(opened.service.db.pool, hours * hourMs)

beforeAll(async () => {
  opened = await openTestService()
})
afterAll(() => opened.close())

async function counts(): Promise<Record<string, number>> {
  const tables = ['widget_sessions', 'link_codes', 'mailed_codes', 'sign_ups', 'limits']
  const entries = tables.map(async (table): Promise<[string, number]> => {
    const { rows } = await opened.service.db.pool.query(`select count(*)::int as count from ${table}`)
    return [table, rows[0].count]
  })
  return Object.fromEntries(await Promise.all(entries))
}

async function fill(): Promise<void> {
  const { service } = opened
  const { pool } = service.db
  const credentials = await newApp(service)
  const app = (await findApp(pool, credentials.clientId))!
  const { userId, serviceUserId } = await newUser(service, credentials)
  await createSession(service, app, { serviceUserId, parentOrigin: null })
  await connect(pool, app, userId, '10.0.0.1')
  const email = `${userId}@example.com`
  await upsertMailedCode(pool, { email, purpose: 'confirm', id: userId, codeHash: 'x', lifetimeMs: hourMs / 4 })
  const waiting = { email, passwordHash: 'x', firstName: 'A', lastName: 'B', lifetimeMs: 24 * hourMs }
  await upsertSignUp(pool, waiting, null)
  await upsertLimit(pool, Buffer.from(userId.replaceAll('-', '')), hourMs)
}

test('everything stays while it counts, a session for a day longer, and then goes', async () => {
  await fill()
  const all = { widget_sessions: 1, link_codes: 1, mailed_codes: 1, sign_ups: 1, limits: 1 }
  expect(await deleteExpired(opened.service.db)).toBe(0)
  expect(await counts()).toEqual(all)
  await hoursPass(1.5)
  await deleteExpired(opened.service.db)
  expect(await counts()).toEqual({ ...all, link_codes: 0, mailed_codes: 0, limits: 0 })
  await hoursPass(22.55)
  await deleteExpired(opened.service.db)
  expect(await counts()).toEqual({ widget_sessions: 1, link_codes: 0, mailed_codes: 0, sign_ups: 0, limits: 0 })
  await hoursPass(0.05)
  await deleteExpired(opened.service.db)
  expect((await counts())['widget_sessions']).toBe(0)
})

test('several processes at once remove every row once, also when there are more than one step takes', async () => {
  await opened.service.db.pool.query(
    `insert into limits select sha256(n::text::bytea), 1, now() from generate_series(1, 3500) n`,
  )
  const others = [1, 2].map(() => openDatabase(opened.service.db.connection))
  const removed = await Promise.all([opened.service.db, ...others].map((db) => deleteExpired(db)))
  expect(removed.reduce((sum, each) => sum + each)).toBe(3500)
  expect((await counts())['limits']).toBe(0)
  await Promise.all(others.map((db) => db.pool.end()))
})
