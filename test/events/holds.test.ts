/** Events of holds: each step is reported once, in the order of its wallet, and shows the hold as it was then. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import type { BillfoldEvent, Hold } from '../../sdk/contract.ts'
import { setAppEvents } from '../../src/actions/apps/manage-apps.ts'
import { selectEvents } from '../../src/actions/events/select-events.ts'
import { updateLinkDisconnected } from '../../src/store/links.ts'
import { parseHoldId } from '../../src/store/outcomes.ts'
import { newClient, type Reply } from '../client.ts'
import { holdClient, holdOf, letHoldsAge, sweepHolds, type HoldBody } from '../holds.ts'
import { linkUser, newApp, newUser, openTestService, operator, type Credentials, type TestService } from '../service.ts'
import { newAppWithEvents, numberAll } from './rig.ts'

setDefaultTimeout(60_000)

const day = 86_400

let opened: TestService
beforeAll(async () => void (opened = await openTestService()))
afterAll(() => opened.close())

function callsOf(credentials: Credentials) {
  const client = newClient(opened.app.fetch, credentials)
  const text = async (query: Record<string, string> = {}) => {
    await numberAll(opened.service)
    return JSON.stringify((await client.get('/api/server/events', { limit: '1000', ...query })).body['events'])
  }
  const events = async (query?: Record<string, string>): Promise<BillfoldEvent[]> => JSON.parse(await text(query))
  /** What was not there before the call, without the number and the id. */
  const seen = { count: 0 }
  const next = async () => {
    const all = await events()
    const fresh = all.slice(seen.count)
    seen.count = all.length
    return fresh
  }
  const types = async () => (await next()).map(({ type }) => type)
  return { ...credentials, client, holds: holdClient(client, credentials), text, events, next, types }
}

/** An app with events, and a user with 100. */
async function openShop() {
  const app = callsOf(await newAppWithEvents(opened.service))
  const user = await newUser(opened.service, app)
  await app.client.credit(user.serviceUserId, 100)
  await app.next()
  return { app, ...user }
}

const about = (serviceUserId: string, hold: HoldBody) => ({ serviceUserId, ...hold })
const placed = async (reply: Promise<Reply>) => {
  const { status, body } = await reply
  expect([status, body['code']]).toEqual([200, undefined])
  return holdOf({ body } as Reply)
}

describe('it works', () => {
  test('an event has the hold of the answer, and the same bytes after everything that follows', async () => {
    const { app, serviceUserId } = await openShop()
    const made = await placed(app.holds.place(serviceUserId, 30, { description: 'Table 7', expiresIn: 3_600 }))
    const first = await app.text()
    const extended = await placed(app.holds.extend(made.id, 7_200))
    const second = await app.text()
    const part = await app.holds.capture(made.id, {
      amount: 10,
      final: false,
      referenceType: 'PART',
      referenceId: made.id,
    })
    const third = await app.text()
    const rest = await app.holds.capture(made.id, { amount: 25, allowExtra: true })
    const released = await placed(app.holds.place(serviceUserId, 5))
    const voided = await placed(app.holds.void(released.id))
    const events = await app.next()
    expect(events.map(({ type, data }) => [type, data])).toEqual([
      ['hold.created', about(serviceUserId, made)],
      ['hold.extended', about(serviceUserId, extended)],
      ['wallet.debited', expect.objectContaining({ amount: 10, sequence: 2, referenceType: 'PART' })],
      ['hold.captured', about(serviceUserId, holdOf(part))],
      ['wallet.debited', expect.objectContaining({ amount: 25, sequence: 3, referenceType: 'ORDER' })],
      ['hold.captured', about(serviceUserId, holdOf(rest))],
      ['hold.created', about(serviceUserId, released)],
      ['hold.voided', about(serviceUserId, voided)],
    ])
    expect([holdOf(part), holdOf(rest)]).toMatchObject([
      { status: 'OPEN', captured: 10, remaining: 20 },
      { status: 'CAPTURED', captured: 35, remaining: 0, closedAt: events[5]?.timestamp },
    ])
    expect([events[0]?.timestamp, events[7]?.timestamp]).toEqual([made.createdAt, voided.closedAt!])
    const last = await app.text()
    for (const earlier of [first, second, third]) expect(last.startsWith(earlier.slice(0, -1))).toBe(true)
  })

  test('a hold that expires is reported when it is closed, before the debit that found it expired, and once', async () => {
    const { app, serviceUserId } = await openShop()
    const swept = await placed(app.holds.place(serviceUserId, 30, { expiresIn: 60 }))
    await letHoldsAge(opened, 61)
    await sweepHolds(opened)
    await sweepHolds(opened)
    const found = await placed(app.holds.place(serviceUserId, 100, { expiresIn: 60 }))
    await letHoldsAge(opened, 61)
    expect((await app.client.debit(serviceUserId, 100)).status).toBe(200)
    await sweepHolds(opened)
    const events = await app.next()
    expect(events.map(({ type, data }) => [type, 'id' in data && data.id])).toEqual([
      ['hold.created', swept.id],
      ['hold.expired', swept.id],
      ['hold.created', found.id],
      ['hold.expired', found.id],
      ['wallet.debited', expect.stringMatching(/^txn_/)],
    ])
    const { data, timestamp } = events[1] as Extract<BillfoldEvent, { data: Hold }>
    expect(data).toMatchObject({ status: 'EXPIRED', amount: 30, captured: 0, remaining: 0 })
    expect(data.closedAt).toBe(data.expiresAt)
    expect(Date.parse(timestamp)).toBeGreaterThan(Date.parse(data.expiresAt))
  })

  test('a hold that lasts longer than a day is reported a day before its end, once, and again after an extension', async () => {
    const { app, serviceUserId } = await openShop()
    const long = await placed(app.holds.place(serviceUserId, 10, { expiresIn: 3 * day }))
    const short = await placed(app.holds.place(serviceUserId, 5, { expiresIn: day }))
    await app.next()
    const pass = async (seconds: number) => {
      await letHoldsAge(opened, seconds)
      await sweepHolds(opened)
      await sweepHolds(opened)
      return (await app.next()).map(({ type, data }) => [type, (data as HoldBody).id, (data as HoldBody).remaining])
    }
    expect(await pass(day - 60)).toEqual([])
    expect(await pass(day - 60)).toEqual([['hold.expired', short.id, 0]])
    expect(await pass(180)).toEqual([['hold.expiring', long.id, 10]])
    expect(await pass(3_600)).toEqual([])
    // Its new end is a day and an hour away: the piece of work, due at its old end, comes earlier.
    await placed(app.holds.extend(long.id, day + 3_600))
    expect(await app.types()).toEqual(['hold.extended'])
    expect(await pass(3_500)).toEqual([])
    expect(await pass(200)).toEqual([['hold.expiring', long.id, 10]])
    // Extended by less than a day from now: there is no time for another notice.
    await letHoldsAge(opened, day - 600)
    await placed(app.holds.extend(long.id, 7_200))
    expect(await app.types()).toEqual(['hold.extended'])
    expect(await pass(3_600)).toEqual([])
    expect(await pass(3_700)).toEqual([['hold.expired', long.id, 0]])
    expect((await app.holds.read(long.id)).body['hold']).toMatchObject({ status: 'EXPIRED' })
  })

  test('a service that was down until the end reports the end, and no notice before it', async () => {
    const { app, serviceUserId } = await openShop()
    await app.holds.place(serviceUserId, 10, { expiresIn: 3 * day })
    await letHoldsAge(opened, 3 * day)
    await sweepHolds(opened)
    expect(await app.types()).toEqual(['hold.created', 'hold.expired'])
  })

  test('an operator’s void is reported', async () => {
    const { app, serviceUserId, userId } = await openShop()
    const { id } = await placed(app.holds.place(serviceUserId, 10))
    await opened.service.writer.postHold({
      by: { walletId: userId },
      amountMinor: 0n,
      isReversal: false,
      referenceKey: parseHoldId(id)!,
      counterAccount: '',
      referenceType: '',
      referenceId: '',
      description: null,
      hold: { kind: 'void', holdId: parseHoldId(id)!, actor: 'operator:ann', reason: 'Lost parcel' },
    })
    const [, voided] = await app.next()
    expect(voided).toMatchObject({ type: 'hold.voided', data: { id, status: 'VOIDED', remaining: 0 } })
    expect(JSON.stringify(voided)).not.toContain('ann')
  })

  test('events can be chosen by type', async () => {
    const { app, serviceUserId } = await openShop()
    const { id } = await placed(app.holds.place(serviceUserId, 10))
    await app.holds.capture(id)
    const chosen = await app.events({ types: 'hold.captured,wallet.debited' })
    expect(chosen.map(({ type }) => type)).toEqual(['wallet.debited', 'hold.captured'])
    const selected = await selectEvents(opened.service, app.clientId, { types: ['hold.captured'], limit: 5 })
    expect(selected.events).toEqual(chosen.slice(1))
  })

  test('steps of many holds in one batch keep the order of each wallet', async () => {
    const app = callsOf(await newAppWithEvents(opened.service))
    const users = await Promise.all(Array.from({ length: 4 }, () => newUser(opened.service, app)))
    await Promise.all(users.map(({ serviceUserId }) => app.client.credit(serviceUserId, 100)))
    await app.next()
    const replies = await Promise.all(
      Array.from({ length: 120 }, (_, i) => app.holds.place(users[i % 4]!.serviceUserId, 1)),
    )
    await Promise.all(replies.map((reply) => app.holds.capture(holdOf(reply).id)))
    const events = await app.next()
    expect(events).toHaveLength(360)
    for (const { serviceUserId } of users) {
      const own = events.filter(({ data }) => 'serviceUserId' in data && data.serviceUserId === serviceUserId)
      const entries = own.flatMap(({ data }) => ('sequence' in data ? [data.sequence] : []))
      expect(entries).toEqual(Array.from({ length: 30 }, (_, i) => i + 2))
      // Each capture follows its own entry: both have the reference of the hold.
      const captures = own.flatMap((event, i) =>
        event.type === 'hold.captured' ? [[own[i - 1]!, event] as const] : [],
      )
      expect(captures).toHaveLength(30)
      for (const [before, { data }] of captures)
        expect([before.type, (before.data as HoldBody)['referenceId']]).toEqual([
          'wallet.debited',
          (data as HoldBody)['referenceId'],
        ])
    }
  })
})

const byId = (one: HoldBody, other: HoldBody) => (one.id < other.id ? -1 : 1)

test('new holds and debits of one batch are reported together, in rows that are stored in one piece', async () => {
  const app = callsOf(await newAppWithEvents(opened.service))
  const users = await Promise.all(Array.from({ length: 3 }, () => newUser(opened.service, app)))
  await Promise.all(users.map(({ serviceUserId }) => app.client.credit(serviceUserId, 100)))
  await app.next()
  const calls = Array.from({ length: 150 }, (_, i) => {
    const { serviceUserId } = users[i % 3]!
    return i % 2 === 0 ? app.holds.place(serviceUserId, 1, { expiresIn: 3 * day }) : app.client.debit(serviceUserId, 1)
  })
  const replies = await Promise.all(calls)
  const made = replies.filter((_, i) => i % 2 === 0).map(holdOf)
  const events = await app.next()
  const created = events.filter(({ type }) => type === 'hold.created')
  const reported = created.map(({ data }): HoldBody => {
    const { serviceUserId: _, ...hold } = data as HoldBody
    return hold
  })
  expect(reported.toSorted(byId)).toEqual(made.toSorted(byId))
  expect(events).toHaveLength(150)
  for (const { serviceUserId } of users) {
    const own = events.filter(({ data }) => 'serviceUserId' in data && data.serviceUserId === serviceUserId)
    const entries = own.flatMap(({ data }) => ('sequence' in data ? [data.sequence] : []))
    expect(entries).toEqual(Array.from({ length: 25 }, (_, i) => i + 2))
  }
  const { rows } = await opened.service.db.pool.query(
    `select max(cardinality(link_ids))::int as most from journal where client_id = $1 and hold_ids is not null`,
    [app.clientId],
  )
  expect(rows[0]!.most).toBeWithin(1, 41)
  const { rows: noticed } = await opened.service.db.pool.query(
    `select distinct expires_at - notice_at = interval '1 day' as is_a_day from holds where client_id = $1`,
    [app.clientId],
  )
  expect(noticed).toEqual([{ is_a_day: true }])
})

describe('it reports nothing else', () => {
  test('a repeat, a refusal and an extension that changes nothing are no events', async () => {
    const { app, serviceUserId } = await openShop()
    const asked = { referenceType: 'ORDER', referenceId: 'again', expiresIn: 3_600 }
    const { id } = await placed(app.holds.place(serviceUserId, 10, asked))
    expect((await app.holds.place(serviceUserId, 10, asked)).body['replayed']).toBe(true)
    expect((await app.holds.place(serviceUserId, 1_000)).status).toBe(400)
    await placed(app.holds.extend(id, 60))
    await app.holds.capture(id)
    expect((await app.holds.capture(id)).body['replayed']).toBe(true)
    expect((await app.holds.void(id)).status).toBe(409)
    expect(await app.types()).toEqual(['hold.created', 'wallet.debited', 'hold.captured'])
  })

  test('another app with a link to the wallet sees nothing of a hold, its capture or its end', async () => {
    const { app, serviceUserId, userId } = await openShop()
    const other = callsOf(await newAppWithEvents(opened.service))
    const otherUser = await linkUser(opened.service, other, userId)
    await other.next()
    const captured = await placed(app.holds.place(serviceUserId, 10))
    await app.holds.capture(captured.id)
    await app.holds.place(serviceUserId, 10, { expiresIn: 60 })
    await letHoldsAge(opened, 61)
    // The debit of the other app closes the expired hold of this one.
    await other.client.debit(otherUser, 90)
    expect(await other.types()).toEqual(['wallet.debited'])
    expect(await app.types()).toEqual([
      'hold.created',
      'wallet.debited',
      'hold.captured',
      'hold.created',
      'hold.expired',
    ])
  })

  test('an app without events has none, and what happened before they were switched on is never reported', async () => {
    const app = callsOf(await newApp(opened.service))
    const { serviceUserId } = await newUser(opened.service, app)
    await app.client.credit(serviceUserId, 100)
    const { id } = await placed(app.holds.place(serviceUserId, 10, { expiresIn: 3 * day }))
    await placed(app.holds.extend(id, 4 * day))
    await placed(app.holds.place(serviceUserId, 10, { expiresIn: 60 }))
    await letHoldsAge(opened, 61)
    await sweepHolds(opened)
    await setAppEvents(opened.service, operator, app.clientId, true)
    const captured = holdOf(await app.holds.capture(id))
    const [ping, debited, event] = await app.next()
    expect([ping?.type, debited?.type, event?.type]).toEqual(['test.ping', 'wallet.debited', 'hold.captured'])
    expect(event?.data).toEqual(about(serviceUserId, captured))
  })
})

describe('after a disconnect', () => {
  test('the holds that the app still has are reported until they end, with the last serviceUserId', async () => {
    const { app, serviceUserId, userId } = await openShop()
    const [one, two] = [
      await placed(app.holds.place(serviceUserId, 10)),
      await placed(app.holds.place(serviceUserId, 20)),
    ]
    const three = await placed(app.holds.place(serviceUserId, 30, { expiresIn: 60 }))
    await app.next()
    await updateLinkDisconnected(opened.service.db.pool, userId, serviceUserId)
    await app.holds.capture(one.id)
    await app.holds.void(two.id)
    await letHoldsAge(opened, 61)
    await sweepHolds(opened)
    const events = await app.next()
    expect(
      events.map(({ type, data }) => [type, (data as HoldBody)['serviceUserId'], (data as HoldBody)['amount']]),
    ).toEqual([
      ['link.disconnected', serviceUserId, undefined],
      ['wallet.debited', serviceUserId, 10],
      ['hold.captured', serviceUserId, 10],
      ['hold.voided', serviceUserId, 20],
      ['hold.expired', serviceUserId, 30],
    ])
    expect(events[4]?.data).toMatchObject({ id: three.id })
  })

  test('a user who comes back has a new serviceUserId from then on, and earlier events keep theirs', async () => {
    const { app, serviceUserId, userId } = await openShop()
    const { id } = await placed(app.holds.place(serviceUserId, 10))
    const before = await app.text()
    await updateLinkDisconnected(opened.service.db.pool, userId, serviceUserId)
    const again = await linkUser(opened.service, app, userId)
    await app.next()
    await app.holds.capture(id)
    const captured = await app.next()
    expect(captured.map(({ data }) => (data as HoldBody)['serviceUserId'])).toEqual([again, again])
    expect((await app.text()).startsWith(before.slice(0, -1))).toBe(true)
  })
})
