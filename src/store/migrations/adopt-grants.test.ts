import { afterAll, expect, setDefaultTimeout, test } from 'bun:test'
import { openBeforeMigration } from '../../../test/before-migration.ts'
import { migrate } from './migrate.ts'

setDefaultTimeout(60_000)

const { client, close } = await openBeforeMigration('operator_grants')
afterAll(close)

const ids = [1, 2].map((n) => `01900000-0000-7000-8000-00000000000${n}`)

/** The audit records of an older process, which knows no other place for a grant. */
async function writeOld(operatorId: string): Promise<void> {
  await client.query(
    `insert into operators (id, email, name, role, password_hash) values ($1, $2, 'Eve', 'viewer', 'x')`,
    [operatorId, `${operatorId}@example.com`],
  )
  const records: [action: string, actor: string, detail?: object][] = [
    ['operator.created', 'operator:a'],
    ['operator.reset', 'operator:b'],
    ['operator.renewed', `operator:${operatorId}`],
    [
      'operator.access-changed',
      'cli',
      { from: { role: 'viewer', isActive: true }, to: { role: 'admin', isActive: true } },
    ],
    [
      'operator.access-changed',
      'cli',
      { from: { role: 'admin', isActive: true }, to: { role: 'admin', isActive: false } },
    ],
    [
      'operator.access-changed',
      'cli',
      { from: { role: 'admin', isActive: false }, to: { role: 'admin', isActive: true } },
    ],
    ['operator.signed-in', `operator:${operatorId}`],
  ]
  for (const [action, actor, detail = {}] of records)
    await client.query(
      'insert into audit (id, actor, action, subject, detail) values (gen_random_uuid(), $1, $2, $3, $4)',
      [actor, action, `operator:${operatorId}`, JSON.stringify(detail)],
    )
}

const grants = async (operatorId: string) =>
  (
    await client.query<{ grant: string }>(
      `select kind || ' ' || made_by as grant from operator_grants where operator_id = $1 order by at`,
      [operatorId],
    )
  ).rows.map(({ grant }) => grant)

const expected = ['invited operator:a', 'reset operator:b', 'renewed operator:b', 'role cli', 'restored cli']

test('grants in the audit log of before the migration, and those of older processes beside it, are known', async () => {
  await writeOld(ids[0]!)
  await migrate(client)
  expect(await grants(ids[0]!)).toEqual(expected)
  await writeOld(ids[1]!)
  expect(await grants(ids[1]!)).toEqual(expected)
})
