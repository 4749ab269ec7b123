import { afterAll, beforeAll, beforeEach, expect, setDefaultTimeout, test } from 'bun:test'
import { complaintOf } from '../../test/embedded-process.ts'
import { eventually } from '../../test/eventually.ts'
import { lockWaitsSql } from '../../test/lock-waits.ts'
import { newOperator, type TestOperator } from '../../test/operator.ts'
import { newApp, newUser, openTestService, type TestService } from '../../test/service.ts'
import { roles, type Role } from '../store/operators.ts'
import { sqlState, transact } from '../store/connection/database.ts'
import { openWaitingCounts } from '../store/work/waiting-counts.ts'

setDefaultTimeout(180_000)

let rig: TestService
let operators: Readonly<Record<Role, TestOperator>>
let walletId: string

beforeAll(async () => {
  rig = await openTestService({}, { limits: 'own' })
  const made = await Promise.all(roles.map(async (role) => [role, await newOperator(rig, role)] as const))
  operators = Object.fromEntries(made) as typeof operators
  walletId = (await newUser(rig.service, await newApp(rig.service))).userId
})
afterAll(() => rig.close())
beforeEach(() => rig.service.waitingCounts.expire())

const sql = (text: string, values: unknown[] = []) => rig.service.db.pool.query(text, values)

async function menuOf(role: Role, path = '/admin/account'): Promise<string> {
  const response = await operators[role].get(path)
  expect(response.status).toBe(200)
  return /<nav aria-label="Admin area">(.*?)<\/nav>/s.exec(await response.text())![1]!
}

/** The labels with a count, and the counts. */
async function countsOf(role: Role): Promise<Record<string, string>> {
  const found = (await menuOf(role)).matchAll(/<\/svg>([^<]+?) <span class="count">([^<]+)</g)
  return Object.fromEntries([...found].map(([, label, count]) => [label!, count!]))
}

test('the menu is in groups, each with a heading that names its list', async () => {
  const menu = await menuOf('viewer')
  const groups = [
    ...menu.matchAll(/<h2 id="([^"]+)">([^<]+)<\/h2><ul role="list" aria-labelledby="([^"]+)">(.*?)<\/ul>/g),
  ]
  expect(groups.map(([, id, title, by, list]) => [title, id === by, list!.match(/<li>/g)!.length])).toEqual([
    ['Money', true, 7],
    ['People', true, 5],
    ['Apps', true, 2],
    ['System', true, 2],
  ])
  expect(await countsOf('admin')).toEqual({})
})

test('each role sees the count of what it may resolve, and of nothing else', async () => {
  const correction = `insert into corrections (id, wallet_id, amount, counter_account, reason, state, needs_approval, asked_by)
    values (gen_random_uuid(), $1, 100, 'adjustments', 'x', $2, true, 'operator:x')`
  for (const state of ['waiting', 'waiting', 'declined']) await sql(correction, [walletId, state])
  await sql(`insert into work (kind, key, due_at, failures, failed_at, given_up_at) values
    ('job', 'a', 'infinity', 3, now(), null), ('job', 'b', 'infinity', 2, now(), null), ('send-mail', 'c', now(), 0, null, now())`)
  await sql(`insert into operator_changes (id, kind, email, role, asked_by, expires_at) values
    (gen_random_uuid(), 'invite', 'a@example.com', 'viewer', 'operator:x', now() + interval '1 hour'),
    (gen_random_uuid(), 'invite', 'b@example.com', 'viewer', 'operator:x', now() - interval '1 hour')`)
  await sql(`insert into reconciliation_differences (payment_intent_id, kind, day, processor_amount, ledger_amount, found_at, resolved_at)
    values ('pi_1', 'charge', current_date, 1, 2, now(), null), ('pi_2', 'charge', current_date, 1, 2, now(), now())`)
  await sql(
    `insert into user_deletions (id, user_id, reason, asked_by, expires_at)
     values (gen_random_uuid(), $1, 'x', 'operator:x', now() + interval '1 day')`,
    [walletId],
  )
  const money = { Corrections: '2', Reconciliation: '1' }
  const ofSupport = { 'Background work': '2', Deletions: '1' }
  await eventually(() => countsOf('viewer'), {})
  await eventually(() => countsOf('support'), ofSupport)
  await eventually(() => countsOf('finance'), money)
  await eventually(() => countsOf('admin'), { ...money, ...ofSupport, Operators: '1' })
})

test('a count ends at 99+, and the answer to the form that resolves the last one shows none', async () => {
  await sql(
    `insert into corrections (id, wallet_id, amount, counter_account, reason, state, needs_approval, asked_by)
    select gen_random_uuid(), $1, 100, 'adjustments', 'x', 'waiting', true, 'operator:x' from generate_series(1, 120)`,
    [walletId],
  )
  await eventually(async () => {
    rig.service.waitingCounts.expire()
    return (await countsOf('finance'))['Corrections']
  }, '99+')
  await eventually(async () => (await rig.service.waitingCounts.read())?.corrections, 100)
  await sql(
    `update corrections set state = 'declined' where id <> (select id from corrections where state = 'waiting' limit 1)`,
  )
  const { rows } = await sql(`select id from corrections where state = 'waiting'`)
  const { id } = rows[0] as { id: string }
  await eventually(async () => {
    rig.service.waitingCounts.expire()
    return (await countsOf('finance'))['Corrections']
  }, '1')
  await operators.finance.post(`/admin/corrections/${id}/decline`, { reason: 'No' })
  expect((await countsOf('finance'))['Corrections']).toBeUndefined()
})

test('while a table is locked, one query waits for it, pages come without counts, and the counts return', async () => {
  await sql(`update corrections set state = 'waiting'`)
  const faults: unknown[] = []
  const counts = openWaitingCounts(rig.service.db.longRunning, (error) => faults.push(error))
  await transact(rig.service.db.longRunning, async (tx) => {
    await tx.query('lock table corrections in access exclusive mode')
    const countWaits = async () => (await tx.query(lockWaitsSql)).rows.length
    const pages = await Promise.all(Array.from({ length: 10 }, () => countsOf('admin')))
    expect(pages).toEqual(Array.from({ length: 10 }, () => ({})))
    expect(await countWaits()).toBeLessThanOrEqual(1)
    expect([await counts.read(), faults]).toEqual([undefined, []])
    // The database ends a query of an app's call after three seconds, and this one sooner.
    await complaintOf(rig.service.db.pool.query('select from corrections limit 1'))
    expect(faults.map(sqlState)).toEqual(['57014'])
    expect(await countWaits()).toBe(0)
    expect([await counts.read(), faults.length]).toEqual([undefined, 1])
  })
  await eventually(async () => (await countsOf('finance'))['Corrections'], '99+')
})
