/** The pages of an app's endpoints. */
import { afterAll, beforeAll, beforeEach, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { newAppWithEvents } from '../../../test/events/rig.ts'
import { newOperator, type TestOperator } from '../../../test/operator.ts'
import { openTestService, operator, type TestService } from '../../../test/service.ts'
import { addEndpoint, disableEndpoint, pingApp } from '../../actions/webhooks/manage-endpoints.ts'
import { findEndpoint, listEndpoints } from '../../store/events/endpoints.ts'
import { numberEvents } from '../../store/events/number-events.ts'

setDefaultTimeout(120_000)

/** What the receiver wrote into the path of its address. */
const token = 'tok3n-in-the-path'
const url = `https://shop.example/hooks/${token}?key=${token}`

let opened: TestService
let admin: TestOperator
let viewer: TestOperator
let clientId: string
let id: string

beforeAll(async () => {
  opened = await openTestService()
  admin = await newOperator(opened)
  viewer = await newOperator(opened, 'viewer')
})
afterAll(() => opened.close())
beforeEach(async () => {
  ;({ clientId } = await newAppWithEvents(opened.service))
  const added = await addEndpoint(opened.service, operator, clientId, { url, types: null })
  if (added.kind !== 'added') throw new Error(added.kind)
  id = added.id
})

const query = async (sql: string, values: unknown[] = []) => (await opened.service.db.pool.query(sql, values)).rows
const endpoint = async () => (await findEndpoint(opened.service.db.pool, id))!
const eventsTab = () => `/admin/client-apps/${clientId}/events`
const page = () => `/admin/client-apps/${clientId}/endpoints/${id}`
const textOf = async (response: Response) => (await response.text()).replace(/<[^>]+>/g, ' ').replace(/\s+/g, ' ')
const read = async (who: TestOperator, path: string) => await textOf(await who.get(path))

/** As if the endpoint had had them all: the first is the ping of switching on. */
async function deliverEvents(count: number): Promise<void> {
  for (let i = 1; i < count; i++) await pingApp(opened.service, operator, clientId)
  await numberEvents(opened.service.db)
  await query('update endpoints set delivered_up_to = $2 where id = $1', [id, count])
}

test('an endpoint is added with the types that the form chose', async () => {
  const type = ['wallet.topped_up', 'test.ping']
  const fields = { url: 'https://shop.example/other', type, form: crypto.randomUUID() }
  const added = await admin.post(`/admin/client-apps/${clientId}/endpoints`, fields)
  expect(added.status).toBe(200)
  const endpoints = await listEndpoints(opened.service.db.pool, clientId)
  expect(endpoints[1]).toMatchObject({ url: 'https://shop.example/other', types: type })
})

test('only who may change an endpoint sees its whole address, and what the receiver answered', async () => {
  await query(`update endpoints set failing_since = now(), failed_events = 3, last_error = $2 where id = $1`, [
    id,
    `The answer was 404: Cannot POST /hooks/${token}`,
  ])
  await query(
    `insert into endpoint_attempts (endpoint_id, number, status, took_ms, error) values ($1, 1, 404, 5, $2)`,
    [id, `The answer was 404: Cannot POST /hooks/${token}`],
  )
  const audit = `/admin/audit?subject=${encodeURIComponent(`app:${clientId}`)}`
  for (const path of [eventsTab(), page(), audit]) expect(await read(viewer, path), path).not.toContain(token)
  expect(await read(viewer, eventsTab())).toContain('https://shop.example/hooks/…')
  expect(await read(viewer, page())).toContain('The answer was 404.')
  expect(await read(admin, eventsTab())).toContain(url)
  expect(await read(admin, page())).toContain(`Cannot POST /hooks/${token}`)
  for (const role of ['support', 'finance'] as const)
    expect(await read(await newOperator(opened, role), page()), role).not.toContain(token)
})

test.each([
  ['secret-lost', 'the endpoint then continues with the events that wait'],
  ['operator', 'then you can enable the endpoint'],
])('an endpoint without a secret, disabled for %s, offers the rotation and not to enable it', async (cause, next) => {
  const enables = async () => [...(await (await admin.get(page())).text()).matchAll(/>Enable</g)].length
  await query('update endpoints set disabled_at = now(), disabled_for = $2, secret = null where id = $1', [id, cause])
  expect(await read(admin, page())).toContain(`Rotate the secret below: ${next}`)
  expect(await enables()).toBe(0)
  expect((await admin.post(`${page()}/state`, { to: 'now' })).status).toBe(409)
  const rotation = { overlap: 'none', form: crypto.randomUUID() }
  expect((await admin.post(`${page()}/rotate`, rotation)).status).toBe(200)
  expect((await endpoint()).disabledFor).toBe(cause === 'operator' ? 'operator' : null)
  expect(await read(admin, page())).not.toContain('Rotate the secret below')
  expect(await enables()).toBe(cause === 'operator' ? 1 : 0)
})

test('the list has the state, since when, and how many events wait for how long', async () => {
  await deliverEvents(3)
  await query(`update event_pages set at = now() - interval '90 minutes' where client_id = $1 and first = 2`, [
    clientId,
  ])
  await query(`update endpoints set delivered_up_to = 1, failing_since = now(), failed_events = 3 where id = $1`, [id])
  expect(await read(viewer, eventsTab())).toMatch(/\bill\b.* 2, for 90 min /)
  expect(await read(viewer, page())).toContain('2, for 90 min')
  await disableEndpoint(opened.service, operator, id)
  expect(await read(viewer, eventsTab())).toContain('disabled')
})

const plan = (from: string, to = '') => `${page()}/replay?from=${encodeURIComponent(from)}&to=${encodeURIComponent(to)}`

describe('sending events again', () => {
  test('says how many first, and does it only then', async () => {
    await deliverEvents(5)
    expect(await read(admin, plan('2', '4'))).toContain('Of the events 2 to 4, 3 are sent again')
    expect(await query(`select from work where kind = 'deliver-event' and key like $1`, [`${id}/%`])).toEqual([])
    const sent = await admin.post(`${page()}/replay`, { first: '2', last: '4' })
    expect(sent.headers.get('location')).toEndWith('?done=events-replayed')
    const work = await query(`select key from work where kind = 'deliver-event' and key like $1 order by key`, [
      `${id}/%`,
    ])
    expect(work).toEqual([2, 3, 4].map((number) => ({ key: `${id}/${number}` })))
    expect((await endpoint()).deliveredUpTo).toBe(5)
    expect(
      await query(
        `select actor, detail->'first' as first, detail->'last' as last from audit where action = 'endpoint.replayed' and subject = $1`,
        [`app:${clientId}`],
      ),
    ).toEqual([{ actor: `operator:${admin.id}`, first: 2, last: 4 }])
  })

  test('without an end moves the endpoint back, from where it goes on in order, and ends the run that is under way', async () => {
    await deliverEvents(5)
    await query(
      `update endpoints set lease = gen_random_uuid(), leased_until = now() + interval '1 minute' where id = $1`,
      [id],
    )
    expect(await read(admin, plan('3'))).toContain('Of the events 3 to 5, 3 are sent again, in order')
    const sent = await admin.post(`${page()}/replay`, { first: '3', last: '' })
    expect(sent.headers.get('location')).toEndWith('?done=events-go-on')
    expect((await endpoint()).deliveredUpTo).toBe(2)
    expect(await query('select lease, leased_until from endpoints where id = $1', [id])).toEqual([
      { lease: null, leased_until: null },
    ])
  })

  test('by time: the first event from then on, and none from the end on', async () => {
    await deliverEvents(4)
    for (const [number, at] of [
      [1, '2026-03-01T10:00Z'],
      [2, '2026-03-01T11:00Z'],
      [3, '2026-03-01T12:00Z'],
      [4, '2026-03-02T00:00Z'],
    ] as const)
      await query('update event_pages set at = $3 where client_id = $1 and first = $2', [clientId, number, at])
    expect(await read(admin, plan('2026-03-01 10:30', '2026-03-02'))).toContain('Of the events 2 to 3, 2 are')
    expect(await read(admin, plan('2026-03-01T11:00:00Z'))).toContain('Of the events 2 to 4, 3 are')
    expect(await read(admin, plan('2026-03-03'))).toContain('no event of that range')
    expect(await read(viewer, `${eventsTab()}?since=${encodeURIComponent('2026-03-01 11:30')}`)).toContain(
      'Pass after=2 : 2 events follow.',
    )
    expect(await read(viewer, `${eventsTab()}?since=2026-04-01`)).toContain('Pass after=4 : 0 events follow.')
    expect(await read(viewer, `${eventsTab()}?since=1`)).toContain('Pass after=0 : 4 events follow.')
    expect(await read(viewer, `${eventsTab()}?since=yesterday`)).toContain('Write a number such as 17')
  })

  test('begins with the oldest event that is kept, and reaches none that the endpoint has yet to get', async () => {
    await deliverEvents(6)
    await query('delete from event_pages where client_id = $1 and first < 3', [clientId])
    await query('update endpoints set delivered_up_to = 5 where id = $1', [id])
    expect(await read(admin, plan('1', '9'))).toContain('Of the events 3 to 5, 3 are')
    expect(await read(admin, plan('1'))).toContain('Of the events 3 to 6, 4 are')
    expect(await read(admin, plan('6'))).toContain('no event of that range')
    expect((await admin.post(`${page()}/replay`, { first: '1', last: '2' })).status).toBe(422)
  })

  test.each([
    '',
    '0',
    '-1',
    '1.5',
    '1e3',
    'x',
    '2026-02-30',
    '2026-01-31 25:00',
    '9'.repeat(40),
    'null',
    "1' or '1'='1",
  ])('from “%s” is refused with a sentence', async (from) => {
    const response = await admin.get(plan(from))
    expect([response.status, await textOf(response)]).toEqual([
      422,
      expect.stringContaining('Write a number such as 17'),
    ])
    expect((await admin.post(`${page()}/replay`, { first: from, last: '' })).status).toBe(422)
    expect((await admin.post(`${page()}/replay`, { first: '1', last: from || 'x' })).status).toBe(422)
  })

  test('two ends of different kinds, and an endpoint of another app, are refused', async () => {
    expect((await admin.get(plan('1', '2026-01-31'))).status).toBe(422)
    expect((await admin.get(plan('2026-01-31', '4'))).status).toBe(422)
    const other = await newAppWithEvents(opened.service)
    const elsewhere = `/admin/client-apps/${other.clientId}/endpoints/${id}/replay`
    expect((await admin.get(`${elsewhere}?from=1`)).status).toBe(404)
    expect((await admin.post(elsewhere, { first: '1', last: '1' })).status).toBe(404)
  })
})
