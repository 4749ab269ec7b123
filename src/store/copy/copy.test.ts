import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { PassThrough, Readable, Writable } from 'node:stream'
import { gunzipSync, gzipSync } from 'node:zlib'
import { Client } from 'pg'
import { dropDatabase, findCluster, testDatabase, type TestDatabase } from '../../../test/postgres.ts'
import { exportBooks } from './export.ts'
import { importBooks } from './import.ts'
import { referenceKeyOf } from '../outcomes.ts'
import { listTables } from '../migrations/tables.ts'
import { insertSeed } from '../seed.ts'
import { wantsAll } from '../../../test/wants-all.ts'

setDefaultTimeout(180_000)

let source: TestDatabase
let client: Client
let copy: Buffer
/** More rows than one fetch reads, and more than one statement inserts. */
const userCount = wantsAll ? 5_000 : 2_500
const now = new Date('2026-03-01T00:00:00Z')
/** Everything that could be lost between two texts: quotes, line separators, tabs, backslashes, a list in a list. */
const awkward = '"quoted", {brace}, back\\slash, tab\t, newline\n, \u2028, ü, 🙂'

beforeAll(async () => {
  source = await testDatabase()
  client = new Client(source.connection)
  await client.connect()
  await client.query(`insert into apps (client_id, name, allowed_origins) values ('app_one', $1, $2)`, [
    awkward,
    [awkward, 'https://shop.example', ''],
  ])
  await client.query(
    `insert into app_secrets (id, client_id, secret_hash) values (gen_random_uuid(), 'app_one', sha256('x'))`,
  )
  await client.query(
    `insert into audit (id, actor, action, subject, detail) values (gen_random_uuid(), 'cli', 'a.b', 'c', $1)`,
    [JSON.stringify({ awkward, list: [1, null, true] })],
  )
  const users = Array.from({ length: userCount }, (_, i) => {
    const userId = `01900000-0000-7000-8000-${String(i).padStart(12, '0')}`
    return {
      userId,
      email: `${i}@x.y`,
      firstName: awkward,
      serviceUserId: `su_${i}`,
      referenceId: userId,
      referenceKey: referenceKeyOf({ namespace: 'service', type: 'BONUS', id: userId }),
    }
  })
  await insertSeed(client, users, {
    clientId: 'app_one',
    creditMinor: 123n,
    counterAccount: 'bonus',
    referenceType: 'BONUS',
    description: awkward,
    writer: 0,
  })
  // One who has deleted the account: nothing but the row is left.
  const [{ userId } = { userId: '' }] = users
  await client.query(
    `update users set email = null, password_hash = null, first_name = '', last_name = '', deleted_at = now() where id = $1`,
    [userId],
  )
  await client.query('update links set disconnected_at = now(), signed_out_at = now() where user_id = $1', [userId])
  copy = await exported(source)
})

afterAll(async () => {
  await client.end()
  await source.drop()
})

async function exported(database: TestDatabase): Promise<Buffer> {
  const chunks: Buffer[] = []
  const output = new Writable({
    write: (chunk: Buffer, _, done) => {
      chunks.push(chunk)
      done()
    },
  })
  await exportBooks(database.connection, output, { currency: 'USD', now })
  return Buffer.concat(chunks)
}

async function withEmpty<T>(work: (empty: TestDatabase) => Promise<T>): Promise<T> {
  const empty = await testDatabase()
  try {
    return await work(empty)
  } finally {
    await empty.drop()
  }
}

async function restore(database: TestDatabase, bytes: Buffer, currency = 'USD') {
  return await importBooks(database.connection, Readable.from([bytes]), { currency })
}

async function refusalOf(work: Promise<unknown>): Promise<string> {
  return await work.then(
    () => 'it was accepted',
    (error: Error) => `${error.name}: ${error.message}`,
  )
}

test('a copy that was restored gives the very same copy again', async () => {
  await withEmpty(async (empty) => {
    const { head, end, verified } = await restore(empty, copy)
    expect(verified).toMatchObject({ wallets: userCount, transfers: userCount, refusals: 0, faults: 0 })
    expect(verified.balanceMinor).toBe(123n * BigInt(userCount))
    expect(head.currency).toBe('USD')
    expect(gunzipSync(await exported(empty)).equals(gunzipSync(copy))).toBe(true)
    expect(end.rows).toBe(
      gunzipSync(copy)
        .toString()
        .split('\n')
        .filter((line) => line.startsWith('[')).length,
    )
  })
})

test('a restored database has statistics of every table that has rows, and still refuses to change what is append-only', async () => {
  await withEmpty(async (empty) => {
    await restore(empty, copy)
    const restored = new Client(empty.connection)
    await restored.connect()
    try {
      const { rows } = await restored.query<{ tablename: string }>(
        `select distinct tablename from pg_stats where schemaname = 'public'`,
      )
      const analysed = rows.map((row) => row.tablename)
      // The rows of the others are in the shards of a cluster, and so is what is known of them.
      const spread = (await findCluster()) ? [] : ['wallets', 'transfers', 'outcomes', 'positions']
      for (const table of ['users', 'links', 'apps', ...spread]) expect(analysed).toContain(table)
      await restored.query('grant update on transfers to current_user')
      expect(await refusalOf(restored.query('update transfers set amount = 1'))).toContain('append-only')
    } finally {
      await restored.end()
    }
  })
})

/** A copy has one period. */
const notCopied = ['billfold_migrations', 'closings', 'closed_references', 'archives']

test('every table but the record of migrations and closings is in the copy, each after those it refers to', async () => {
  const tables = await listTables(client)
  const lines = gunzipSync(copy).toString().split('\n')
  const copied = lines
    .filter((line) => line.startsWith('{"table"'))
    .map((line) => (JSON.parse(line) as { table: string }).table)
  expect(copied).toEqual(tables.map((table) => table.name).filter((name) => !notCopied.includes(name)))
  for (const table of tables.filter(({ name }) => !notCopied.includes(name)))
    for (const needed of table.needs) expect(copied.indexOf(needed)).toBeLessThan(copied.indexOf(table.name))
})

test('a database that is not empty is left as it is', async () => {
  expect(await refusalOf(restore(source, copy))).toMatch(/^CopyRefused: The database is not empty: there are \w+\./)
  const { rows } = await client.query(`select tgenabled from pg_trigger where tgname = 'transfers_append_only'`)
  expect(rows).toEqual([{ tgenabled: 'O' }])
})

/** The copy with one text in it replaced by another. */
function edited(from: string | RegExp, to: string): Buffer {
  const text = gunzipSync(copy).toString()
  const changed = text.replace(from, to)
  expect(changed).not.toBe(text)
  return gzipSync(changed)
}

const damages: [name: string, bytes: () => Buffer, refusal: RegExp][] = [
  [
    'another migration',
    () => edited(/"checksum":"[0-9a-f]{8}/, '"checksum":"00000000'),
    /The copy is of migration .* upgrade\./,
  ],
  ['another currency', () => edited('"currency":"USD"', '"currency":"EUR"'), /The copy is in EUR/],
  ['a changed row', () => edited('"1@x.y"', '"one@x.y"'), /the rows of users are not those/],
  ['a row that is there twice', () => edited('"1@x.y"', '"2@x.y"'), /the rows of users are not those/],
  ['a value that is none', () => edited(/-8000-000000000001"/, '-8000-00000000000g"'), /the rows of \w+ are not those/],
  ['a missing row', () => edited(/\["su_1".*\n/, ''), /the rows of links are not those/],
  ['a missing table', () => edited(/\{"table":"audit"[^]*?"sha256":"\w+"\}\n/, ''), /do not add up/],
  ['a line that is no object', () => edited(/\{"table":"apps".*\n/, 'null\n'), /a line cannot be read/],
  ['a table without columns', () => edited(/("table":"apps"),.*\n/, '$1}\n'), /no table apps with the columns/],
  ['a head without a migration', () => edited(/"migration":\{[^}]*\}/, '"migration":null'), /names no migration/],
  ['a missing end', () => edited(/\{"tables".*\n$/, ''), /cut short/],
  ['half the bytes', () => copy.subarray(0, copy.length / 2), /damaged|cut short/],
  [
    'a flipped byte',
    () => Buffer.from(copy.map((byte, i) => (i === 5_000 ? byte ^ 1 : byte))),
    /damaged|cut short|cannot be read|invalid/i,
  ],
  ['something else', () => Buffer.from('hello'), /no copy at all/],
  ['something else, gzipped', () => gzipSync('{"a":1}\n'), /not a copy made by/],
]

for (const [name, bytes, refusal] of damages) {
  test(`a copy with ${name} is refused, and nothing is restored`, async () => {
    await withEmpty(async (empty) => {
      expect(await refusalOf(restore(empty, bytes()))).toMatch(refusal)
      const other = new Client(empty.connection)
      await other.connect()
      const { rows } = await other.query(
        'select (select count(*) from users)::int + (select count(*) from apps)::int as rows',
      )
      expect(rows).toEqual([{ rows: 0 }])
      await other.end()
    })
  })
}

test.skipIf(process.env['TEST_DATABASE_URL'] !== undefined)(
  'a refused copy leaves no table in a database without any; a good one creates them, and tables of another program stay alone',
  async () => {
    const name = `copy_${crypto.randomUUID().replaceAll('-', '')}`
    await client.query(`create database ${name}`)
    const bare = { ...source, name, connection: { ...source.connection, database: name } }
    const other = new Client(bare.connection)
    await other.connect()
    const tables = async () => (await listTables(other)).length
    // One that is found before the first row, one in the middle, one at the end.
    const late = ['another currency', 'a missing row', 'a missing end']
    try {
      for (const [, bytes, refusal] of damages.filter(([name]) => wantsAll || late.includes(name))) {
        expect(await refusalOf(restore(bare, bytes()))).toMatch(refusal)
        expect(await tables()).toBe(0)
      }
      await other.query('create table posts (id int)')
      expect(await refusalOf(restore(bare, copy))).toMatch(/CopyRefused: .* belongs to another program: .* posts/)
      expect(await tables()).toBe(1)
      await other.query('drop table posts')
      expect((await restore(bare, copy)).verified).toMatchObject({ wallets: userCount, faults: 0 })
      expect(gunzipSync(await exported(bare)).equals(gunzipSync(copy))).toBe(true)
    } finally {
      await other.end()
      await dropDatabase(client, name)
    }
  },
)

test('faulty books are refused, unless they are asked for as they are', async () => {
  await client.query('update wallets set balance = 124 where id = (select id from wallets limit 1)')
  const faulty = await exported(source)
  await client.query('update wallets set balance = 123 where balance = 124')
  await withEmpty(async (empty) => {
    expect(await refusalOf(restore(empty, faulty))).toContain('have 3 faults')
    const accepted = await importBooks(empty.connection, Readable.from([faulty]), {
      currency: 'USD',
      acceptsFaults: true,
    })
    expect(accepted.verified.faults).toBe(3)
  })
})

test('an export whose reader goes away fails instead of waiting for ever', async () => {
  const output = new PassThrough({ highWaterMark: 100 })
  output.once('data', () => output.destroy())
  expect(await refusalOf(exportBooks(source.connection, output, { currency: 'USD', now }))).toMatch(/clos/i)
})
