/** The upgrade of a database with open and closed holds: the key of each has its state, and an older process can still close one. */
import { afterAll, expect, setDefaultTimeout, test } from 'bun:test'
import { openBeforeMigration } from '../../../test/before-migration.ts'
import { migrate } from './migrate.ts'

setDefaultTimeout(60_000)

const { client, close } = await openBeforeMigration('hold_keys')
afterAll(close)

const [open, closed] = [1, 2].map((n) => `01a1e7b1-c222-7000-8b2a-4f2b4e1a410${n}`)

test('the key of a hold has its state', async () => {
  await client.query(
    `insert into holds (wallet_id, id, client_id, reference_type, reference_id, amount, released, created_at, expires_at, closed_at, ended_by)
     values ('${open}', '${open}', 'app_x', 'ORDER', 'x', 10, 0, now(), now() + interval '1 day', null, null),
       ('${open}', '${closed}', 'app_x', 'ORDER', 'y', 10, 10, now(), now() + interval '1 day', now(), 'void')`,
  )
  await migrate(client)
  const states = async () => (await client.query('select id, is_closed from holds order by id')).rows
  expect(await states()).toEqual([
    { id: open, is_closed: false },
    { id: closed, is_closed: true },
  ])
  // As an older process does.
  await client.query(`update holds set released = 10, closed_at = now(), ended_by = 'expiry' where id = '${open}'`)
  expect((await states())[0]).toEqual({ id: open, is_closed: false })
  const opening = client.query(
    `update holds set released = 0, closed_at = null, ended_by = null where id = '${closed}'`,
  )
  expect(await opening.then(String, String)).toContain('holds_closed_has_a_time')
})
