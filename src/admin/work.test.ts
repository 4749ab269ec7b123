import { afterAll, beforeAll, beforeEach, expect, test } from 'bun:test'
import { newOperator, type TestOperator } from '../../test/operator.ts'
import { openTestService, type TestService } from '../../test/service.ts'
import { eventually } from '../../test/eventually.ts'
import { startJobs } from '../actions/jobs.ts'

let opened: TestService
let support: TestOperator
let viewer: TestOperator

beforeAll(async () => {
  opened = await openTestService()
  support = await newOperator(opened, 'support')
  viewer = await newOperator(opened, 'viewer')
})
afterAll(() => opened.close())
beforeEach(async () => void (await query('delete from work')))

const query = async (sql: string, values: unknown[] = []) => (await opened.service.db.pool.query(sql, values)).rows
const pageOf = async (operator: TestOperator, path = '/admin/work') => await (await operator.get(path)).text()
const failed = (failures: number, more = '') =>
  query(
    `insert into work (kind, key, due_at, failures, last_error, failed_at${more && ', given_up_at'})
     values ('reconcile-day', '2026-01-05', now() + interval '1 hour', $1, 'the processor <is> away', now()${more})`,
    [failures],
  )

test('says so when nothing failed', async () => {
  expect(await pageOf(viewer)).toContain('Nothing failed')
})

test('shows what failed and why, escaped, in red after three failures, and offers to run it only to those who may', async () => {
  await failed(2)
  const page = await pageOf(support)
  for (const text of ['2026-01-05', 'the processor &lt;is> away', 'badge warn">failed 2 times', 'Run again'])
    expect(page).toContain(text)
  await query('update work set failures = 3')
  expect(await pageOf(support)).toContain('badge bad">failed 3 times')
  expect(await pageOf(viewer)).not.toContain('Run again')
})

test('a piece that failed three times is red on the overview with its reason', async () => {
  await failed(2)
  expect(await pageOf(viewer, '/admin')).not.toContain('the processor')
  await query('update work set failures = 3')
  expect(await pageOf(viewer, '/admin')).toContain('the processor &lt;is> away')
})

test('running it again makes it due now, once, and leaves a record', async () => {
  await failed(4, ', now()')
  const send = () => support.post('/admin/work/again', { kind: 'reconcile-day', key: '2026-01-05' })
  const done = await send()
  expect([done.status, done.headers.get('location')]).toEqual([303, '/admin/work?done=work-again'])
  const records = await query(`select subject, detail->>'key' as key from audit where action = 'work.run-again'`)
  expect(records).toEqual([{ subject: 'work:reconcile-day', key: '2026-01-05' }])
  // There is no such day: the run is over, and did not fail.
  await eventually(async () => await query('select key from work'), [])
  expect((await send()).status).toBe(409)
  expect((await support.post('/admin/work/again', { kind: 'job', key: 'cleanup' })).status).toBe(409)
})

test('a job that failed three times in a row is red on the overview with its reason, until it succeeds', async () => {
  let isBroken = true
  const stop = startJobs(opened.service, [
    { name: 'broken', everyMs: 5, run: () => (isBroken ? Promise.reject(new RangeError('x')) : Promise.resolve()) },
  ])
  await eventually(async () => (await pageOf(viewer, '/admin')).includes('RangeError'), true)
  expect(await pageOf(viewer)).toContain('Periodic job')
  isBroken = false
  await eventually(async () => (await pageOf(viewer, '/admin')).includes('RangeError'), false)
  await stop()
})
