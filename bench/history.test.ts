import { expect, setDefaultTimeout, test } from 'bun:test'
import { Client } from 'pg'
import { expectBalancedBooks } from '../test/books.ts'
import { testDatabase } from '../test/postgres.ts'
import { verifyBooks } from '../src/store/verify/verify.ts'
import { databaseOn } from './cluster.ts'
import { findLoad, growWallet, loadHistory } from './history.ts'

setDefaultTimeout(60_000)

const steps = { users: 30, entries: 60 }
const history = { users: 100, transfersPerUser: 7 }

test('a load that is stopped again and again has exact books each time, and ends with every row once', async () => {
  const opened = await testDatabase()
  const database = databaseOn(opened.url, opened.connection)
  const client = new Client(opened.connection)
  await client.connect()
  await client.query(`insert into apps (client_id, name) values ('app_load', 'Load')`)
  expect(await findLoad(database)).toBeUndefined()
  const indexes = async () => (await client.query(`select indexdef from pg_indexes order by 1`)).rows
  const before = await indexes()
  for (let queriesLeft = 4; ; queriesLeft += 6) {
    let left = queriesLeft
    const breaking = {
      ...database,
      query: async (text: string, values?: unknown[]) => {
        if (left-- === 0) throw new Error('stopped')
        return await database.query(text, values)
      },
    }
    const isStopped = await loadHistory(breaking, 'app_load', history, steps).then(
      () => false,
      (error: Error) => error.message === 'stopped',
    )
    await expectBalancedBooks({ db: { pool: client } })
    if (!isStopped) break
  }
  expect(await findLoad(database)).toEqual({ clientId: 'app_load', ...history })
  const { rows } = await client.query(
    `select count(*)::int as wallets, min(sequence)::int as least, max(sequence)::int as most,
       (select count(*)::int from transfers) as transfers, (select count(*)::int from links) as links from wallets`,
  )
  expect(rows[0]).toEqual({ wallets: 100, least: 7, most: 7, transfers: 700, links: 100 })
  expect((await indexes()).filter(({ indexdef }) => !indexdef.includes(' bench.'))).toEqual(before)
  expect(await verifyBooks(opened.connection)).toMatchObject({ wallets: 100, transfers: 700, faults: 0 })
  const { rows: some } = await client.query<{ id: string }>('select id from wallets order by id limit 1 offset 7')
  for (let times = 0; times < 2; times++) await growWallet(database, 'app_load', some[0]!.id, 57, 20)
  await expectBalancedBooks({ db: { pool: client } })
  expect(await verifyBooks(opened.connection)).toMatchObject({ wallets: 100, transfers: 750, faults: 0 })
  await client.end()
  await opened.drop()
})
