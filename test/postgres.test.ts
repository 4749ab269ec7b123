import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { execFileSync, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { Client } from 'pg'
import { readMigrations } from '../src/store/migrations/migrate.ts'
import { makeFolder, removeFolder } from './embedded-process.ts'
import { testDatabase } from './postgres.ts'
import { isRoot } from './root.ts'

setDefaultTimeout(180_000)

const program = `
  import { Client } from 'pg'
  import { testDatabase } from ${JSON.stringify(new URL('./postgres.ts', import.meta.url).href)}
  const { name, connection, drop } = await testDatabase()
  const client = new Client(connection)
  await client.connect()
  const { rows } = await client.query('select count(*)::int as count from billfold_migrations')
  await client.end()
  if (process.env.LEAVE !== '1') await drop()
  console.log(JSON.stringify({ name, migrations: rows[0].count }))
  process.exit(0)`

function runProgram(environment: Record<string, string> = {}): Promise<{ name: string; migrations: number }> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, ['-e', program], {
      cwd: import.meta.dir,
      env: { ...process.env, ...environment },
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    let output = ''
    child.stdout.on('data', (chunk) => (output += String(chunk)))
    child.on('close', (status) => (status === 0 ? resolve(JSON.parse(output)) : reject(new Error(`exit ${status}`))))
  })
}

async function listDatabases(url: string): Promise<string[]> {
  const client = new Client({ connectionString: url })
  await client.connect()
  const { rows } = await client.query<{ datname: string }>('select datname from pg_database')
  await client.end()
  return rows.map(({ datname }) => datname)
}

test('eight processes that ask at once each get their own migrated database', async () => {
  const latest = (await readMigrations()).length
  const databases = await Promise.all(Array.from({ length: 8 }, () => runProgram()))
  expect(new Set(databases.map(({ name }) => name)).size).toBe(8)
  expect(databases.map(({ migrations }) => migrations)).toEqual(Array.from({ length: 8 }, () => latest))
})

test('what one test writes, another does not see', async () => {
  const [one, other] = [await testDatabase(), await testDatabase()]
  const client = new Client(one.connection)
  await client.connect()
  await client.query('create table mine ()')
  await client.end()
  const stranger = new Client({ connectionString: other.url })
  await stranger.connect()
  expect((await stranger.query(`select to_regclass('mine') as found`)).rows).toEqual([{ found: null }])
  await stranger.end()
  await Promise.all([one.drop(), other.drop()])
})

test('a database whose process ended without dropping it is dropped by the next one to come', async () => {
  // It was there, for its migrations were counted; any test that starts from now on may be the next one.
  const left = await runProgram({ LEAVE: '1' })
  const { url, drop } = await testDatabase()
  await runProgram()
  expect(await listDatabases(url)).not.toContain(left.name)
  await drop()
})

const otherPrograms = '/usr/lib/postgresql/15/bin'

describe.if(existsSync(otherPrograms))('TEST_DATABASE_URL', () => {
  let folder: string
  let url: string
  const account = isRoot
    ? { uid: Number(execFileSync('id', ['-u', 'postgres'])), gid: Number(execFileSync('id', ['-g', 'postgres'])) }
    : {}
  const pgCtl = (...args: string[]) =>
    execFileSync(join(otherPrograms, 'pg_ctl'), ['-D', join(folder, 'data'), '-w', ...args], {
      stdio: 'ignore',
      cwd: folder,
      ...account,
    })

  beforeAll(async () => {
    folder = await makeFolder(isRoot ? (account as { uid: number; gid: number }) : undefined)
    pgCtl('initdb', '-o', '-U billfold -A trust -E UTF8')
    pgCtl(
      'start',
      '-l',
      join(folder, 'log'),
      '-o',
      `-c listen_addresses= -c unix_socket_directories=${folder} -c fsync=off`,
    )
    url = `postgres://billfold@${encodeURIComponent(folder)}/postgres`
  })
  afterAll(async () => {
    pgCtl('stop', '-m', 'fast')
    await removeFolder(folder)
  })

  test('tests use the server of TEST_DATABASE_URL instead, PostgreSQL 15 as well', async () => {
    const { name } = await runProgram({ TEST_DATABASE_URL: url, LEAVE: '1' })
    expect(await listDatabases(url)).toContain(name)
  })

  test('a shared test server keeps the databases of other machines for a day, since their processes cannot be asked', async () => {
    const [fresh, old] = [Date.now(), Date.now() - 90_000_000].map(
      (at) => `billfold_test_${at.toString(36)}_000000000000_1_${randomBytes(4).toString('hex')}`,
    )
    const client = new Client({ connectionString: url })
    await client.connect()
    for (const name of [fresh, old]) await client.query(`create database ${name}`)
    await client.end()
    await runProgram({ TEST_DATABASE_URL: url })
    const left = await listDatabases(url)
    expect(left).toContain(fresh!)
    expect(left).not.toContain(old!)
  })
})
