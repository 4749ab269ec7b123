/** Migrations run on a database that is already distributed: CONTRIBUTING.md has the rules. */
import { describe, expect, setDefaultTimeout, test } from 'bun:test'
import { emptyDatabase, findCluster } from '../../../test/postgres.ts'
import { findRefused } from '../../../test/refused-on-cluster.ts'
import { openClient } from '../connection/servers.ts'
import { migrate, readMigrations } from '../migrations/migrate.ts'
import { distribute, distributed } from './distribution.ts'
import { splitStatements } from './statements.ts'

setDefaultTimeout(240_000)

/** The first release with a cluster had this one as its last. */
const before = 23

/** The other nodes know positions too. */
const names = [...distributed.map(({ name }) => name), 'positions']

test('no migration since the first cluster does what a cluster refuses', async () => {
  const migrations = await readMigrations()
  expect(migrations.length).toBeGreaterThan(before)
  for (const { name, sql } of migrations.slice(before))
    expect({ name, refused: findRefused(sql, names) }).toEqual({ name, refused: [] })
})

/** Where there is a cluster, it refuses each of them. */
const refused: readonly (readonly [sql: string, reason: string])[] = [
  ['alter table wallets add column x bigint check (x > 0)', 'a constraint without a name'],
  ['ALTER TABLE only "positions"\n  add column x bigint check (x > 0)', 'a constraint without a name'],
  [
    'alter table wallets add constraint a check (id is not null), add constraint b check (id is not null)',
    'a new constraint beside another change of the table',
  ],
  ['create trigger t before update on outcomes for each row execute function refuse_change()', 'a trigger'],
  ['alter table wallets add constraint w foreign key (id) references users (id)', 'a foreign key of a table'],
  ['alter table wallets add column u uuid constraint u references users', 'a foreign key of a table'],
]
/** A cluster accepts the first two, with a name that it makes up, and the third, whose rows it then refuses. */
const discouraged: typeof refused = [
  ['alter table wallets add check (balance > 0)', 'a constraint without a name'],
  ['alter table transfers add unique (wallet_id, sequence)', 'a constraint without a name'],
  ['create table notes (w uuid references wallets (id))', 'a foreign key to a table'],
]
const accepted = [
  'alter table wallets add column x bigint constraint wallets_x_check check (x > 0)',
  'alter table wallets add column y bigint, add column z bigint constraint wallets_z_check check (z in (1, 2))',
  'alter table wallets add constraint wallets_y check (y > 0) not valid',
  "alter table wallets add constraint wallets_reason check (frozen_for <> 'a, check (b)')",
  'alter table users add column x bigint check (x > 0), add check (x < 9)',
  '-- alter table wallets add check (true)\nselect 1',
  'create table fresh (id uuid primary key, check (true)); create trigger t before update on fresh for each row execute function refuse_change()',
]

test('the rules find what a cluster refuses, and nothing else', () => {
  for (const [sql, reason] of [...refused, ...discouraged])
    expect({ sql, refused: findRefused(sql, names) }).toEqual({ sql, refused: [expect.stringContaining(reason)] })
  for (const sql of accepted) expect({ sql, refused: findRefused(sql, names) }).toEqual({ sql, refused: [] })
})

describe.skipIf((await findCluster()) === undefined)('on a cluster (TEST_DATABASE_URL names none)', () => {
  test('every migration since the first cluster runs on a distributed database', async () => {
    const database = await emptyDatabase()
    const client = await openClient(database.connection, { name: 'test' })
    const migrations = await readMigrations()
    await migrate(client, { migrations: migrations.slice(0, before) })
    const has = async (name: string) =>
      (await client.query(`select to_regclass($1) is not null as has`, [`public.${name}`])).rows[0].has as boolean
    await client.query('set citus.enable_unsafe_triggers = on')
    for (const { name, by, beside } of distributed)
      if (await has(name))
        await client.query('select create_distributed_table($1, $2, colocate_with := $3)', [name, by, beside])
    await client.query('reset citus.enable_unsafe_triggers')
    const { applied } = await migrate(client, { migrations })
    expect(applied).toEqual(migrations.slice(before).map(({ name }) => name))
    const { tables } = await distribute(client)
    expect(tables.map(({ name }) => name)).toEqual(distributed.map(({ name }) => name))
    await client.end()
    await database.drop()
  })

  test('a cluster refuses what the rules refuse, and accepts the rest', async () => {
    const database = await emptyDatabase()
    const client = await openClient(database.connection, { name: 'test' })
    await migrate(client)
    await distribute(client)
    await client.query('set citus.enable_unsafe_triggers = off')
    const run = async (sql: string) => {
      for (const statement of splitStatements(sql)) await client.query(statement)
    }
    for (const [sql] of refused)
      expect({ sql, error: await run(sql).catch(String) }).toEqual({ sql, error: expect.any(String) })
    for (const sql of accepted) expect({ sql, error: await run(sql).catch(String) }).toEqual({ sql, error: undefined })
    await client.end()
    await database.drop()
  })
})
