import { afterAll, afterEach, beforeAll, beforeEach, expect, setDefaultTimeout, test } from 'bun:test'
import { spawn } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { Client } from 'pg'
import { complaintOf } from '../../../test/embedded-process.ts'
import { testDatabase, type TestDatabase } from '../../../test/postgres.ts'
import { migrate, migrationStatus, parseMigration, readMigrations, type Migration } from './migrate.ts'

setDefaultTimeout(180_000)

let database: TestDatabase
let client: Client
const first = parseMigration('0001_first.sql', 'create table first (a int);')
const second = parseMigration('0002_second.sql', 'create table second (a int); insert into second values (1);')

beforeAll(async () => {
  database = await testDatabase()
})
afterAll(() => database.drop())
beforeEach(async () => {
  client = new Client(database.connection)
  await client.connect()
  await client.query('drop schema public cascade; create schema public')
})
afterEach(() => client.end())

function names(migrations: Migration[]): string[] {
  return migrations.map((migration) => migration.name)
}

async function tableExists(name: string): Promise<boolean> {
  const { rows } = await client.query<{ known: boolean }>('select to_regclass($1) is not null as known', [name])
  return rows[0]!.known
}

test('migrations are applied in order, once', async () => {
  expect(await migrate(client, { migrations: [first, second] })).toEqual({ applied: ['0001_first', '0002_second'] })
  expect(await migrate(client, { migrations: [first, second] })).toEqual({ applied: [] })
  const { rows } = await client.query(
    'select number, name, checksum, applied_at <= now() as past from billfold_migrations order by number',
  )
  expect(rows).toEqual([
    { number: 1, name: first.name, checksum: first.checksum, past: true },
    { number: 2, name: second.name, checksum: second.checksum, past: true },
  ])
})

test('a migration leaves statistics of the tables there are', async () => {
  await migrate(client, { migrations: [first] })
  await client.query('insert into first select generate_series(1, 100)')
  await migrate(client, { migrations: [first, second] })
  const { rows } = await client.query(
    `select tablename from pg_stats where schemaname = 'public' and attname = 'a' order by 1`,
  )
  expect(rows).toEqual([{ tablename: 'first' }, { tablename: 'second' }])
})

test("the program's own migrations make a database of nothing, and their names and numbers hold", async () => {
  const migrations = await readMigrations()
  expect(await migrate(client)).toEqual({ applied: names(migrations) })
  expect(await migrationStatus(client)).toEqual({
    current: migrations.length,
    latest: migrations.length,
    pending: [],
    problem: null,
  })
})

test('a migration that fails leaves nothing of itself, and the ones before it stay', async () => {
  const broken = parseMigration('0002_broken.sql', 'create table half (a int); select 1 / 0;')
  const failed = migrate(client, { migrations: [first, broken] })
  expect(await complaintOf(failed)).toBe('Migration 0002_broken failed: division by zero')
  expect(await tableExists('first')).toBe(true)
  expect(await tableExists('half')).toBe(false)
  expect(await migrate(client, { migrations: [first, second] })).toEqual({ applied: ['0002_second'] })
})

test('a migration that commits by itself is never recorded as applied', async () => {
  const rash = parseMigration('0001_rash.sql', 'create table rash (a int); commit; begin;')
  expect(await complaintOf(migrate(client, { migrations: [rash] }))).toMatch(/ends its own transaction/)
  expect(await migrationStatus(client, { migrations: [rash] })).toMatchObject({ current: 0, pending: ['0001_rash'] })
})

test('an edited file is refused, and nothing after it is applied', async () => {
  await migrate(client, { migrations: [first] })
  const edited = parseMigration('0001_first.sql', 'create table first (a bigint);')
  const refused = migrate(client, { migrations: [edited, second] })
  expect(await complaintOf(refused)).toMatch(
    /0001_first was edited after it was applied .* add a new migration instead/,
  )
  expect(await tableExists('second')).toBe(false)
  expect((await migrationStatus(client, { migrations: [edited, second] })).problem).toMatch(/0001_first was edited/)
})

test('a renamed file is refused', async () => {
  await migrate(client, { migrations: [first] })
  const renamed = { ...first, name: '0001_other' }
  expect(await complaintOf(migrate(client, { migrations: [renamed] }))).toMatch(/as 0001_first/)
})

test('line ends changed by a checkout are no edit', () => {
  expect(parseMigration('0001_a.sql', 'select 1;\r\nselect 2;\r\n')).toEqual(
    parseMigration('0001_a.sql', 'select 1;\nselect 2;\n'),
  )
})

test('a database newer than the program is refused with a message that says so', async () => {
  await migrate(client, { migrations: [first, second] })
  const refused = migrate(client, { migrations: [first] })
  expect(await complaintOf(refused)).toMatch(
    /at migration 0002_second, which this program does not know: upgrade the program/,
  )
  const status = await migrationStatus(client, { migrations: [first] })
  expect(status).toMatchObject({ current: 2, latest: 1, pending: [] })
  expect(status.problem).toMatch(/upgrade the program/)
})

test('a database without any migration says what is pending', async () => {
  expect(await migrationStatus(client, { migrations: [first, second] })).toEqual({
    current: 0,
    latest: 2,
    pending: ['0001_first', '0002_second'],
    problem: null,
  })
})

test.each([
  ['a gap', ['0001_a.sql', '0003_c.sql'], /0003_c comes where number 2 should be/],
  ['a late start', ['0002_b.sql'], /0002_b comes where number 1 should be/],
  ['a repeat', ['0001_a.sql', '0001_b.sql'], /Two migrations have the number 1: 0001_a and 0001_b/],
  ['a name without a number', ['first.sql'], /first\.sql is not named NNNN_name\.sql/],
])('%s in the numbering is refused', async (_, files, sentence) => {
  const folder = await mkdtemp(join(tmpdir(), 'billfold-migrations-'))
  for (const file of files) await writeFile(join(folder, file), 'select 1;')
  expect(await complaintOf(readMigrations(pathToFileURL(`${folder}/`)))).toMatch(sentence)
  await rm(folder, { recursive: true })
})

test('five processes that migrate at once apply each migration exactly once', async () => {
  const program = `
    import { Client } from 'pg'
    import { migrate, parseMigration } from ${JSON.stringify(new URL('./migrate.ts', import.meta.url).href)}
    const migrations = Array.from({ length: 6 }, (_, i) =>
      parseMigration('000' + (i + 1) + '_step.sql', 'create table step' + i + ' (a int); select pg_sleep(0.05);'))
    const client = new Client({ connectionString: process.env.URL })
    await client.connect()
    console.log((await migrate(client, { migrations })).applied.length)
    await client.end()`
  const counts = await Promise.all(Array.from({ length: 5 }, () => runProgram(program)))
  expect(counts.reduce((sum, count) => sum + count)).toBe(6)
  const { rows } = await client.query('select count(*)::int as count from billfold_migrations')
  expect(rows).toEqual([{ count: 6 }])
})

function runProgram(program: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, ['-e', program], {
      cwd: import.meta.dir,
      env: { ...process.env, URL: database.url },
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    let output = ''
    child.stdout.on('data', (chunk) => (output += String(chunk)))
    child.on('close', (status) => (status === 0 ? resolve(Number(output)) : reject(new Error(`exit ${status}`))))
  })
}
