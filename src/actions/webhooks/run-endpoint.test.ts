import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, setDefaultTimeout, test } from 'bun:test'
import type { BillfoldEvent } from '../../../sdk/contract.ts'
import { eventually } from '../../../test/eventually.ts'
import { creditOf, newAppWithEvents, openLane, postBatch, readAll } from '../../../test/events/rig.ts'
import { startReceiver, type WebhookReceiver } from '../../../test/receiver.ts'
import {
  newUsers,
  openTestService,
  operator,
  type Credentials,
  type TestService,
  type TestUser,
} from '../../../test/service.ts'
import { letPass } from '../../../test/time.ts'
import { findEndpoint, listAttempts } from '../../store/events/endpoints.ts'
import { updateLinkDisconnected } from '../../store/links.ts'
import { numberEvents } from '../../store/events/number-events.ts'
import type { WriterClient } from '../../store/writer/connection.ts'
import { deliverEvent } from '../../work/deliver-event.ts'
import { runDue } from '../../work/runner.ts'
import { toEvent } from '../events/event-body.ts'
import { deliverDue } from './deliverer.ts'
import {
  addEndpoint,
  disableEndpoint,
  enableEndpoint,
  pingApp,
  replayEvents,
  rotateEndpointSecret,
  type ReplayRange,
} from './manage-endpoints.ts'

setDefaultTimeout(120_000)

let opened: TestService
let lane: WriterClient
let app: Credentials
let users: TestUser[]
let receiver: WebhookReceiver
let endpointId: string
/** The app's last number before the test. */
let before: number
/** Answers other than a success that the sender has read. */
let failures = 0

beforeAll(async () => {
  opened = await openTestService()
  const { metrics } = opened.service
  const count = metrics.webhook
  const webhook: typeof count = (result) => {
    count(result)
    if (result !== 'accepted') failures++
  }
  Object.assign(metrics, { webhook })
  lane = await openLane(opened.service)
})
afterAll(async () => {
  await lane.client.end()
  await opened.close()
})
beforeEach(async () => {
  app = await newAppWithEvents(opened.service)
  users = await newUsers(opened.service, app, 12)
  await numberEvents(opened.service.db)
  before = (await readAll(opened.service, app.clientId)).length
  receiver = startReceiver()
  endpointId = await add(receiver)
})
afterEach(async () => {
  // A later test must not deliver for this one.
  await disableEndpoint(opened.service, operator, endpointId)
  await receiver.stop()
})

async function add(to: WebhookReceiver, types: string[] | null = null): Promise<string> {
  const added = await addEndpoint(opened.service, operator, app.clientId, { url: to.url, types })
  if (added.kind !== 'added') throw new Error(added.kind)
  to.secrets = [added.secret]
  return added.id
}

/** A credit of each of these users, in this order, with its number. */
async function credit(...whose: number[]): Promise<void> {
  for (const index of whose) await postBatch(lane, [creditOf(app, users[index]!)])
  await numberEvents(opened.service.db)
}

const deliver = () => deliverDue(opened.service)
/** Counted from the first event of the test: 1, 2, 3 … */
const own = (event: { readonly number: number }) => event.number - before
const received = () => receiver.received.map(({ event }) => own(event))
const sorted = (numbers: readonly number[]) => numbers.toSorted((a, b) => a - b)
const endpoint = async () => (await findEndpoint(opened.service.db.pool, endpointId))!
const delivered = async () => (await endpoint()).deliveredUpTo - before
const pass = (ms: number) => letPass(opened.service.db.pool, ms, ['endpoints', 'work'])
const retryAside = () => runDue(opened.service, deliverEvent)
const replay = (range: ReplayRange) => replayEvents(opened.service, operator, endpointId, range)
const ok = () => new Response(null, { status: 204 })
const failing = () => new Response('broken', { status: 500 })
/**
 * Answers the ill event first, and later ones once the sender has read that answer: only a success that follows a failure shows that the
 * event is ill.
 */
function unless(ill: number, isStillIll = () => true) {
  const failuresBefore = failures
  const answered = Promise.withResolvers<boolean>()
  return async (event: BillfoldEvent) => {
    if (own(event) === ill) {
      const isFailing = isStillIll()
      answered.resolve(isFailing)
      return isFailing ? failing() : ok()
    }
    if (own(event) > ill && (await answered.promise)) await eventually(() => failures > failuresBefore, true)
    return ok()
  }
}

describe('while all is well', () => {
  test('every event arrives once, signed, with the bytes of the feed', async () => {
    await credit(0, 1, 2, 3, 0, 1)
    await deliver()
    const all = await readAll(opened.service, app.clientId)
    const bodies = all
      .slice(before)
      .map((each) => JSON.stringify(toEvent(each, app.clientId, opened.service.config.currency)))
    expect(receiver.received.map(({ body }) => body).toSorted()).toEqual(bodies.toSorted())
    expect(receiver.received.every(({ event, id }) => event.id === id)).toBe(true)
    expect(await delivered()).toBe(6)
    expect(await deliver()).toBe(0)
  })

  test('several are under way at once, up to eight, and never two of one user', async () => {
    const open = new Map<string, number>()
    let together = 0
    await credit(11)
    await deliver()
    receiver.answer = async ({ data }) => {
      const user = 'serviceUserId' in data ? data.serviceUserId : ''
      open.set(user, (open.get(user) ?? 0) + 1)
      together = Math.max(together, open.get(user)!)
      // The first ones are answered once eight are under way.
      await eventually(() => receiver.mostAtOnce() >= 8, true)
      await Bun.sleep(20)
      open.set(user, open.get(user)! - 1)
      return ok()
    }
    await credit(0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 0, 0)
    await deliver()
    expect([sorted(received()), together, receiver.mostAtOnce()]).toEqual([
      Array.from({ length: 18 }, (_, i) => i + 1),
      1,
      8,
    ])
    const ofFirst = receiver.received.filter(
      ({ event: { data } }) => 'serviceUserId' in data && data.serviceUserId === users[0]!.serviceUserId,
    )
    expect(ofFirst.map(({ event }) => own(event))).toEqual([2, 3, 4, 5, 17, 18])
  })

  test('an event that was numbered before the user disconnected the app is delivered after it', async () => {
    const { userId, serviceUserId } = users[0]!
    await credit(0)
    await updateLinkDisconnected(opened.service.db.pool, userId, serviceUserId)
    await numberEvents(opened.service.db)
    await deliver()
    const sent = receiver.received.map(({ event }) => event)
    expect(sent.map(({ type }) => type)).toEqual(['wallet.credited', 'link.disconnected'])
    expect(sent.map(({ data }) => data)).toMatchObject([{ serviceUserId, sequence: 1 }, { serviceUserId }])
  })

  test('an endpoint gets the types it chose, and its cursor passes the others', async () => {
    const other = startReceiver()
    const id = await add(other, ['link.created'])
    await credit(0, 1)
    await deliver()
    expect(other.received).toEqual([])
    expect((await findEndpoint(opened.service.db.pool, id))!.deliveredUpTo - before).toBe(2)
    await disableEndpoint(opened.service, operator, id)
    await other.stop()
  })

  test('more events than one page holds arrive, each once; pages without a chosen type are passed in the same run', async () => {
    const other = startReceiver()
    const id = await add(other, ['test.ping'])
    const batch = Array.from({ length: 450 }, (_, i) => creditOf(app, users[i % 12]!))
    for (let i = 0; i < batch.length; i += 50) await postBatch(lane, batch.slice(i, i + 50))
    await pingApp(opened.service, operator, app.clientId)
    await numberEvents(opened.service.db)
    await deliver()
    expect(sorted(received())).toEqual(Array.from({ length: 451 }, (_, i) => i + 1))
    expect(other.received.map(({ event }) => own(event))).toEqual([451])
    await disableEndpoint(opened.service, operator, id)
    await other.stop()
  })
})

describe('an ill event', () => {
  test('steps aside when a later one succeeds, and is tried again until it succeeds, with the same id and bytes', async () => {
    let isIll = true
    receiver.answer = unless(2, () => isIll)
    await credit(0, 1, 2, 3)
    await deliver()
    expect([await delivered(), sorted(receiver.accepted.map((number) => number - before))]).toEqual([4, [1, 3, 4]])
    await retryAside()
    expect(received().filter((number) => number === 2).length).toBe(1)
    await pass(6_000)
    await retryAside()
    expect(received().filter((number) => number === 2).length).toBe(2)
    isIll = false
    await pass(40_000)
    await retryAside()
    const attempts = receiver.received.filter(({ event }) => own(event) === 2)
    expect([attempts.length, new Set(attempts.map(({ id, body }) => id + body)).size]).toEqual([3, 1])
    await pass(48 * 3_600_000)
    await retryAside()
    expect(received().filter((number) => number === 2).length).toBe(3)
  })

  test('alone, it is decided when the next event succeeds, however soon that one comes', async () => {
    receiver.answer = unless(1)
    await credit(0)
    await deliver()
    expect([await delivered(), (await endpoint()).failedEvents]).toEqual([0, 1])
    expect(await deliver()).toBe(0)
    await credit(1)
    await deliver()
    expect([await delivered(), (await endpoint()).failingSince]).toEqual([2, null])
    expect(receiver.accepted).toEqual([before + 2])
  })

  test('holds up its user, whose next event does not begin a run after run', async () => {
    receiver.answer = failing
    await credit(0)
    await deliver()
    await credit(0)
    expect([await deliver(), await deliver()]).toEqual([1, 0])
    expect(received()).toEqual([1])
    await opened.service.db.pool.query(`update endpoints set next_attempt_at = now() + interval '1 hour'`)
    let runs = 0
    for (let i = 0; i < 20; i++) {
      await credit(0)
      runs += await deliver()
    }
    expect([runs <= 8, received()]).toEqual([true, [1]])
  })

  test('of the only user is decided at its first retry, by the next event', async () => {
    receiver.answer = unless(1)
    await credit(0, 0, 0)
    await deliver()
    expect(received()).toEqual([1])
    await pass(7_000)
    await deliver()
    expect([received(), await delivered(), (await endpoint()).failingSince]).toEqual([[1, 1, 2, 3], 3, null])
  })

  test('holds up its user until it is decided, and no other', async () => {
    receiver.answer = unless(1)
    await credit(0, 0, 1, 0)
    await deliver()
    const order = receiver.accepted.map((number) => number - before)
    expect(order[0]).toBe(3)
    expect(sorted(order)).toEqual([2, 3, 4])
  })
})

describe('an ill endpoint', () => {
  test('gets no more attempts after three different events have failed', async () => {
    receiver.answer = failing
    await credit(0, 1, 2, 3, 4, 5, 6, 7, 8, 9)
    await deliver()
    expect([received(), await delivered(), (await endpoint()).failedEvents]).toEqual([[1, 2, 3], 0, 3])
    // Further events do not change that.
    await credit(10, 11)
    expect(await deliver()).toBe(0)
    expect(receiver.received.length).toBe(3)
  })

  test('gets one probe at each step of its back-off, with its oldest event', async () => {
    receiver.answer = failing
    await credit(0, 1, 2, 3)
    await deliver()
    receiver.received.length = 0
    for (const ms of [6_000, 40_000, 150_000, 750_000]) {
      expect(await deliver()).toBe(0)
      await pass(ms)
      await deliver()
    }
    expect(received()).toEqual([1, 1, 1, 1])
  })

  test('that recovers gets all its events, each accepted once, and slowly at first', async () => {
    receiver.answer = failing
    await credit(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11)
    await deliver()
    receiver.received.length = 0
    const widths: number[] = []
    let underWay = 0
    receiver.answer = async () => {
      widths.push(++underWay)
      await Bun.sleep(10)
      underWay--
      return ok()
    }
    await pass(6_000)
    await deliver()
    expect(sorted(receiver.accepted.map((number) => number - before))).toEqual(
      Array.from({ length: 12 }, (_, i) => i + 1),
    )
    expect(Math.max(...widths.slice(0, 4))).toBeLessThanOrEqual(2)
    expect([await delivered(), (await endpoint()).failingSince, (await endpoint()).probes]).toEqual([12, null, 0])
  })

  test('is asked again when it said, and not before', async () => {
    receiver.answer = () => new Response(null, { status: 429, headers: { 'retry-after': '3600' } })
    await credit(0, 1)
    await deliver()
    const count = receiver.received.length
    await pass(3_500_000)
    await credit(2)
    expect(await deliver()).toBe(0)
    await pass(200_000)
    receiver.answer = ok
    await deliver()
    expect([receiver.received.length > count, await delivered()]).toEqual([true, 3])
  })

  test('that asks to wait gets no further event first', async () => {
    receiver.answer = failing
    await credit(0)
    await deliver()
    receiver.answer = () => new Response(null, { status: 503, headers: { 'retry-after': '600' } })
    await credit(1, 2, 3)
    await deliver()
    expect(received()).toEqual([1, 2])
  })

  test('that reads an event and says nothing is given up after its time, and gets the same event again', async () => {
    receiver.answer = () => new Promise(() => {})
    await credit(0)
    await deliver()
    expect([await delivered(), (await endpoint()).lastError]).toEqual([0, 'No answer within 15 seconds.'])
    receiver.answer = ok
    await pass(3_600_000)
    await deliver()
    const [first, second] = receiver.received
    expect([receiver.received.length, await delivered()]).toEqual([2, 1])
    expect(second).toEqual(first)
  })

  test('a redirect is no success, and is not followed', async () => {
    receiver.answer = () => Response.redirect('/elsewhere')
    await credit(0)
    await deliver()
    expect([await delivered(), receiver.received.length]).toEqual([0, 1])
    expect((await endpoint()).lastError).toContain('302')
  })

  test('that answers 410 is disabled at once, and its events wait', async () => {
    receiver.answer = () => new Response(null, { status: 410 })
    await credit(0)
    await deliver()
    expect(await endpoint()).toMatchObject({ disabledFor: 'gone' })
    await credit(1)
    expect(await deliver()).toBe(0)
    receiver.answer = ok
    await enableEndpoint(opened.service, operator, endpointId, 'where-it-stood')
    await deliver()
    expect([sorted(receiver.accepted.map((number) => number - before)), await delivered()]).toEqual([[1, 2], 2])
  })

  test('that fails for five days is disabled; enabled again it goes on where it stood', async () => {
    receiver.answer = failing
    await credit(0, 1, 2)
    await deliver()
    for (let day = 0; day < 5; day++) {
      expect(await endpoint()).toMatchObject({ disabledFor: null })
      await pass(24 * 3_600_000 + 1)
      await deliver()
    }
    expect(await endpoint()).toMatchObject({ disabledFor: 'failing', mailsSent: 3 })
    receiver.answer = ok
    await credit(3)
    expect(await deliver()).toBe(0)
    await enableEndpoint(opened.service, operator, endpointId, 'where-it-stood')
    await deliver()
    expect(sorted(receiver.accepted.map((number) => number - before))).toEqual([1, 2, 3, 4])
  })

  test('enabled again from now on, it gets only later events', async () => {
    await disableEndpoint(opened.service, operator, endpointId)
    await credit(0)
    await enableEndpoint(opened.service, operator, endpointId, 'now')
    await credit(1)
    await deliver()
    expect(received()).toEqual([2])
  })
})

test('a replay sends what the endpoint had once more, by number or by time, and not what it has yet to get', async () => {
  await credit(0, 1, 2)
  await deliver()
  await credit(3)
  receiver.received.length = 0
  expect(await replay({ first: before + 2, last: before + 9 })).toMatchObject({ kind: 'added', last: before + 3 })
  await eventually(() => sorted(received()), [2, 3])
  expect(await replay({ first: before + 4, last: before + 4 })).toEqual({ kind: 'nothing' })
  const [from, to] = [new Date(Date.now() - 600_000), new Date(Date.now() + 600_000)]
  expect(await replay({ from, to })).toMatchObject({ kind: 'added', last: before + 3 })
  await eventually(async () => {
    // At most two of an endpoint are under way; the others come later.
    await retryAside()
    return [1, 2, 3].every((number) => received().includes(number))
  }, true)
  expect(await replay({ from: to, to: from })).toEqual({ kind: 'nothing' })
  expect(await replay({ first: 1, last: 1e15 })).toMatchObject({ kind: 'added' })
})

test('a rotated secret: both sign until the old one ends', async () => {
  const old = receiver.secrets
  const next = (await rotateEndpointSecret(opened.service, operator, endpointId, '1h'))!
  await credit(0)
  await deliver()
  receiver.secrets = [next]
  await credit(1)
  await deliver()
  await pass(3_700_000)
  await credit(2)
  await deliver()
  expect(receiver.accepted.map((number) => number - before)).toEqual([1, 2, 3])
  receiver.secrets = old
  await credit(3)
  await deliver()
  expect([await delivered(), (await endpoint()).lastError]).toEqual([3, expect.stringContaining('400')])
})

test('attempts are kept for people: failures with their answer’s status, never an answer from a private network', async () => {
  receiver.answer = (event) => (own(event) === 1 ? new Response('internal page', { status: 500 }) : ok())
  await credit(0, 1)
  await deliver()
  const attempts = await listAttempts(opened.service.db.pool, endpointId, 10)
  expect(attempts.map(({ number, status }) => `${number - before} ${status}`).toSorted()).toEqual(['1 500', '2 204'])
  expect(JSON.stringify(attempts)).not.toContain('internal page')
})

test('a lease that another process took ends the run, and nothing it knew is written over', async () => {
  receiver.answer = async () => {
    // As if the lease had run out and another process had claimed the endpoint.
    await opened.service.db.pool.query(
      `update endpoints set lease = gen_random_uuid(), leased_until = now() + interval '30 s' where id = $1`,
      [endpointId],
    )
    return ok()
  }
  await credit(0)
  await deliver()
  expect(await delivered()).toBe(0)
})
