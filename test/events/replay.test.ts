/** POST /api/server/events/replay: an app asks for its events again, at its own endpoint. */
import { afterAll, beforeAll, beforeEach, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { Billfold } from '../../sdk/server.ts'
import { setAppEvents } from '../../src/actions/apps/manage-apps.ts'
import { deliverDue } from '../../src/actions/webhooks/deliverer.ts'
import { addEndpoint, disableEndpoint } from '../../src/actions/webhooks/manage-endpoints.ts'
import { deleteExpired } from '../../src/store/cleanup.ts'
import { journalPing } from '../../src/store/events/journal.ts'
import type { Piece } from '../../src/store/work/work.ts'
import { deliverEvent } from '../../src/work/deliver-event.ts'
import { runDue } from '../../src/work/runner.ts'
import { newClient } from '../client.ts'
import { eventually } from '../eventually.ts'
import { startReceiver, type Received, type WebhookReceiver } from '../receiver.ts'
import { openTestService, operator, type TestService } from '../service.ts'
import { letPass } from '../time.ts'
import { newAppWithEvents, numberAll } from './rig.ts'

setDefaultTimeout(120_000)

let opened: TestService
let receiver: WebhookReceiver
beforeAll(async () => {
  opened = await openTestService()
  receiver = startReceiver()
})
beforeEach(() => {
  receiver.received.length = 0
  receiver.secrets = []
})
afterAll(async () => {
  await receiver.stop()
  await opened.close()
})

const query = async (text: string, values: unknown[]) =>
  (await opened.service.db.pool.query<Record<string, unknown>>(text, values)).rows

async function newEndpoint(clientId: string, url = receiver.url): Promise<string> {
  const added = await addEndpoint(opened.service, operator, clientId, { url, types: null })
  if (added.kind !== 'added') throw new Error(added.kind)
  receiver.secrets.push(added.secret)
  return added.id
}

/** An app whose endpoint had the events 2 to 5. */
async function openApp() {
  const { service } = opened
  const credentials = await newAppWithEvents(service)
  const { clientId } = credentials
  await numberAll(service)
  const id = await newEndpoint(clientId)
  for (let i = 0; i < 4; i++) await journalPing(service.db.pool, clientId)
  await numberAll(service)
  await deliverDue(service)
  const client = newClient(opened.app.fetch, credentials)
  const replay = (asked: Record<string, unknown>) =>
    client.post('/api/server/events/replay', { ...credentials, endpointId: id, from: 2, to: 4, ...asked })
  const waiting = async () =>
    (
      await query(`select split_part(key, '/', 2)::int as number from work where key like $1 order by 1`, [`${id}/%`])
    ).map(({ number }) => number)
  const audited = () =>
    query(`select actor, detail from audit where action = 'endpoint.replayed' and subject = $1`, [`app:${clientId}`])
  return { id, clientId, credentials, client, replay, waiting, audited }
}

/** Delivers also those that waited for others of their endpoint. */
async function delivered(id: string): Promise<number[]> {
  await query(`update work set due_at = now() where key like $1`, [`${id}/%`])
  await runDue(opened.service, deliverEvent)
  return numbers()
}

const ascending = (received: readonly Received[]) => received.map(({ event }) => event.number).sort((a, b) => a - b)
const numbers = () => ascending(receiver.received)

describe('it works', () => {
  test('the events come again, the same bytes with the same ids, and the call is audited', async () => {
    const app = await openApp()
    const first = receiver.received.splice(0)
    expect(ascending(first)).toEqual([2, 3, 4, 5])
    const { status, body } = await app.replay({})
    expect([status, body]).toEqual([202, { endpointId: app.id, count: 3 }])
    await eventually(() => delivered(app.id), [2, 3, 4])
    for (const { event, id, body: bytes } of receiver.received)
      expect(first.find((each) => each.event.number === event.number)).toMatchObject({ id, body: bytes })
    expect(await app.audited()).toEqual([
      { actor: `app:${app.clientId}`, detail: { endpoint: app.id, first: 2, last: 4 } },
    ])
  })

  test('a repeated call adds nothing while the events wait, and says that the endpoint is disabled', async () => {
    const app = await openApp()
    await disableEndpoint(opened.service, operator, app.id)
    for (let i = 0; i < 2; i++)
      expect((await app.replay({})).body).toEqual({ endpointId: app.id, count: 3, disabled: true })
    expect(await app.waiting()).toEqual([2, 3, 4])
  })

  test('events that the endpoint has not had come by themselves, so they are not sent twice', async () => {
    const app = await openApp()
    await disableEndpoint(opened.service, operator, app.id)
    await query('update endpoints set delivered_up_to = 3 where id = $1', [app.id])
    const billfold = new Billfold({
      baseUrl: 'https://billfold.test',
      ...app.credentials,
      fetch: ((url: string, init: RequestInit) => opened.app.fetch(new Request(url, init))) as typeof fetch,
    })
    expect(await billfold.replayEvents({ endpointId: app.id, from: 3, to: 5 })).toMatchObject({
      count: 1,
      disabled: true,
    })
    expect((await app.replay({ from: 4, to: 5 })).body['count']).toBe(0)
    expect(await app.waiting()).toEqual([3])
  })
})

describe('it refuses', () => {
  test('an endpoint of another app with the same answer as an unknown one, and sends nothing', async () => {
    const [mine, other] = [await openApp(), await openApp()]
    receiver.received.length = 0
    const asked = [other.id, `we_${'0'.repeat(32)}`, 'x', `${other.id}/`]
    const answers = await Promise.all(asked.map((endpointId) => mine.replay({ endpointId })))
    const unknown = { error: 'There is no such endpoint of this app.', code: 'ENDPOINT_NOT_FOUND' }
    for (const { status, body } of answers) {
      const { requestId: _, ...rest } = body
      expect([status, rest]).toEqual([404, unknown])
    }
    expect([await other.waiting(), await other.audited(), await mine.audited()]).toEqual([[], [], []])
    expect(receiver.received).toEqual([])
  })

  test.each([
    ['endpointId', undefined],
    ['endpointId', ''],
    ['endpointId', 7],
    ['endpointId', ['x']],
    ['endpointId', 'x'.repeat(129)],
    ['from', undefined],
    ['from', null],
    ['from', '2'],
    ['from', 0],
    ['from', -1],
    ['from', 1.5],
    ['from', 2 ** 53],
    ['to', undefined],
    ['to', true],
    ['to', 1],
  ])('%s: %p', async (name, value) => {
    const app = await openApp()
    const { status, body } = await app.replay({ [name]: value })
    expect([status, body['code'], Object.keys(body['fields'] as object)]).toEqual([400, 'INVALID_REQUEST', [name]])
    expect(await app.audited()).toEqual([])
  })

  test('a range of more than a thousand, one that ends above the last event, or begins before the oldest', async () => {
    const app = await openApp()
    const wide = await app.replay({ to: 1_002 })
    expect([wide.status, wide.body['fields']]).toEqual([400, { to: 'must be at most 999 above from' }])
    const late = await app.replay({ to: 6 })
    expect([late.status, late.body['fields']]).toEqual([400, { to: 'is above the last event, which has the number 5' }])
    await letPass(opened.service.db.pool, 31 * 86_400_000, ['journal', 'event_pages'])
    await journalPing(opened.service.db.pool, app.clientId)
    await numberAll(opened.service)
    await deleteExpired(opened.service.db)
    const gone = await app.replay({})
    expect([gone.status, gone.body['code'], gone.body['oldest']]).toEqual([410, 'EVENTS_GONE', 6])
  })

  test('an app whose events are off', async () => {
    const app = await openApp()
    await setAppEvents(opened.service, operator, app.clientId, false)
    await eventually(async () => (await app.replay({})).body['code'], 'EVENTS_OFF')
  })

  test('more than 60 calls in an hour, of that app alone', async () => {
    const [busy, other] = [await openApp(), await openApp()]
    await disableEndpoint(opened.service, operator, busy.id)
    for (let i = 0; i < 60; i++) expect((await busy.replay({})).status).toBe(202)
    const { status, headers } = await busy.replay({})
    expect([status, Number(headers.get('retry-after')) > 0]).toEqual([429, true])
    expect((await busy.audited()).length).toBe(60)
    expect((await other.replay({})).status).toBe(202)
  })

  test('further events while a thousand wait, at any of the app’s endpoints', async () => {
    const [busy, other] = [await openApp(), await openApp()]
    const second = await newEndpoint(busy.clientId)
    await disableEndpoint(opened.service, operator, second)
    await query(
      `insert into work (kind, key, due_at) select 'deliver-event', $1 || '/' || n, now() + interval '1 day' from generate_series(1, 1000) as n`,
      [second],
    )
    const { status, headers, body } = await busy.replay({})
    expect([status, headers.get('retry-after')]).toEqual([429, '60'])
    expect(body['error']).toBe('1000 events of the app wait to be sent again; wait for the time in Retry-After.')
    expect((await other.replay({})).status).toBe(202)
    await query('delete from work where key = $1', [`${second}/1`])
    expect((await busy.replay({})).status).toBe(202)
  })
})

const run = (endpoint: string, number: number) =>
  deliverEvent.run(opened.service, [{ key: `${endpoint}/${number}`, attempts: 0 } as Piece])

/** A receiver whose answers the test gives. */
function startHeld() {
  const held: (() => void)[] = []
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    idleTimeout: 0,
    fetch: () => new Promise<Response>((resolve) => held.push(() => resolve(new Response(null, { status: 204 })))),
  })
  return { held, url: server.url.href, stop: () => server.stop(true) }
}

test('an app whose endpoints are silent leaves places for the events of other apps', async () => {
  const { held, url, stop } = startHeld()
  const [slow, good] = [await openApp(), await openApp()]
  receiver.received.length = 0
  const endpoints = await Promise.all([1, 2, 3].map(() => newEndpoint(slow.clientId, url)))
  const postponed: unknown[] = []
  const runs = endpoints.flatMap((endpoint) => [2, 3].map((number) => run(endpoint, number)))
  for (const each of runs)
    void each.then(([ended]) => ended?.kind === 'again' && ended.isCounted === false && postponed.push(ended))
  await eventually(() => postponed.length, 2)
  await eventually(() => held.length, 4)
  expect(await run(good.id, 2)).toEqual([{ kind: 'done' }])
  expect(numbers()).toEqual([2])
  for (const release of held) release()
  await Promise.all(runs)
  expect(postponed.length).toBe(2)
  await stop()
})

/** The service, with how each run of a piece of work ended. */
function withEnds() {
  const ends: string[] = []
  const metrics = { ...opened.service.metrics, work: (_: string, result: string) => void ends.push(result) }
  return { service: { ...opened.service, metrics }, ends }
}

test('the events of an endpoint that has two under way are not claimed, and those of others are', async () => {
  const { held, url, stop } = startHeld()
  const [slow, good] = [await openApp(), await openApp()]
  receiver.received.length = 0
  const endpoint = await newEndpoint(slow.clientId, url)
  const count = 4
  await query(`delete from work where kind = 'deliver-event'`, [])
  for (const id of [endpoint, good.id])
    await query(
      `insert into work (kind, key, due_at) select 'deliver-event', $1 || '/' || n, now() - case when $2 then interval '1 day' else '0' end
       from generate_series(2, 1 + $3::int) as n`,
      [id, id === endpoint, count],
    )
  const { service, ends } = withEnds()
  const running = runDue(service, deliverEvent)
  await eventually(() => [held.length, ends.length], [2, count])
  expect(numbers()).toEqual([2, 3, 4, 5])
  for (let answered = 0; answered < count; answered++) {
    await eventually(() => held.length, Math.min(count, answered + 2))
    held[answered]!()
  }
  await running
  expect(ends).toEqual(Array.from({ length: 2 * count }, () => 'done'))
  await stop()
})

test('of an endpoint of an app that has four under way two events are claimed, and no further one until one of the four has ended', async () => {
  const { held, url, stop } = startHeld()
  const slow = await openApp()
  const endpoints = await Promise.all([1, 2, 3].map(() => newEndpoint(slow.clientId, url)))
  await query(`delete from work where kind = 'deliver-event'`, [])
  for (const [i, id] of endpoints.entries())
    await query(
      `insert into work (kind, key, due_at) select 'deliver-event', $1 || '/' || n, now() - $2 * interval '1 hour' from generate_series(2, 5) as n`,
      [id, 3 - i],
    )
  const { service, ends } = withEnds()
  const running = runDue(service, deliverEvent)
  await eventually(() => [held.length, ends], [4, ['again', 'again']])
  // The other lanes have found nothing to claim.
  await runDue(service, deliverEvent)
  expect([held.length, ends]).toEqual([4, ['again', 'again']])
  await query(`delete from work where kind = 'deliver-event' and leased_until is null`, [])
  for (const answer of held) answer()
  await running
  expect(deliverEvent.exceptOf?.()).toEqual([])
  await stop()
})
