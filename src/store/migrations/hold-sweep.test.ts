/** The upgrade of a database with open holds: its wallets get the number of them, and only work that fails stays in the queue. */
import { afterAll, expect, setDefaultTimeout, test } from 'bun:test'
import { openBeforeMigration } from '../../../test/before-migration.ts'
import { migrate } from './migrate.ts'

setDefaultTimeout(60_000)

const { client, close } = await openBeforeMigration('hold_sweep')
afterAll(close)

const [holding, plain, failing] = [1, 2, 3].map((n) => `01a1e7b1-c222-7000-8b2a-4f2b4e1a410${n}`)

const hold = (walletId: string, closed: string) => `(
  '${walletId}', gen_random_uuid(), 'app_x', 'ORDER', 'x', 10, ${closed === 'null' ? 0 : 10}, now(), now() + interval '1 day', ${closed}, ${closed === 'null' ? 'null' : `'void'`})`

test('counts open holds, and removes their work unless it failed', async () => {
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
