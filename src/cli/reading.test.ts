/** Commands that only read: they create nothing, migrate nothing, and name a database that is not this program's. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { readdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client } from 'pg'
import { callCommand, type Ended } from '../../test/command.ts'
import { dropDatabase, testDatabase, type TestDatabase } from '../../test/postgres.ts'
import type { Command } from './command.ts'
import { loadCommands } from './commands.ts'

setDefaultTimeout(240_000)

const commands = await loadCommands()
const readers = commands.filter(({ database }) => database === 'reads')

let database: TestDatabase
let admin: Client
const closing: (() => Promise<unknown>)[] = []

beforeAll(async () => {
  database = await testDatabase()
  admin = new Client(database.connection)
  await admin.connect()
})

afterAll(async () => {
  for (const close of closing) await close()
  await admin.end()
  await database.drop()
})

/** A database beside the test's; its SQL runs before the command. */
async function newDatabase(sql = ''): Promise<{ url: string; client: Client }> {
  const name = `reading_${crypto.randomUUID().replaceAll('-', '')}`
  await admin.query(`create database ${name}`)
  const url = new URL(database.url)
  url.pathname = `/${name}`
  const client = new Client({ connectionString: url.href })
  await client.connect()
  closing.push(async () => {
    await client.end()
    await dropDatabase(admin, name)
  })
  if (sql) await client.query(sql)
  return { url: url.href, client }
}

async function tablesOf(client: Client): Promise<string[]> {
  const { rows } = await client.query<{ name: string }>(
    `select relname as name from pg_class where relnamespace = 'public'::regnamespace order by relname`,
  )
  return rows.map(({ name }) => name)
}

/** The first example of its help, as a script would run it. */
function example({ name, examples }: Command): string[] {
  const args = [...examples[0]!.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain!)
  return name === 'export' ? ['export', join(folder, crypto.randomUUID())] : args
}

async function run(command: Command, environment: Record<string, string>): Promise<Ended & { said: string }> {
  const ended = await callCommand(example(command), { DEMO: '0', PUBLIC_URL: 'http://127.0.0.1:1', ...environment })
  return { ...ended, said: ended.stdout + ended.stderr }
}

async function verify(url: string, ...flags: string[]): Promise<Ended> {
  return await callCommand(['verify', ...flags], { DATABASE_URL: url })
}

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'billfold-reading-'))
  closing.push(() => rm(folder, { recursive: true }))
})

test('the commands that only read are these', () => {
  expect(readers.map(({ name }) => name)).toEqual([
    'app list',
    'app show',
    'app settlements',
    'endpoint list',
    'events list',
    'events show',
    'wallet show',
    'wallet receipt',
    'correction list',
    'hold list',
    'hold show',
    'admin list',
    'admin invites',
    'doctor',
    'period list',
    'archive write',
    'verify',
    'log show',
    'log verify',
    'export',
  ])
})

describe('every command that only reads', () => {
  test('names an empty database, exits 1 and creates no table', async () => {
    const { url, client } = await newDatabase()
    for (const command of readers) {
      const { exitCode, said } = await run(command, { DATABASE_URL: url })
      expect([command.name, exitCode]).toEqual([command.name, 1])
      expect(said).toMatch(/The database reading_\w+ is empty: .* DATABASE_URL/)
      expect([command.name, await tablesOf(client)]).toEqual([command.name, []])
    }
    expect(await readdir(folder)).toEqual([])
  })

  test('names the tables of another program, exits 1 and creates no table', async () => {
    const { url, client } = await newDatabase(
      'create table posts (id int); create table comments (id int); create schema blog; create table blog.tags (id int)',
    )
    for (const command of readers) {
      const { exitCode, said } = await run(command, { DATABASE_URL: url })
      expect([command.name, exitCode]).toEqual([command.name, 1])
      expect(said).toMatch(/The database reading_\w+ belongs to another program: .*blog\.tags, comments, posts/)
      expect([command.name, await tablesOf(client)]).toEqual([command.name, ['comments', 'posts']])
    }
  })

  test('names a data folder without a database, exits 1 and creates nothing in it', async () => {
    const dataDir = join(folder, 'absent')
    for (const command of readers) {
      const { exitCode, said } = await run(command, { DATA_DIR: dataDir })
      expect([command.name, exitCode]).toEqual([command.name, 1])
      expect(said).toContain(`There is no database in ${dataDir}`)
      expect([command.name, await readdir(folder)]).toEqual([command.name, []])
    }
  })

  test('names an older schema and how to migrate it, and a newer one, and changes neither', async () => {
    const { url, client } = await newDatabase()
    await callCommand(['migrate'], { DATABASE_URL: url })
    const { rows } = await client.query<{ number: number }>(
      'delete from billfold_migrations where number = (select max(number) from billfold_migrations) returning number, name, checksum',
    )
    const latest = rows[0]!.number
    for (const command of readers) {
      const { exitCode, said } = await run(command, { DATABASE_URL: url })
      // The doctor runs before an upgrade too: it reports what the next start will apply, and reads the rest.
      const expected =
        command.name === 'doctor' ? `At ${latest - 1} of ${latest}` : `at migration ${latest - 1} of ${latest}`
      expect(said).toContain(expected)
      expect(said).toContain('npx billfold migrate')
      expect([command.name, exitCode]).toEqual([command.name, command.name === 'doctor' ? 0 : 1])
    }
    await client.query(`insert into billfold_migrations select $1, $2, $3`, Object.values(rows[0]!))
    await client.query(`insert into billfold_migrations values (9999, '9999_later', 'x')`)
    for (const command of readers) {
      const { exitCode, said } = await run(command, { DATABASE_URL: url })
      expect([command.name, exitCode]).toEqual([command.name, 1])
      expect(said).toContain('at migration 9999_later, which this program does not know')
    }
    const { rows: left } = await client.query<{ max: number }>('select max(number) from billfold_migrations')
    expect(left).toEqual([{ max: 9999 }])
  })
})

describe('verify', () => {
  test('says what it covered: the sum, the first and the last entry, and nothing where there is nothing', async () => {
    const { url, client } = await newDatabase()
    await callCommand(['migrate'], { DATABASE_URL: url })
    expect(await verify(url)).toMatchObject({
      exitCode: 0,
      stdout: expect.stringMatching(/^The books have no entries, so there is little to verify: 0 wallets, .*\n$/),
    })
    const environment = { DATABASE_URL: url, BILLFOLD_PASSWORD: 'a long enough password' }
    for (const name of ['ann', 'bob']) {
      const email = `${name}@example.com`
      await callCommand(['user', 'create', '--email', email, '--first', name, '--last', 'Lee'], environment)
      await callCommand(['wallet', 'credit', email, '--amount', '12.34', '--reason', 'Hi'], environment)
    }
    const { rows } = await client.query<{ id: string; at: Date }>(
      `select 'txn_' || replace(reference_key::text, '-', '') as id, created_at as at from transfers order by sequence, created_at`,
    )
    const [first, last] = rows.map(({ id, at }) => ({ transactionId: id, createdAt: at.toISOString() }))
    const { stdout, exitCode } = await verify(url, '--json')
    expect([exitCode, JSON.parse(stdout)]).toMatchObject([
      0,
      { isExact: true, wallets: 2, transfers: 2, balance: '24.68', currency: 'USD', first, last },
    ])
    const plain = await verify(url)
    expect(plain.stdout).toContain('The sum of all balances is 24.68 USD.\n')
    expect(plain.stdout).toMatch(/First entry: \S+Z \(txn_\w+\)\.\nLast entry: \S+Z \(txn_\w+\)\.\n$/)
    expect(plain.stdout).toContain(`(${last!.transactionId}).\n`)
  })

  test('refuses books with fewer transfers than expected', async () => {
    const { url } = await newDatabase()
    await callCommand(['migrate'], { DATABASE_URL: url })
    expect((await verify(url, '--expect-at-least', '0')).exitCode).toBe(0)
    const few = await verify(url, '--expect-at-least', '3')
    expect(few).toMatchObject({
      exitCode: 1,
      stdout: expect.stringContaining('At least 3 transfers were expected, and the books have 0.'),
    })
    const { exitCode, stdout } = await verify(url, '--expect-at-least', '3', '--json')
    expect([exitCode, JSON.parse(stdout)]).toMatchObject([1, { isExact: true, expectedAtLeast: 3, isEnough: false }])
    expect((await verify(url, '--expect-at-least', 'many')).exitCode).toBe(2)
  })
})
