/** The upgrade of a database with open holds: its wallets get the number of them, and only work that fails stays in the queue. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { Client } from 'pg'
import { testDatabase, type TestDatabase } from '../../../test/postgres.ts'
import { migrate, readMigrations } from './migrate.ts'

setDefaultTimeout(60_000)

let database: TestDatabase
let client: Client

beforeAll(async () => {
  database = await testDatabase()
  client = new Client(database.connection)
  await client.connect()
})
afterAll(async () => {
  await client.end()
  await database.drop()
})

const [holding, plain, failing] = [1, 2, 3].map((n) => `01a1e7b1-c222-7000-8b2a-4f2b4e1a410${n}`)

const hold = (walletId: string, closed: string) => `(
  '${walletId}', gen_random_uuid(), 'app_x', 'ORDER', 'x', 10, ${closed === 'null' ? 0 : 10}, now(), now() + interval '1 day', ${closed}, ${closed === 'null' ? 'null' : `'void'`})`

test('counts open holds, and removes their work unless it failed', async () => {
  const migrations = await readMigrations()
  await client.query('drop schema public cascade; create schema public')
  const before = migrations.findIndex(({ name }) => name.endsWith('_hold_sweep'))
  await migrate(client, { migrations: migrations.slice(0, before) })
  await client.query(
    `insert into wallets (id, balance, held, sequence) values ('${holding}', 100, 30, 1), ('${plain}', 100, 0, 1), ('${failing}', 100, 10, 1)`,
  )
  const rows = [
    hold(holding!, 'null'),
    hold(holding!, 'null'),
    hold(holding!, 'now()'),
    hold(plain!, 'now()'),
    hold(failing!, 'null'),
  ]
  await client.query(
    `insert into holds (wallet_id, id, client_id, reference_type, reference_id, amount, released, created_at, expires_at, closed_at, ended_by) values ${rows.join()}`,
  )
  await client.query(
    `insert into work (kind, key, due_at, failures) values
     ('expire-holds', '${holding}', now(), 0), ('expire-holds', '${failing}', now(), 2), ('send-mail', 'x', now(), 0)`,
  )
  await migrate(client)
  const wallets = await client.query('select id, open_holds from wallets order by id')
  expect(wallets.rows).toEqual([
    { id: holding, open_holds: 2 },
    { id: plain, open_holds: 0 },
    { id: failing, open_holds: 1 },
  ])
  const work = await client.query('select kind, key from work order by kind')
  expect(work.rows).toEqual([
    { kind: 'expire-holds', key: failing },
    { kind: 'send-mail', key: 'x' },
  ])
})
