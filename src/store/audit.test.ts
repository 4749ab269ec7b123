import { afterAll, beforeAll, expect, test } from 'bun:test'
import { newApp, openTestService, type TestService } from '../../test/service.ts'
import { newId } from '../actions/tokens.ts'
import { insertAudit, listAudit, listAuditActions } from './audit.ts'
import { transact, type Queryable } from './connection/database.ts'

let rig: TestService
let db: Queryable

beforeAll(async () => {
  rig = await openTestService()
  db = rig.service.db.pool
  // Which is on record by itself.
  await newApp(rig.service)
})
afterAll(() => rig.close())

test('audit records of one instant are neither skipped nor shown twice', async () => {
  await transact(rig.service.db, async (tx) => {
    for (let i = 0; i < 25; i++)
      await insertAudit(tx, {
        id: newId(),
        actor: 'many',
        action: `do.${i % 3}`,
        subject: 's',
        address: null,
        detail: {},
      })
  })
  const seen: string[] = []
  for (let after: string | undefined; ;) {
    const page = await listAudit(db, { actor: 'many' }, { after, limit: 4 })
    seen.push(...page.map(({ id }) => id))
    if (page.length < 4) break
    after = page.at(-1)!.id
  }
  expect(seen).toHaveLength(25)
  expect(new Set(seen).size).toBe(25)
  expect(await listAuditActions(db)).toEqual(['app.created', 'do.0', 'do.1', 'do.2'])
})

test('an audit record can neither be changed nor removed', async () => {
  for (const sql of ['update audit set actor = $1', 'delete from audit where actor <> $1'])
    expect(await refusalOf(db.query(sql, ['x']))).toMatch(/append-only|permission denied/)
  expect(await refusalOf(db.query('truncate audit'))).toMatch(/append-only|permission denied/)
})

async function refusalOf(work: Promise<unknown>): Promise<string> {
  return await work.then(
    () => 'done',
    (error: unknown) => String(error),
  )
}
