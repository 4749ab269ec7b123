import { expect, setDefaultTimeout, test } from 'bun:test'
import { readFile, writeFile } from 'node:fs/promises'
import { Client } from 'pg'
import { testDatabase } from '../../../test/postgres.ts'
import { readMigrations } from './migrate.ts'
import { describeSchema } from './schema.ts'

setDefaultTimeout(180_000)

const committed = new URL('./schema.sql', import.meta.url)

async function withClient<T>(work: (client: Client) => Promise<T>): Promise<T> {
  const database = await testDatabase()
  const client = new Client(database.connection)
  await client.connect()
  try {
    return await work(client)
  } finally {
    await client.end()
    await database.drop()
  }
}

test('schema.sql is the schema that the migrations make (UPDATE=1 writes it)', async () => {
  const schema = await withClient(describeSchema)
  if (process.env['UPDATE'] === '1') await writeFile(committed, schema)
  expect(await readFile(committed, 'utf8')).toBe(schema)
})

test('schema.sql makes the same schema again', async () => {
  const [made, migrated] = await withClient(async (client) => {
    const migrated = await describeSchema(client)
    await client.query(`drop schema public cascade; create schema public; ${await readFile(committed, 'utf8')}`)
    return [await describeSchema(client), migrated]
  })
  expect(made).toBe(migrated)
})

test('what cannot be described is refused, not left out', async () => {
  const problem = await withClient(async (client) => {
    await client.query('create materialized view two as select 2 as two')
    return await describeSchema(client).catch((error: Error) => error.message)
  })
  expect(problem).toContain('cannot describe two')
})

/** Whether it changes a table of the ledger and not those of closed periods. */
const forgetsClosed = (sql: string) =>
  /\balter table (?:if exists )?(?:only )?(transfers|outcomes)\b/i.test(sql) && !/closed_(transfers|outcomes)/.test(sql)

test('a migration that changes a table of the ledger changes those of closed periods too', async () => {
  const migrations = await readMigrations()
  const later = migrations.slice(1 + migrations.findIndex(({ name }) => name.includes('closings')))
  expect(later.filter(({ sql }) => forgetsClosed(sql)).map(({ name }) => name)).toEqual([])
  expect(forgetsClosed('alter table transfers add column x text')).toBe(true)
  expect(forgetsClosed('ALTER TABLE only outcomes drop column held')).toBe(true)
  expect(forgetsClosed(`do $$ … 'closed_transfers_' || id … $$; alter table transfers add column x text`)).toBe(false)
  expect(forgetsClosed('alter table wallets add column x text')).toBe(false)
})
