/** What operators see of events and webhooks: metrics, the doctor and the overview, each on the real problem. */
import { afterAll, beforeAll, beforeEach, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { deliverDue } from '../../src/actions/webhooks/deliverer.ts'
import { addEndpoint, disableEndpoint, pingApp } from '../../src/actions/webhooks/manage-endpoints.ts'
import { examineEvents, type EventFacts } from '../../src/actions/deployment/examine-events.ts'
import { startJobs } from '../../src/actions/jobs.ts'
import { getDatabaseGauges } from '../../src/store/database-gauges.ts'
import { findEndpointLags } from '../../src/store/events/endpoint-lag.ts'
import { journalPing } from '../../src/store/events/journal.ts'
import { getUnnumberedSeconds, numberEvents } from '../../src/store/events/number-events.ts'
import { upsertJobFailure } from '../../src/store/work/work-report.ts'
import { postLocked } from '../../src/store/writer/careful-statement.ts'
import { callCommand } from '../command.ts'
import { eventually } from '../eventually.ts'
import { newOperator, type TestOperator } from '../operator.ts'
import { startReceiver, type WebhookReceiver } from '../receiver.ts'
import { newUsers, openTestService, operator, secretsKey, type Credentials, type TestService } from '../service.ts'
import { creditOf, newAppWithEvents, openLane, postBatch, reserveOf } from './rig.ts'

setDefaultTimeout(180_000)

let opened: TestService
let viewer: TestOperator
let app: Credentials

beforeAll(async () => {
  opened = await openTestService({ WEBHOOK_ALLOWED_NETS: '127.0.0.0/8' })
  viewer = await newOperator(opened, 'viewer')
})
afterAll(() => opened.close())
beforeEach(async () => {
  await query(`delete from endpoints`)
  app = await newAppWithEvents(opened.service)
  await numberEvents(opened.service.db)
})

const query = async (sql: string, values: unknown[] = []) => (await opened.service.db.pool.query(sql, values)).rows
const gauges = () => getDatabaseGauges(opened.service.db.pool)

async function counted(series: string): Promise<number> {
  const line = (await opened.service.metrics.render()).split('\n').find((each) => each.startsWith(`${series} `))
  return Number(line?.split(' ').at(-1) ?? Number.NaN)
}

async function add(url = 'https://shop.example/hooks', receiver?: WebhookReceiver): Promise<string> {
  const added = await addEndpoint(opened.service, operator, app.clientId, { url, types: null })
  if (added.kind !== 'added') throw new Error(added.kind)
  if (receiver) receiver.secrets = [added.secret]
  return added.id
}

const makeIll = (id: string, since: string) =>
  query(
    `update endpoints set failing_since = now() - $2::interval, failed_events = 3, last_error = 'broken' where id = $1`,
    [id, since],
  )

async function overview(): Promise<string> {
  return await (await viewer.get('/admin')).text()
}

async function doctor(): Promise<{ name: string; state: string; text: string; fix?: string }[]> {
  const environment = { DATABASE_URL: opened.databaseUrl, SECRETS_KEY: secretsKey, DEMO: '0' }
  const { stdout } = await callCommand(['doctor', '--json'], environment)
  return (JSON.parse(stdout) as { checks: { name: string; state: string; text: string }[] }).checks
}

const countedByClass = async () => [
  await counted('billfold_events_total{class="movement"}'),
  await counted('billfold_events_total{class="hold"}'),
  await counted('billfold_events_total{class="link"}'),
  await counted('billfold_events_total{class="test"}'),
]

test('events are counted by class when they get their numbers, once', async () => {
  const lane = await openLane(opened.service)
  const { db, metrics } = opened.service
  await numberEvents(db, metrics.events)
  const before = await countedByClass()
  const [user] = await newUsers(opened.service, app, 1)
  await postBatch(lane, [creditOf(app, user!), creditOf(app, user!)])
  // One row of the journal has an entry and a hold.
  await postLocked(lane.client, [creditOf(app, user!), reserveOf(app, user!)], { isPatient: true, writer: lane.number })
  await pingApp(opened.service, operator, app.clientId)
  await numberEvents(db, metrics.events)
  await numberEvents(db, metrics.events)
  expect((await countedByClass()).map((count, i) => count - before[i]!)).toEqual([3, 1, 1, 1])
  await lane.client.end()
})

test('the age of the oldest event without a number is measured for movements and for facts, and is 0 afterwards', async () => {
  const lane = await openLane(opened.service)
  const [user] = await newUsers(opened.service, app, 1)
  await numberEvents(opened.service.db)
  expect(await getUnnumberedSeconds(opened.service.db.pool)).toBe(0)
  for (const write of [
    () => postBatch(lane, [creditOf(app, user!)]),
    () => journalPing(opened.service.db.pool, app.clientId),
  ]) {
    await write()
    await query(`update journal j set at = now() - interval '100 s' where serial = (select max(serial) from journal)`)
    expect((await gauges()).unnumberedSeconds).toBeGreaterThanOrEqual(100)
    await numberEvents(opened.service.db)
    expect((await gauges()).unnumberedSeconds).toBe(0)
  }
  await lane.client.end()
})

test('events written while the last app’s events are switched off still get their numbers', async () => {
  await query('update apps set has_events = false')
  await journalPing(opened.service.db.pool, app.clientId)
  await opened.service.apps.refresh()
  const stop = startJobs(opened.service)
  await eventually(() => getUnnumberedSeconds(opened.service.db.pool), 0)
  await stop()
})

test('attempts are counted by result', async () => {
  const receiver = startReceiver()
  const results = ['accepted', 'refused', 'no-answer', 'not-public'] as const
  const read = () =>
    Promise.all(results.map((result) => counted(`billfold_webhook_attempts_total{result="${result}"}`)))
  const before = await read()
  const deliver = async (url: string) => {
    const id = await add(url, receiver)
    await pingApp(opened.service, operator, app.clientId)
    await numberEvents(opened.service.db)
    await deliverDue(opened.service)
    await query('delete from endpoints where id = $1', [id])
  }
  receiver.answer = () => new Response(null, { status: 204 })
  await deliver(receiver.url)
  receiver.answer = () => new Response(null, { status: 500 })
  await deliver(receiver.url)
  await receiver.stop()
  await deliver(receiver.url)
  await deliver('http://10.1.2.3/')
  expect((await read()).map((count, i) => count - before[i]!)).toEqual([1, 1, 1, 1])
})

test('endpoints are counted by state, with the largest lag of each in events and seconds', async () => {
  const [working, ill, off, gone] = [await add(), await add(), await add(), await add()]
  for (let i = 0; i < 3; i++) await pingApp(opened.service, operator, app.clientId)
  await numberEvents(opened.service.db)
  await query('update endpoints set delivered_up_to = 4 where id = $1', [working])
  await query('update endpoints set delivered_up_to = 1 where id <> $1', [working])
  await query(`update event_pages set at = now() - interval '50 s' where client_id = $1 and first = 2`, [app.clientId])
  await makeIll(ill, '2 hours')
  await disableEndpoint(opened.service, operator, off)
  await query(`update endpoints set disabled_at = now(), disabled_for = 'gone' where id = $1`, [gone])
  const { endpoints } = await gauges()
  const counts = Object.fromEntries(
    Object.entries(endpoints).map(([state, { count, events }]) => [state, [count, events]]),
  )
  expect(counts).toEqual({
    working: [1, 0],
    failing: [0, 0],
    ill: [1, 3],
    'disabled-by-operator': [1, 3],
    'disabled-by-service': [1, 3],
  })
  expect(endpoints.working.seconds).toBe(0)
  expect(endpoints.ill.seconds).toBeGreaterThanOrEqual(50)
  expect(endpoints.ill.failingSeconds).toBeGreaterThanOrEqual(7_200)
  expect((await findEndpointLags(opened.service.db.pool, app.clientId)).get(working)).toEqual({ events: 0, seconds: 0 })
})

test('the lag is that of the next event, also in the middle of a page, and of the oldest that is kept', async () => {
  const lane = await openLane(opened.service)
  const [user] = await newUsers(opened.service, app, 1)
  await postBatch(
    lane,
    Array.from({ length: 20 }, () => creditOf(app, user!)),
  )
  await pingApp(opened.service, operator, app.clientId)
  await numberEvents(opened.service.db)
  const id = await add()
  const pages = (await query(`select first::int, count from event_pages where client_id = $1 order by first`, [
    app.clientId,
  ])) as { first: number; count: number }[]
  const batch = pages.find(({ count }) => count === 20)!
  await query(`update event_pages set at = now() - interval '1 hour' where client_id = $1 and first = $2`, [
    app.clientId,
    batch.first,
  ])
  const seconds = async (deliveredUpTo: number) => {
    await query('update endpoints set delivered_up_to = $2 where id = $1', [id, deliveredUpTo])
    return (await findEndpointLags(opened.service.db.pool, app.clientId)).get(id)!.seconds
  }
  expect(await seconds(batch.first + 7)).toBeGreaterThanOrEqual(3_600)
  expect(await seconds(batch.first + 18)).toBeGreaterThanOrEqual(3_600)
  expect(await seconds(batch.first + 19)).toBeLessThan(3_600)
  await query(`delete from event_pages where client_id = $1 and first < $2`, [app.clientId, batch.first])
  expect(await seconds(0)).toBeGreaterThanOrEqual(3_600)
  await lane.client.end()
})

describe('the overview and the doctor', () => {
  test('name an app with ill endpoints, with a link to its tab', async () => {
    const id = await add()
    const link = `<a href="/admin/client-apps/${app.clientId}/events">`
    expect(await overview()).not.toContain(link)
    await makeIll(id, '2 hours')
    expect(await overview()).toContain(link)
    const webhooks = (await doctor()).find(({ name }) => name === 'Webhooks')
    expect([webhooks?.state, webhooks?.fix]).toEqual(['warn', expect.stringContaining(`/${app.clientId}/events`)])
    await disableEndpoint(opened.service, operator, id)
    expect(await overview()).not.toContain(link)
  })

  test('say that events have had no number for 30 s, and why', async () => {
    expect(await overview()).not.toContain('<a href="/admin/work">Events without a number')
    await journalPing(opened.service.db.pool, app.clientId)
    await query(`update journal set at = now() - interval '40 s' where awaits_number`)
    await upsertJobFailure(opened.service.db.pool, 'number-events', 3, 'permission denied for table event_heads')
    expect(await overview()).toContain('<a href="/admin/work">Events without a number')
    const events = (await doctor()).find(({ name }) => name === 'Events')
    expect([events?.state, events?.text]).toEqual(['bad', expect.stringContaining('permission denied')])
    await query(`delete from work where kind = 'job'`)
    await numberEvents(opened.service.db)
    expect((await doctor()).find(({ name }) => name === 'Events')?.state).toBe('good')
  })

  test('an app whose events wait for a row that cannot become events is named', async () => {
    const { clientId } = await newAppWithEvents(opened.service)
    await query(`update apps set name = 'Stalled shop' where client_id = '${clientId}'`)
    await query(`insert into journal (writer, client_id, link_ids, sequences, at)
      values (99998, '${clientId}', '{}', '{}', now() - interval '100 s')`)
    await numberEvents(opened.service.db)
    expect((await gauges()).unnumberedSeconds).toBeGreaterThanOrEqual(100)
    expect(await overview()).toContain('Events without a number for 30 s, of Stalled shop')
    const events = (await doctor()).find(({ name }) => name === 'Events')
    expect(events?.state).toBe('bad')
    expect(events?.text).toMatch(/^Events of Stalled shop \(row 99998\/\d+ of the journal\) get no numbers/)
    await query('delete from journal where writer = 99998')
    await numberEvents(opened.service.db)
    expect((await doctor()).find(({ name }) => name === 'Events')?.state).toBe('good')
  })

  test('a key that is missing for an endpoint’s secret is found', async () => {
    await add()
    const environment = { DATABASE_URL: opened.databaseUrl, SECRETS_KEY: Buffer.alloc(32, 'other').toString('base64') }
    const { stdout } = await callCommand(['doctor', '--json'], environment)
    const { checks } = JSON.parse(stdout) as { checks: { name: string; state: string }[] }
    expect(checks.find(({ name }) => name === 'SECRETS_KEY')?.state).toBe('bad')
  })
})

test('the doctor refuses plain HTTP in production alone, and a numberer that fails is a warning before apps notice', () => {
  const level = { count: 0, events: 0, seconds: 0, failingSeconds: 0 }
  const endpoints = {
    working: { ...level, count: 2 },
    failing: level,
    ill: level,
    'disabled-by-operator': { ...level, count: 1 },
    'disabled-by-service': level,
  }
  const facts: EventFacts = {
    gauges: { unnumberedSeconds: 0, endpoints },
    numbererError: undefined,
    stalled: [],
    troubled: [],
    plainEndpoints: 1,
    isProduction: false,
  }
  const states = (changes: Partial<EventFacts>) => examineEvents({ ...facts, ...changes }).map(({ state }) => state)
  expect(states({})).toEqual(['good', 'good'])
  expect(states({ isProduction: true })).toEqual(['good', 'good', 'bad'])
  expect(states({ numbererError: 'x' })).toEqual(['warn', 'good'])
  const late = examineEvents({ ...facts, gauges: { endpoints, unnumberedSeconds: 31 } })[0]
  expect(late).toMatchObject({ state: 'bad', text: expect.stringContaining('No process numbers them.') as string })
  expect(examineEvents(facts)[1]!.text).toContain('An operator disabled 1.')
})
