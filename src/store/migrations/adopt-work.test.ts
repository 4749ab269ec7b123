import { afterAll, expect, setDefaultTimeout, test } from 'bun:test'
import { openBeforeMigration } from '../../../test/before-migration.ts'
import { migrate } from './migrate.ts'

setDefaultTimeout(60_000)

const { client, close } = await openBeforeMigration('work')
afterAll(close)

const userId = '01a1e7b1-c222-7000-8b2a-4f2b4e1a416e'
const ids = { waits: '01a1e7b1-c222-7000-8b2a-4f2b4e1a4100', after: '01a1e7b1-c222-7000-8b2a-4f2b4e1a4200' }
const due = '2026-01-02T03:04:05Z'

/** What an older process leaves behind, by its own clocks. */
async function writeOld(name: keyof typeof ids, day: string): Promise<void> {
  const id = ids[name]
  await client.query(
    `insert into topups (id, user_id, client_id, processor, amount, currency, created_at, updated_at, expires_at, look_at, looks)
     values ($1, $2, 'app_x', 'sandbox', 1, 'USD', now(), now(), now(), $3, 4)`,
    [id, userId, due],
  )
  await client.query(
    `insert into mails (fact, user_id, kind, detail, due_at, tries) values ($1, $2, 'declined', '{}', $3, 2), ($4, $2, 'declined', '{}', null, 1)`,
    [`declined:${name}`, userId, due, `sent:${name}`],
  )
  await client.query(`insert into reconciliation_days (day, next_try_at) values ($1, $2)`, [day, due])
  await client.query(`insert into links (id, client_id, user_id, disconnected_at) values ($1, 'app_x', $2, now())`, [
    `su_${name}`,
    userId,
  ])
  await client.query(
    `insert into new_links (link_id, user_id, client_id, looked_to, look_at) values ($1, $2, 'app_x', 0, $3)`,
    [`su_${name}`, userId, due],
  )
  await client.query(
    `insert into sandbox_payments (id, version, document, created_at, due_at) values ($1, 1, '{}', now(), $2)`,
    [name, due],
  )
  await client.query(
    `insert into corrections (id, wallet_id, amount, counter_account, reason, state, needs_approval, asked_by, decided_at)
     values ($1, $2, 1, 'bonus', 'x', 'approved', false, 'cli', $3)`,
    [id, userId, due],
  )
}

const adopted = (name: keyof typeof ids, day: string) => [
  `deliver-sandbox-webhook ${name} 04:05`,
  `find-first-payment su_${name} 04:05`,
  `post-correction ${ids[name]} 04:20`,
  `reconcile-day ${day} 04:05`,
  `resolve-topup ${ids[name]} 04:05`,
  `send-mail declined:${name} 04:05`,
]
const work = async () =>
  (
    await client.query<{ line: string }>(
      `select kind || ' ' || key || ' ' || to_char(due_at, 'MI:SS') as line from work order by kind, key`,
    )
  ).rows.map(({ line }) => line)

test('the queue adopts what waits in an older database, and what an older process writes later', async () => {
  await client.query(`insert into users (id, email, first_name, last_name) values ($1, 'a@b.cd', 'A', 'B')`, [userId])
  await client.query(`insert into apps (client_id, name) values ('app_x', 'X')`)
  await writeOld('waits', '2026-01-01')
  await migrate(client)
  expect(await work()).toEqual(adopted('waits', '2026-01-01'))
  const { rows } = await client.query(`select kind, attempts from work where attempts > 0 order by kind`)
  expect(rows).toEqual([
    { kind: 'resolve-topup', attempts: 4 },
    { kind: 'send-mail', attempts: 2 },
  ])
  await writeOld('after', '2026-01-02')
  const all = [...adopted('waits', '2026-01-01'), ...adopted('after', '2026-01-02')]
  expect((await work()).toSorted()).toEqual(all.toSorted())
  // An older process finds nothing due, so that no piece has two owners.
  const left = await client.query(
    `select 1 from topups where look_at is not null union all select 1 from mails where due_at is not null
     union all select 1 from reconciliation_days where next_try_at < 'infinity'
     union all select 1 from new_links where look_at < 'infinity'
     union all select 1 from sandbox_payments where due_at is not null`,
  )
  expect(left.rows).toEqual([])
})
