import { afterAll, beforeAll, expect, test } from 'bun:test'
import { newApp, newUser, openTestService, type TestService } from '../../test/service.ts'
import { letPass } from '../../test/time.ts'
import { connectApp } from '../actions/people/manage-links.ts'
import { hashSecret } from '../actions/tokens.ts'
import { createSession } from '../actions/people/open-session.ts'
import { findApp } from './apps.ts'
import { deleteExpired, ending, staying } from './cleanup.ts'
import { openDatabase } from './connection/database.ts'
import { upsertLimit } from './limits.ts'
import { listTables } from './migrations/tables.ts'
import { insertMailedCode } from './people/mailed-codes.ts'
import { upsertSignUp } from './people/sign-ups.ts'

let opened: TestService
const hourMs = 3_600_000
const hoursPass = (hours: number) => letPass(opened.service.db.pool, hours * hourMs)

beforeAll(async () => {
  opened = await openTestService()
})
afterAll(() => opened.close())

async function counts(): Promise<Record<string, number>> {
  const tables = ['widget_sessions', 'link_codes', 'code_handles', 'sign_ups', 'limits']
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
  await connectApp(pool, app, userId, '10.0.0.1')
  const email = `${userId}@example.com`
  const key = { handleHash: hashSecret(userId), email, purpose: 'confirm' } as const
  await insertMailedCode(pool, { ...key, codeHash: 'x', lifetimeMs: hourMs / 4 })
  const waiting = { email, passwordHash: 'x', firstName: 'A', lastName: 'B', lifetimeMs: 24 * hourMs }
  await upsertSignUp(pool, waiting, null)
  await upsertLimit(pool, Buffer.from(userId.replaceAll('-', '')), hourMs)
}

test('everything stays while it counts, a session for a day longer, and then goes', async () => {
  await fill()
  const all = { widget_sessions: 1, link_codes: 1, code_handles: 1, sign_ups: 1, limits: 1 }
  expect(await deleteExpired(opened.service.db)).toBe(0)
  expect(await counts()).toEqual(all)
  await hoursPass(1.5)
  await deleteExpired(opened.service.db)
  expect(await counts()).toEqual({ ...all, link_codes: 0, code_handles: 0, limits: 0 })
  await hoursPass(22.55)
  await deleteExpired(opened.service.db)
  expect(await counts()).toEqual({ widget_sessions: 1, link_codes: 0, code_handles: 0, sign_ups: 0, limits: 0 })
  await hoursPass(0.05)
  await deleteExpired(opened.service.db)
  expect((await counts())['widget_sessions']).toBe(0)
})

test('several processes at once remove every row once, also when there are more than one step takes', async () => {
  await opened.service.db.longRunning.pool.query(
    `insert into limits select sha256(n::text::bytea), 1, now() from generate_series(1, 3500) n`,
  )
  const others = [1, 2].map(() => openDatabase(opened.service.db.connection))
  const removed = await Promise.all([opened.service.db, ...others].map((db) => deleteExpired(db)))
  expect(removed.reduce((sum, each) => sum + each)).toBe(3500)
  expect((await counts())['limits']).toBe(0)
  await Promise.all(others.map((db) => db.pool.end()))
})

test('every table either ends, by a column that an index finds, or has its reason to stay, and the guide tells', async () => {
  const { pool } = opened.service.db
  const names = (await listTables(pool)).map(({ name }) => name)
  expect([...Object.keys(ending), ...Object.keys(staying)].toSorted()).toEqual(names.toSorted())
  const guide = await Bun.file(new URL('../../docs/scaling.md', import.meta.url)).text()
  expect(names.filter((name) => !guide.includes(`\`${name}\``))).toEqual([])
  const { rows } = await pool.query<{ table: string; column: string }>(
    `select t.relname as table, a.attname as column from pg_index i join pg_class t on t.oid = i.indrelid
     join pg_attribute a on a.attrelid = t.oid and a.attnum = i.indkey[0]
     where i.indpred is null or pg_get_expr(i.indpred, t.oid) = format('(%s IS NOT NULL)', a.attname)`,
  )
  const indexed = new Set(rows.map(({ table, column }) => `${table}.${column}`))
  const slow = Object.entries(ending).flatMap(([table, { end }]) => (indexed.has(`${table}.${end}`) ? [] : [table]))
  // Invites are made by hand, one at a time.
  expect(slow).toEqual(['operator_invites'])
})

const dayMs = 24 * hourMs

/** How long each is kept, in days, and a row that ends now. */
const kept: Record<string, [days: number, sql: string]> = {
  repeats: [
    90,
    `insert into repeats values (gen_random_uuid(), gen_random_uuid(), 1, 1, now(), now() + interval '1 day')`,
  ],
  work: [
    30,
    `insert into work (kind, key, due_at, given_up_at) values ('send-mail', 'x', now() - interval '1 day', now() + interval '1 minute')`,
  ],
  minutes: [2, `insert into minutes values (now(), gen_random_uuid(), 1, 0, 0, 0, 0, '{}', 0)`],
  operator_invites: [
    0,
    `insert into operator_invites (token_hash, role, created_by, created_at, expires_at)
     values (sha256('x'), 'viewer', 'cli', now(), now() + interval '1 minute')`,
  ],
  operator_sessions: [
    0,
    `with o as (insert into operators (id, email, name, role, password_hash) values (gen_random_uuid(), 'a@b', 'A', 'viewer', 'x') returning id)
     insert into operator_sessions select gen_random_uuid(), sha256('x'), id, 'full', now(), now(), now() + interval '1 minute', '', '' from o`,
  ],
  app_secrets: [
    90,
    `insert into app_secrets (id, client_id, secret_hash, expires_at)
     select gen_random_uuid(), client_id, sha256('x'), now() + interval '1 minute' from apps limit 1`,
  ],
}

test.each(Object.entries(kept))('%s stay as long as they are of use, and then go', async (table, [days, sql]) => {
  const { pool } = opened.service.db
  await newApp(opened.service)
  const count = async () => (await pool.query(`select count(*)::int as count from ${table}`)).rows[0].count as number
  const others = await count()
  await pool.query(sql)
  if (table === 'app_secrets')
    await pool.query(`insert into app_secret_uses select id, now() from app_secrets where expires_at is not null`)
  await letPass(pool, days * dayMs - hourMs * 0.02, [table])
  await deleteExpired(opened.service.db)
  expect(await count()).toBe(others + 1)
  await letPass(pool, hourMs * 0.05, [table])
  expect(await deleteExpired(opened.service.db)).toBe(1)
  expect(await count()).toBe(others)
})

test('where no secret has ended, no process is made to read all apps again', async () => {
  const { pool } = opened.service.db
  const version = async () => (await pool.query('select version from apps_version')).rows[0].version as bigint
  const before = await version()
  await deleteExpired(opened.service.db)
  expect(await version()).toBe(before)
})
