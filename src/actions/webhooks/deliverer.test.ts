/** What endpoints that do not work cost the others, counted in requests, statements and waits. */
import { afterAll, beforeAll, beforeEach, expect, setDefaultTimeout, test } from 'bun:test'
import { eventually } from '../../../test/eventually.ts'
import { newAppWithEvents, numberAll } from '../../../test/events/rig.ts'
import { plansOf, wrongWalks } from '../../../test/query-plans.ts'
import { startReceiver, type WebhookReceiver } from '../../../test/receiver.ts'
import { recordQueries } from '../../../test/recorded-queries.ts'
import { openTestService, operator, type Credentials, type TestService } from '../../../test/service.ts'
import type { Pool } from '../../store/connection/pool.ts'
import { claimEndpoints, claimEndpointsOf } from '../../store/events/endpoints.ts'
import { findKept } from '../../store/events/feed.ts'
import { journalPing } from '../../store/events/journal.ts'
import { numberEvents } from '../../store/events/number-events.ts'
import type { Service } from '../service.ts'
import { deliverDue, startDeliverer, type Deliverer } from './deliverer.ts'
import { addEndpoint } from './manage-endpoints.ts'

setDefaultTimeout(180_000)

const endpointsPerApp = 5
/** Few enough that a starved machine has all of them under way before the first attempt ends. */
const deadCount = 25

let opened: TestService
let good: Credentials
let receiver: WebhookReceiver
const dead: Credentials[] = []
/** Of the dead endpoints: requests under way, each answered when the test says. */
const held: ((status: number) => void)[] = []
const silent = Bun.serve({
  port: 0,
  hostname: '127.0.0.1',
  idleTimeout: 0,
  fetch: () => new Promise<Response>((resolve) => held.push((status) => resolve(new Response(null, { status })))),
})

beforeAll(async () => {
  opened = await openTestService()
  receiver = startReceiver()
  good = await newAppWithEvents(opened.service)
  receiver.secrets = [await add(good, receiver.url)]
  await ping(good)
  await deliverDue(opened.service)
  for (let i = 0; i < deadCount / endpointsPerApp; i++) {
    const app = await newAppWithEvents(opened.service)
    dead.push(app)
    for (let j = 0; j < endpointsPerApp; j++) await add(app, silent.url.href)
  }
})
afterAll(async () => {
  await silent.stop(true)
  await receiver.stop()
  await opened.close()
})
/** Each dead endpoint is due, is not known to work, and has as many events as a good one gets at once. */
beforeEach(async () => {
  held.length = 0
  await opened.service.db.pool.query(
    `update endpoints set failing_since = null, failed_events = 0, probes = 0, considered_up_to = delivered_up_to, lease = null,
       leased_until = null, next_attempt_at = now() where client_id <> $1`,
    [good.clientId],
  )
  for (let i = 0; i < 8; i++) await ping(...dead)
})

async function add({ clientId }: Credentials, url: string): Promise<string> {
  const added = await addEndpoint(opened.service, operator, clientId, { url, types: null })
  if (added.kind !== 'added') throw new Error(added.kind)
  return added.secret
}

/** An event of each of these apps, with its number. */
async function ping(...apps: readonly Credentials[]): Promise<void> {
  for (const { clientId } of apps) await journalPing(opened.service.db.pool, clientId)
  await numberAll(opened.service)
}

/** Answers requests under way, and those that follow, until the work ends. */
async function answerAll(status: number, work: Promise<unknown>): Promise<void> {
  let isOver = false
  const ended = work.finally(() => (isOver = true))
  await eventually(() => {
    for (const answer of held.splice(0)) answer(status)
    return isOver
  }, true)
  await ended
}

const hour = 3_600_000

/** A starved machine also gets the time to end what is under way: a run that goes on would hold the lease in the next test. */
function start(service: Service, everyMs: number): Deliverer {
  return startDeliverer(service, {}, { everyMs, endWithinMs: 60_000 })
}

type Sent = { readonly name: string; readonly text: string; readonly values: readonly unknown[] }

/** The service, with the statements of its jobs and deliveries in this list. Each statement is sent when `before` allows it. */
function recorded(
  service: Service,
  before: (statement: Sent) => Promise<void> = async () => {},
): { readonly service: Service; readonly sent: Sent[] } {
  const sent: Sent[] = []
  const record = <T extends Pick<Pool, 'query'>>(on: T): T['query'] =>
    (async (asked: string | { name?: string; text: string; values?: unknown[] }, values?: unknown[]) => {
      const { name = '', text, values: given = values ?? [] } = typeof asked === 'string' ? { text: asked } : asked
      const statement = { name, text, values: given }
      sent.push(statement)
      await before(statement)
      return await on.query(asked as string, values)
    }) as T['query']
  const slow = service.db.longRunning.pool
  const pool: Pool = {
    ...slow,
    query: record(slow),
    connect: async () => {
      const client = await slow.connect()
      return { ...client, query: record(client) }
    },
  }
  return { service: { ...service, db: { ...service.db, longRunning: { ...service.db.longRunning, pool } } }, sent }
}

test('silent endpoints have one request each under way, and wait for no connection that the others need', async () => {
  const { pool } = opened.service.db.longRunning
  const waits = pool.waits
  const runs = deliverDue(opened.service)
  await eventually(() => held.length, deadCount)
  expect(pool.waits - waits).toBe(0)
  const accepted = receiver.accepted.length
  await ping(good)
  expect(await deliverDue(opened.service)).toBe(1)
  expect(receiver.accepted.length).toBe(accepted + 1)
  expect(held.length).toBe(deadCount)
  await answerAll(500, runs)
  expect(pool.waits - waits).toBe(0)
})

test('an event begins runs of endpoints that work; the others begin with the timer, one at each tick', async () => {
  const { service, sent } = recorded(opened.service)
  const waiting = start(service, hour)
  const accepted = receiver.accepted.length
  await ping(good)
  waiting.wake([dead[0]!.clientId])
  waiting.wake([good.clientId])
  await eventually(() => receiver.accepted.length, accepted + 1)
  await waiting.stop()
  expect(held.length).toBe(0)

  sent.length = 0
  const deliverer = start(service, 20)
  await eventually(() => held.length, deadCount)
  const claims = sent.filter(({ name }) => name === 'claim-endpoints').map(({ values }) => values.map(Number))
  expect(claims.length).toBeGreaterThanOrEqual(deadCount)
  expect(Math.max(...claims.map(([, unproven]) => unproven!))).toBe(1)
  // Between two polls it claims no endpoint that works.
  expect(claims.filter(([proven]) => proven === 0).length).toBeGreaterThan(0)
  await answerAll(500, deliverer.stop())
})

test('while no endpoint that is not known to work is due, only each third tick asks', async () => {
  await opened.service.db.pool.query(
    `update endpoints set next_attempt_at = now() + interval '1 hour', considered_up_to = $2 where client_id <> $1`,
    [good.clientId, Number.MAX_SAFE_INTEGER],
  )
  const { service, sent } = recorded(opened.service)
  let ticks = 0
  const tick = setInterval(() => ticks++, 10)
  const deliverer = start(service, 10)
  await eventually(() => ticks >= 30, true)
  clearInterval(tick)
  await deliverer.stop()
  expect(sent.length).toBeGreaterThan(0)
  expect(sent.length).toBeLessThan(ticks / 2)
})

test('a deliverer that stops waits for its claim, and returns what it has claimed', async () => {
  const isAllowed = Promise.withResolvers<void>()
  const { service, sent } = recorded(opened.service, async ({ name }) => {
    if (name === 'claim-endpoints-of-apps') await isAllowed.promise
  })
  await ping(good)
  const deliverer = start(service, hour)
  deliverer.wake([good.clientId])
  await eventually(() => sent.length, 1)
  let isOver = false
  const stopping = deliverer.stop().then(() => (isOver = true))
  await Bun.sleep(50)
  expect(isOver).toBe(false)
  isAllowed.resolve()
  await stopping
  const { rows } = await opened.service.db.pool.query('select lease from endpoints where client_id = $1', [
    good.clientId,
  ])
  expect(rows).toEqual([{ lease: null }])
  const runs = deliverDue(opened.service)
  await answerAll(500, runs)
  expect(await runs).toBe(deadCount + 1)
})

test('an event that gets its number during a run of its endpoint is delivered without the timer', async () => {
  const { service, sent } = recorded(opened.service)
  const deliverer = start(service, hour)
  const accepted = receiver.accepted.length
  const [isReached, isAllowed] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  receiver.answer = async () => {
    isReached.resolve()
    await isAllowed.promise
    return new Response(null, { status: 204 })
  }
  await ping(good)
  deliverer.wake([good.clientId])
  await isReached.promise
  await ping(good)
  deliverer.wake([good.clientId])
  await eventually(() => sent.filter(({ name }) => name === 'claim-endpoints-of-apps').length, 2)
  isAllowed.resolve()
  await eventually(() => receiver.accepted.length, accepted + 2)
  await deliverer.stop()
})

test('numbers wake the deliverer for apps with an endpoint that works, not for those whose endpoints are dead, disabled or missing', async () => {
  const { db } = opened.service
  const without = await newAppWithEvents(opened.service)
  await numberAll(opened.service)
  for (const { clientId } of [good, without, ...dead]) await journalPing(db.pool, clientId)
  expect(await numberEvents(db)).toEqual({ events: 2 + dead.length, toDeliver: [good.clientId] })
  await db.pool.query(`update endpoints set disabled_at = now(), disabled_for = 'operator' where client_id = $1`, [
    good.clientId,
  ])
  await journalPing(db.pool, good.clientId)
  expect(await numberEvents(db)).toEqual({ events: 1, toDeliver: [] })
  await db.pool.query(`update endpoints set disabled_at = null, disabled_for = null where client_id = $1`, [
    good.clientId,
  ])
  await deliverDueAndFail()
})

test('an event claims by its app, and reads no endpoint of another one', async () => {
  const { pool } = opened.service.db
  await pool.query(
    `insert into endpoints (id, client_id, url, secret, delivered_up_to, last_success_at)
     select 'ep_' || n, $1, 'https://a.example/', 'x', 0, now() from generate_series(1, 2000) n`,
    [dead[0]!.clientId],
  )
  const sent = await recordQueries(async () => void (await claimEndpointsOf(pool, [good.clientId], 10)))
  const plans = (await Promise.all(sent.map(plansOf))).flat()
  await pool.query(`delete from endpoints where url = 'https://a.example/'`)
  expect(plans.length).toBeGreaterThan(0)
  const indexes = ['endpoints_of_app', 'endpoints_pkey']
  expect(plans.flatMap((plan) => wrongWalks(plan, ['endpoints'], indexes))).toEqual([])
})

test('endpoints that work are claimed however many others are due', async () => {
  await ping(good)
  const [first, ...others] = await claimEndpoints(opened.service.db.pool, { proven: 1, unproven: 0 })
  expect([first?.clientId, others]).toEqual([good.clientId, []])
  const next = await claimEndpoints(opened.service.db.pool, { proven: 10, unproven: 3 })
  expect(next.map(({ clientId }) => clientId === good.clientId)).toEqual([false, false, false])
  await opened.service.db.pool.query('update endpoints set lease = null, leased_until = null')
  await deliverDueAndFail()
})

/** So that the back-off neither ends by chance nor has to be waited for. */
async function attemptAt(after: string): Promise<void> {
  await opened.service.db.pool.query('update endpoints set next_attempt_at = now() + $1::interval', [after])
}

/** Three failed events make an endpoint ill. */
async function deliverDueAndFail(): Promise<void> {
  await answerAll(500, deliverDue(opened.service))
}

test('an ill endpoint costs nothing for each event, and for each probe one request, one event read and five statements', async () => {
  await deliverDueAndFail()
  await attemptAt('1 hour')
  const { service, sent } = recorded(opened.service)
  for (let i = 0; i < 5; i++) {
    await ping(...dead)
    expect(await deliverDue(service)).toBe(0)
  }
  expect(sent.map(({ name }) => name)).toEqual(Array.from({ length: 5 }, () => 'claim-endpoints'))

  sent.length = 0
  await attemptAt('0')
  const runs = deliverDue(service)
  await eventually(() => held.length, deadCount)
  await answerAll(500, runs)
  const [claim, ...ofProbes] = sent
  expect([claim?.name, held.length]).toEqual(['claim-endpoints', 0])
  const { last } = await findKept(opened.service.db.pool, dead[0]!.clientId)
  expect(last).toBeGreaterThan(8)
  const reads = ofProbes.filter(({ name }) => name === 'find-events')
  expect(reads.map(({ values }) => values[2])).toEqual(Array.from({ length: deadCount }, () => 1))
  expect(ofProbes.length).toBe(5 * deadCount)
})
