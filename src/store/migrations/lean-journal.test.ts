/** The upgrade of a database whose journal has rows with numbers and rows that wait for them. */
import { afterAll, expect, setDefaultTimeout, test } from 'bun:test'
import { openBeforeMigration } from '../../../test/before-migration.ts'
import { openDatabase } from '../connection/database.ts'
import { numberEvents } from '../events/number-events.ts'
import { migrate } from './migrate.ts'

setDefaultTimeout(60_000)

const { client, connection, close } = await openBeforeMigration('lean_journal')
afterAll(close)

const link = '01a1e7b1-c222-7000-8b2a-4f2b4e1a4101'

test('rows of the journal that waited for their numbers get them after the upgrade, behind those that had theirs', async () => {
  await client.query(
    `insert into apps (client_id, name, scopes, allowed_origins, allowed_iframe_parents, has_events) values ('app_x', 'X', '{}', '{}', '{}', true)`,
  )
  await client.query(
    `insert into journal (writer, serial, client_id, fact, link_ids, sequences, awaits_number) values
       (3, 1, 'app_x', null, '{${link},${link}}', '{1,2}', false),
       (3, 4, 'app_x', null, '{${link},${link},${link}}', '{3,4,5}', false),
       (0, 5, 'app_x', 'wallet.frozen', '{${link}}', '{}', true)`,
  )
  await client.query(`insert into event_heads (client_id, last) values ('app_x', 2)`)
  await client.query(`insert into event_cursors (writer, numbered_up_to) values (3, 1)`)
  await client.query(
    `insert into event_pages (client_id, first, count, writer, serial, at) values ('app_x', 1, 2, 3, 1, now())`,
  )
  await migrate(client)
  const db = openDatabase(connection, 4)
  expect(await numberEvents(db)).toEqual({ events: 4, toDeliver: [] })
  await db.pool.end()
  const pages = await client.query('select first::int, count, writer, serial::int from event_pages order by first')
  expect(pages.rows).toEqual([
    { first: 1, count: 2, writer: 3, serial: 1 },
    { first: 3, count: 3, writer: 3, serial: 4 },
    { first: 6, count: 1, writer: 0, serial: 5 },
  ])
})
