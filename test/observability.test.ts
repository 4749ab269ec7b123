/** What operators see from outside. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import manifest from '../package.json' with { type: 'json' }
import { beginPatiently } from './lock-waits.ts'
import { startJobs } from '../src/actions/jobs.ts'
import { checkBooks } from '../src/actions/money/check-books.ts'
import { createOperator } from '../src/actions/operators/manage-operators.ts'
import { signInWithPassword } from '../src/actions/operators/sign-in-operator.ts'
import { logIn } from '../src/actions/people/log-in.ts'
import { openMetrics } from '../src/platform/metrics.ts'
import { newClient, type Client } from './client.ts'
import { eventually } from './eventually.ts'
import { newAppWithEvents } from './events/rig.ts'
import { openForwarder } from './forwarder.ts'
import { holdClient, holdOf, letHoldsAge } from './holds.ts'
import { newApp, newUser, openTestService, operator, type TestService } from './service.ts'

let opened: TestService
let client: Client
let su: string
let clientId: string

beforeAll(async () => {
  opened = await openTestService()
  const app = await newApp(opened.service)
  clientId = app.clientId
  client = newClient(opened.app.fetch, app)
  su = (await newUser(opened.service, app)).serviceUserId
})
afterAll(() => opened.close())

/** What the database says is missing when it does not say it in time, so it is asked until it does. */
const readMetrics = async () => {
  for (let tries = 1; ; tries++) {
    const text = await (await opened.app.fetch(new Request('http://billfold.test/metrics'))).text()
    if (text.includes('\nbillfold_database_up 1\n') || tries === 30) return text
  }
}

const metric = async (name: string) => {
  const line = (await readMetrics()).split('\n').find((each) => each.startsWith(name))
  return Number(line?.split(' ').at(-1) ?? Number.NaN)
}

test('operations are counted by app and what they came to, batches and waits by lane', async () => {
  await client.credit(su, 10, 'once')
  await client.credit(su, 10, 'once')
  await client.debit(su, 1)
  await client.debit(su, 100)
  await client.debit('su_nobody', 1)
  const operations = (direction: string, result: string) =>
    metric(`billfold_operations_total{app="${clientId}",direction="${direction}",result="${result}"}`)
  expect(await operations('credit', 'posted')).toBe(1)
  expect(await operations('credit', 'replayed')).toBe(1)
  expect(await operations('debit', 'posted')).toBe(1)
  expect(await operations('debit', 'INSUFFICIENT_BALANCE')).toBe(1)
  expect(await operations('debit', 'USER_NOT_FOUND')).toBe(1)
  // One batch each; the repeat and the refusal too are answered by the one statement.
  expect(await metric('billfold_batch_operations_count{lane="fast"}')).toBe(5)
  expect(await metric('billfold_batch_operations_count{lane="careful"}')).toBe(0)
  expect(await metric('billfold_batch_seconds_count{lane="fast"}')).toBe(5)
  expect(await metric('billfold_lane_wait_seconds_count{lane="fast"}')).toBe(5)
  expect(await metric('billfold_writer_queue_depth{lane="fast"}')).toBe(0)
  expect(await metric('billfold_pool_connections{pool="requests"}')).toBeGreaterThan(0)
  expect(await metric('billfold_memory_bytes')).toBeGreaterThan(1_000_000)
  expect(await metric('billfold_cpu_seconds_total{mode="user"}')).toBeGreaterThan(0)
  expect(await metric(`billfold_build_info{version="${manifest.version}"`)).toBe(1)
})

test('fifty apps have their own counts, and the rest one together', async () => {
  const metrics = openMetrics()
  const refused = { kind: 'unknown-user' } as const
  for (let i = 0; i < 60; i++) metrics.posted(`app_${i}`, 'debit', refused)
  metrics.posted(undefined, 'credit', refused)
  metrics.posted('app_3', 'debit', refused)
  metrics.unposted('app_3', 'credit', 'UNAVAILABLE')
  const text = await metrics.render()
  expect(new Set([...text.matchAll(/app="(\w+)"/g)].map(([, app]) => app)).size).toBe(52)
  expect(text).toContain('billfold_operations_total{app="other",direction="debit",result="USER_NOT_FOUND"} 10\n')
  expect(text).toContain('billfold_operations_total{app="service",direction="credit",result="USER_NOT_FOUND"} 1\n')
  expect(text).toContain('billfold_operations_total{app="app_3",direction="debit",result="USER_NOT_FOUND"} 2\n')
  expect(text).toContain('billfold_operations_total{app="app_3",direction="credit",result="UNAVAILABLE"} 1\n')
})

test('what waits in the database is reported with its age, and what the server says of itself', async () => {
  const { userId } = await newUser(opened.service, { clientId })
  const { pool } = opened.service.db
  await pool.query(
    `with topup as materialized (select gen_random_uuid() as id, * from (values ('created', null, interval '1 h', interval '6 h'), ('processing', null, '2 h', '-5 min'),
       ('processing', 'mismatch', '3 h', '1 h'), ('succeeded', null, '4 h', '-6 min')) as t (state, problem, age, due)),
       added as (insert into work (kind, key, due_at) select 'resolve-topup', id, now() + due from topup)
     insert into topups (id, user_id, client_id, processor, amount, currency, state, problem, created_at, updated_at, expires_at)
     select id, $1, $2, 'sandbox', 100, 'USD', state, problem, now() - age, now(), now() from topup`,
    [userId, clientId],
  )
  await pool.query(
    `insert into work (kind, key, due_at, created_at) values ('send-mail', 'waits', now(), now() - interval '1 h')`,
  )
  const holder = await pool.connect()
  await beginPatiently(holder)
  await holder.query('select 1 from users where id = $1 for update', [userId])
  const waiter = opened.service.db.longRunning.pool.query('select 1 from users where id = $1 for update', [userId])
  const near = async (name: string, seconds: number) => expect(await metric(name)).toBeWithin(seconds, seconds + 600)
  while ((await metric('billfold_database_waiting{kind="Lock"}')) !== 1) await Bun.sleep(50)
  await holder.query('rollback')
  holder.release()
  await waiter
  expect(await metric('billfold_topups_open{state="created"}')).toBe(1)
  expect(await metric('billfold_topups_open{state="processing"}')).toBe(2)
  await near('billfold_topup_oldest_seconds{state="created"}', 3_600)
  await near('billfold_topup_oldest_seconds{state="processing"}', 3 * 3_600)
  await near('billfold_topup_late_seconds', 360)
  expect(await metric('billfold_topup_problems')).toBe(1)
  expect(await metric('billfold_mails_waiting')).toBe(1)
  await near('billfold_mail_oldest_seconds', 3_600)
  expect(await metric('billfold_database_up')).toBe(1)
  expect(await metric('billfold_database_bytes')).toBeGreaterThan(1_000_000)
  expect(await metric('billfold_database_connections')).toBeGreaterThan(1)
  expect(await metric('billfold_database_connections_max')).toBeGreaterThan(10)
  expect(await metric('billfold_database_transaction_age')).toBeGreaterThan(0)
  // A machine that pauses while its clock is read makes it look wrong, until it is read again.
  await eventually(async () => (await metric('billfold_clock_skew_seconds')) < 1, true)
})

const tries = (who: string, result: string) => metric(`billfold_sign_ins_total{who="${who}",result="${result}"}`)
const runs = (job: string, result: string) => metric(`billfold_job_runs_total{name="${job}",result="${result}"}`)

test('tries to sign in are counted by what they came to, of users and operators', async () => {
  const { service } = opened
  const app = (await service.apps.find(clientId))!
  const attempt = {
    email: 'nobody@example.com',
    address: '192.0.2.1',
    password: 'wrong',
    userAgent: null,
    lang: undefined,
    deviceToken: undefined,
  }
  for (let i = 0; i < 11; i++) await logIn(service, app, attempt)
  const device = { address: '192.0.2.2', browser: '' }
  for (let i = 0; i < 6; i++) await signInWithPassword(service, attempt, device)
  await createOperator(service, operator, {
    email: 'ada@example.com',
    name: 'Ada',
    password: 'a long enough password',
    role: 'admin',
  })
  await signInWithPassword(service, { email: 'ada@example.com', password: 'a long enough password' }, device)
  expect([await tries('user', 'wrong'), await tries('user', 'limited'), await tries('user', 'right')]).toEqual([
    10, 1, 0,
  ])
  expect([
    await tries('operator', 'wrong'),
    await tries('operator', 'limited'),
    await tries('operator', 'right'),
  ]).toEqual([5, 1, 1])
})

test('runs of jobs are counted, done and failed', async () => {
  const stop = startJobs(opened.service, [
    { name: 'works', everyMs: 1, run: async () => {} },
    { name: 'fails', everyMs: 1, run: () => Promise.reject(new Error('on purpose')) },
  ])
  while (!((await runs('works', 'done')) > 1 && (await runs('fails', 'failed')) > 1)) await Bun.sleep(5)
  await stop()
  expect([await runs('works', 'failed'), await runs('fails', 'done')]).toEqual([0, 0])
})

test('a job that fails on a newer schema stops, is not a failure, and says so once', async () => {
  const { service } = opened
  const { pool } = service.db
  await pool.query(`insert into billfold_migrations (number, name, checksum) values (9999, '9999_later', 'x')`)
  await pool.query('alter table books_check rename column wallets_sum to wallets_total')
  const stop = startJobs(service, [
    { name: 'check-the-books', everyMs: 1, run: checkBooks },
    { name: 'still-works', everyMs: 1, run: async () => {} },
  ])
  try {
    await eventually(async () => await runs('check-the-books', 'stopped'), 1)
    const before = await runs('still-works', 'done')
    while ((await runs('still-works', 'done')) < before + 20) await Bun.sleep(5)
    expect([await runs('check-the-books', 'failed'), await runs('check-the-books', 'stopped')]).toEqual([0, 1])
    const said = opened.logged.filter((line) => line.includes('check-the-books'))
    expect(said.map((line) => JSON.parse(line) as unknown)).toEqual([
      expect.objectContaining({
        level: 'info',
        message: 'a newer version has migrated the database: this process leaves the job to it',
        job: 'check-the-books',
      }),
    ])
  } finally {
    await stop()
    await pool.query('alter table books_check rename column wallets_total to wallets_sum')
    await pool.query('delete from billfold_migrations where number = 9999')
  }
})

const holdCounts = async () => {
  const kinds = ['created', 'captured', 'voided', 'extended', 'expired']
  return await Promise.all(kinds.map((kind) => metric(`billfold_hold_steps_total{kind="${kind}"}`)))
}

test('what happens to holds is counted once, in either lane, and a repeat or a refusal is not', async () => {
  const apps = [await newApp(opened.service), await newAppWithEvents(opened.service)]
  expect(await holdCounts()).toEqual([0, 0, 0, 0, 0])
  for (const app of apps) {
    const { serviceUserId } = await newUser(opened.service, app)
    const holder = newClient(opened.app.fetch, app)
    await holder.credit(serviceUserId, 100)
    const holds = holdClient(holder, app)
    const place = async () => holdOf(await holds.place(serviceUserId, 10, { expiresIn: 3_600 })).id
    const [captured, voided, ending] = [await place(), await place(), await place()]
    expect((await holds.place(serviceUserId, 10, { referenceId: 'once' })).status).toBe(200)
    expect((await holds.place(serviceUserId, 10, { referenceId: 'once' })).body['replayed']).toBe(true)
    expect((await holds.place(serviceUserId, 99)).status).toBe(400)
    await holds.capture(captured, { amount: 4, final: false, referenceType: 'PART', referenceId: '1' })
    for (let time = 0; time < 2; time++) expect((await holds.capture(captured)).status).toBe(200)
    for (let time = 0; time < 2; time++) expect((await holds.void(voided)).status).toBe(200)
    await holds.extend(ending, 7_200)
    await letHoldsAge(opened, 7_201)
    // A debit closes what has expired before it is decided, outside of the queue.
    expect((await holder.debit(serviceUserId, 80)).status).toBe(200)
    await letHoldsAge(opened, -7_201)
  }
  expect(await holdCounts()).toEqual([8, 4, 2, 2, 2])
})

test('who waits for a connection is counted', async () => {
  const before = await metric('billfold_pool_waits_total{pool="requests"}')
  const { pool } = opened.service.db
  await Promise.all(Array.from({ length: 30 }, () => pool.query('select pg_sleep(0.01)')))
  expect((await metric('billfold_pool_waits_total{pool="requests"}')) - before).toBeGreaterThan(10)
  expect(await metric('billfold_pool_wait_seconds_total{pool="requests"}')).toBeGreaterThan(0.01)
})

test('requests are counted by pattern and status', async () => {
  const name = 'billfold_http_request_seconds_count{route="/api/server/wallet",method="GET",status="401"}'
  await client.wallet('su_nobody')
  const before = await metric(name)
  await client.wallet('su_nobody')
  expect(await metric(name)).toBe(before + 1)
  await opened.app.fetch(new Request('http://billfold.test/anything/at/all'))
  expect(await metric('billfold_http_request_seconds_count{route="none",method="GET",status="404"}')).toBe(1)
})

test('the log has one JSON object a line, and the id that the answer names', async () => {
  const reply = await client.wallet('su_nobody')
  const lines = opened.logged.map((line) => JSON.parse(line) as Record<string, unknown>)
  const entry = lines.find((line) => line['requestId'] === reply.body['requestId'])
  expect(entry).toMatchObject({ level: 'info', method: 'GET', route: '/api/server/wallet', status: 401 })
  expect(reply.headers.get('x-request-id')).toBe(reply.body['requestId'] as string)
  for (const line of opened.logged) expect(line.endsWith('}\n')).toBeTrue()
})

test('an unknown method is no label', async () => {
  await opened.app.fetch(new Request('http://billfold.test/healthz', { method: 'EVIL' }))
  const text = await opened.service.metrics.render()
  expect(text).not.toContain('EVIL')
})

test('a database that is away is 503 at /readyz and on every route, never 500, and all is well when it is back', async () => {
  let wire: Awaited<ReturnType<typeof openForwarder>>
  const away = await openTestService(
    {},
    {
      limits: 'own',
      through: async (connection) => {
        wire = await openForwarder(connection)
        return wire.connection
      },
    },
  )
  const app = await newApp(away.service)
  const { serviceUserId } = await newUser(away.service, app)
  const other = newClient(away.app.fetch, app)
  const readiness = async () => (await away.app.fetch(new Request('http://billfold.test/readyz'))).status
  expect((await other.credit(serviceUserId, 5)).status).toBe(200)
  await eventually(readiness, 200)
  // The app is known for half a second from now, so the debit gets as far as the writer.
  await away.service.apps.refresh()
  wire!.cut()
  const replies = await Promise.all([
    other.debit(serviceUserId, 1, 'while-away'),
    other.wallet(serviceUserId),
    other.checkBalance(serviceUserId, '1'),
  ])
  for (const { status, body, headers } of replies) {
    expect([status, body['code']]).toEqual([503, 'UNAVAILABLE'])
    expect(Number(headers.get('retry-after'))).toBeGreaterThan(0)
  }
  expect(await readiness()).toBe(503)
  const seen = await away.service.metrics.render()
  expect(seen).toContain('\nbillfold_database_up 0\n')
  expect(seen).not.toMatch(/^billfold_database_bytes/m)
  expect(seen).toContain(`{app="${app.clientId}",direction="debit",result="UNAVAILABLE"} 1\n`)
  wire!.mend()
  expect((await other.debit(serviceUserId, 1, 'while-away')).body['balance']).toBe(4)
  await eventually(readiness, 200)
  await away.close()
  wire!.close()
})
