/** The feed of events: what an app reads, what it never reads, and what it may ask for. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { newClient } from '../client.ts'
import { eventually } from '../eventually.ts'
import { newAppWithEvents, numberAll } from './rig.ts'
import { linkUser, newApp, newUser, openTestService, operator, type TestService } from '../service.ts'
import { letPass } from '../time.ts'
import { setAppActive, setAppEvents } from '../../src/actions/apps/manage-apps.ts'
import { maxWaitingPerApp } from '../../src/actions/events/event-waits.ts'
import { freezeWallet } from '../../src/actions/money/manage-wallets.ts'
import { postForService } from '../../src/actions/money/post.ts'
import { createUser } from '../../src/actions/people/create-user.ts'
import { deleteAccount } from '../../src/actions/people/delete-account.ts'
import { checkSession, createSession } from '../../src/actions/people/open-session.ts'
import { deleteExpired } from '../../src/store/cleanup.ts'
import { journalPing } from '../../src/store/events/journal.ts'
import { updateLinkDisconnected } from '../../src/store/links.ts'

setDefaultTimeout(60_000)

let opened: TestService
beforeAll(async () => void (opened = await openTestService()))
afterAll(() => opened.close())

type Event = { id: string; number: number; type: string; timestamp: string; data: Record<string, unknown> }

/** An app with events and its calls. */
async function openApp() {
  const credentials = await newAppWithEvents(opened.service)
  const client = newClient(opened.app.fetch, credentials)
  const read = (query: Record<string, string> = {}) => client.get('/api/server/events', query)
  const events = async (query: Record<string, string> = {}) => {
    await numberAll(opened.service)
    return (await read(query)).body['events'] as Event[]
  }
  const types = async () => (await events()).map(({ type }) => type)
  return { ...credentials, credentials, client, read, events, types }
}

let count = 0
const move = (
  walletId: string,
  amountMinor: bigint,
  referenceType: string,
  counterAccount: Parameters<typeof postForService>[1]['counterAccount'] = 'cards',
) =>
  postForService(opened.service, {
    walletId,
    counterAccount,
    amountMinor,
    isReversal: amountMinor < 0n,
    referenceType,
    referenceId: `move-${++count}`,
    description: null,
  })

describe('it works', () => {
  test('a movement is the transaction of the wallet and the user, numbered, oldest first, and the same bytes at every read', async () => {
    const app = await openApp()
    const { serviceUserId } = await newUser(opened.service, app)
    await app.client.credit(serviceUserId, 50, 'first')
    await app.client.debit(serviceUserId, 19.99, 'second')
    const [ping, link, credit, debit] = await app.events()
    expect([ping?.type, ping?.data]).toEqual(['test.ping', {}])
    expect([link?.type, link?.data]).toEqual(['link.created', { serviceUserId }])
    const { transactions } = (await app.client.wallet(serviceUserId)).body as { transactions: { createdAt: string }[] }
    expect([debit?.data, credit?.data]).toEqual(transactions.map((each) => ({ serviceUserId, ...each })))
    expect([credit?.type, debit?.type]).toEqual(['wallet.credited', 'wallet.debited'])
    expect([credit?.number, debit?.number]).toEqual([3, 4])
    expect(debit?.timestamp).toBe(transactions[0]!.createdAt)
    const ids = (await app.events()).map(({ id }) => id)
    expect(ids.every((id) => /^evt_[0-9a-f]{32}$/.test(id)) && new Set(ids).size).toBe(4)
    const text = async (query: Record<string, string>) => JSON.stringify((await app.read(query)).body['events'])
    expect(await text({ after: '2' })).toBe(JSON.stringify([credit, debit]))
    expect(await text({ after: '2', limit: '1' })).toBe(JSON.stringify([credit]))
    expect(await text({ after: '3' })).toBe(JSON.stringify([debit]))
  })

  test('the service’s movements have their types, whichever labels an app uses', async () => {
    const app = await openApp()
    const { userId, serviceUserId } = await newUser(opened.service, app)
    await move(userId, 1_000n, 'TOPUP')
    await move(userId, 100n, 'BONUS', 'bonus')
    await move(userId, -300n, 'TOPUP_REFUND')
    await move(userId, 300n, 'TOPUP_REFUND_RETURNED')
    await move(userId, 5n, 'CORRECTION', 'adjustments')
    await move(userId, 5n, 'CORRECTION', `app:${app.clientId}`)
    await app.client.post('/api/server/wallet/credit', {
      ...app.credentials,
      serviceUserId,
      amount: 1,
      referenceType: 'TOPUP',
      referenceId: 'mine',
    })
    await move(userId, -2_000n, 'TOPUP_DISPUTE')
    await move(userId, 2_000n, 'TOPUP_DISPUTE_RETURNED')
    expect((await app.types()).slice(2)).toEqual([
      'wallet.topped_up',
      'wallet.credited',
      'wallet.refunded',
      'wallet.refunded',
      'wallet.corrected',
      'wallet.corrected',
      'wallet.credited',
      'wallet.disputed',
      'wallet.frozen',
      'wallet.disputed',
      'wallet.unfrozen',
    ])
  })

  test('a debit that the careful lane posts is reported once, and a refused one is not', async () => {
    const app = await openApp()
    const { serviceUserId } = await newUser(opened.service, app)
    await app.client.credit(serviceUserId, 10)
    // In one list, one of which is refused: the careful lane decides it.
    const operation = { serviceUserId, referenceType: 'LIST', direction: 'debit' }
    const operations = [6, 6, 4].map((amount, i) => ({ ...operation, amount, referenceId: `list-${i}` }))
    await app.client.post('/api/server/wallet/bulk', { ...app.credentials, operations })
    await app.client.post('/api/server/wallet/bulk', { ...app.credentials, operations })
    expect((await app.events()).slice(3).map(({ data }) => [data['amount'], data['sequence']])).toEqual([
      [6, 2],
      [4, 3],
    ])
  })

  test('types leaves out the others, and last passes over them', async () => {
    const app = await openApp()
    const { serviceUserId } = await newUser(opened.service, app)
    await app.client.credit(serviceUserId, 1)
    await numberAll(opened.service)
    const { body } = await app.read({ types: 'link.created,user.deleted', limit: '3' })
    expect([(body['events'] as Event[]).map(({ number }) => number), body['last'], body['oldest']]).toEqual([[2], 3, 1])
    expect((await app.read({ types: 'user.deleted', after: '1' })).body).toEqual({ events: [], last: 3, oldest: 1 })
  })

  test('a call that waits is answered when an event of its app comes, and holds no connection', async () => {
    const [app, other] = [await openApp(), await openApp()]
    const { serviceUserId } = await newUser(opened.service, app)
    await app.events()
    await other.events()
    const { pool } = opened.service.db
    const busyBefore = pool.totalCount - pool.idleCount
    const waiting = app.read({ after: '2', wait: '20' })
    const silent = other.read({ after: '1', wait: '20' })
    await eventually(() => opened.service.eventWaits.count(), 2)
    await eventually(() => pool.totalCount - pool.idleCount <= busyBefore, true)
    await app.client.credit(serviceUserId, 1)
    expect(((await waiting).body['events'] as Event[]).map(({ number }) => number)).toEqual([3])
    expect(opened.service.eventWaits.count()).toBe(1)
    await newUser(opened.service, other)
    await numberAll(opened.service)
    expect(((await silent).body['events'] as Event[]).map(({ number }) => number)).toEqual([2])
    expect((await other.read({ after: '2', wait: '1' })).body).toEqual({ events: [], last: 2, oldest: 1 })
    expect(opened.service.eventWaits.count()).toBe(0)
  })
})

describe('it keeps apps and users apart', () => {
  test('an app reads neither an entry nor an id of another app, with the same user', async () => {
    const [one, two] = [await openApp(), await openApp()]
    const { userId, serviceUserId } = await newUser(opened.service, one)
    const theirs = await linkUser(opened.service, two, userId)
    await one.client.credit(serviceUserId, 10, 'secret-one')
    await two.client.debit(theirs, 3, 'secret-two')
    await move(userId, 500n, 'TOPUP')
    await move(userId, 5n, 'CORRECTION', `app:${two.clientId}`)
    const texts = [JSON.stringify(await one.events()), JSON.stringify(await two.events())] as const
    expect(await one.types()).toEqual(['test.ping', 'link.created', 'wallet.credited', 'wallet.topped_up'])
    expect(await two.types()).toEqual([
      'test.ping',
      'link.created',
      'wallet.debited',
      'wallet.topped_up',
      'wallet.corrected',
    ])
    for (const foreign of [theirs, 'secret-two', two.clientId, userId, 'Lovelace', '@example.com'])
      expect(texts[0]).not.toContain(foreign)
    for (const foreign of [serviceUserId, 'secret-one', one.clientId, userId, 'Lovelace', '@example.com'])
      expect(texts[1]).not.toContain(foreign)
    const ids = [...(await one.events()), ...(await two.events())].map(({ id }) => id)
    expect(new Set(ids).size).toBe(ids.length)
  })

  test('after a disconnect the service’s movements are not reported, and what was before it stays; a new link has a new id', async () => {
    const app = await openApp()
    const { userId, serviceUserId } = await newUser(opened.service, app)
    await app.client.credit(serviceUserId, 1)
    await updateLinkDisconnected(opened.service.db.pool, userId, serviceUserId)
    await move(userId, 500n, 'TOPUP')
    await freezeWallet(opened.service, operator, userId, 'test')
    const again = await linkUser(opened.service, app, userId)
    await move(userId, 600n, 'TOPUP')
    const events = await app.events({ after: '1' })
    expect(events.map(({ type, data }) => [type, data['serviceUserId'], data['amount']])).toEqual([
      ['link.created', serviceUserId, undefined],
      ['wallet.credited', serviceUserId, 1],
      ['link.disconnected', serviceUserId, undefined],
      ['link.created', again, undefined],
      ['wallet.topped_up', again, 6],
    ])
  })

  test('a deleted user is reported to each connected app once, without a name', async () => {
    const { service } = opened
    const [one, two] = [await openApp(), await openApp()]
    const password = 'a password of a user'
    const person = { email: `${crypto.randomUUID()}@example.com`, password, firstName: 'Ada', lastName: 'Lovelace' }
    const { userId, serviceUserId } = (await createUser(service, operator, { ...person, clientId: one.clientId }))!
    const theirs = await linkUser(service, two, userId)
    const app = (await service.apps.find(one.clientId))!
    const created = await createSession(service, app, { serviceUserId: serviceUserId!, parentOrigin: null })
    if (created.kind !== 'created') throw new Error(created.kind)
    const { session } = await checkSession(service, created.sessionToken)
    expect(await deleteAccount(service, session!, { password, address: '127.0.0.1' })).toEqual({ kind: 'deleted' })
    const last = async ({ events }: typeof one) => (await events()).slice(2).map(({ type, data }) => ({ type, data }))
    expect(await last(one)).toEqual([{ type: 'user.deleted', data: { serviceUserId } }])
    expect(await last(two)).toEqual([{ type: 'user.deleted', data: { serviceUserId: theirs } }])
  })

  test('what happens while events are off is never reported, and the numbers go on', async () => {
    const app = await openApp()
    const { userId, serviceUserId } = await newUser(opened.service, app)
    await app.client.credit(serviceUserId, 1)
    await app.events()
    await setAppEvents(opened.service, operator, app.clientId, false)
    await app.client.credit(serviceUserId, 2)
    await move(userId, 500n, 'TOPUP')
    await freezeWallet(opened.service, operator, userId, 'test')
    expect(await app.read()).toMatchObject({ status: 403, body: { code: 'EVENTS_OFF' } })
    await setAppEvents(opened.service, operator, app.clientId, true)
    await app.client.credit(serviceUserId, 3)
    expect((await app.events({ after: '2' })).map(({ number, type, data }) => [number, type, data['amount']])).toEqual([
      [3, 'wallet.credited', 1],
      [4, 'test.ping', undefined],
      [5, 'wallet.credited', 3],
    ])
  })
})

describe('it refuses', () => {
  test('an app without events, and says so', async () => {
    const off = newClient(opened.app.fetch, await newApp(opened.service))
    expect(await off.get('/api/server/events', {})).toMatchObject({ status: 403, body: { code: 'EVENTS_OFF' } })
  })

  test('a secret without wallet:read', async () => {
    const writer = newClient(opened.app.fetch, await newApp(opened.service, { scopes: ['wallet:write'] }))
    expect(await writer.get('/api/server/events', {})).toMatchObject({
      status: 403,
      body: { code: 'INSUFFICIENT_SCOPE' },
    })
  })

  const bad: readonly (readonly [string, string])[] = [
    ...['', '-1', '1.5', 'x', '1e3', '9007199254740993', '\u0000', '٣', "0'--"].map((text) => ['after', text] as const),
    ...['', '0', '1001', '-5', 'all', '\u0000'].map((text) => ['limit', text] as const),
    ...['', '21', '-1', '0.5', 'x', '\u0000'].map((text) => ['wait', text] as const),
    ...['', ',', 'wallet', 'wallet.debited,', 'wallet.debited,x', 'WALLET.DEBITED', '\u0000', 'x'.repeat(5_000)].map(
      (text) => ['types', text] as const,
    ),
  ]
  test.each(bad)('a wrong %s: %j', async (field, text) => {
    const app = await openApp()
    const { status, body } = await app.read({ [field]: text })
    expect([status, body['code'], Object.keys(body['fields'] ?? {})]).toEqual([400, 'INVALID_REQUEST', [field]])
  })

  test('a number above the last event, which an earlier database may have given', async () => {
    const app = await openApp()
    await app.events()
    expect((await app.read({ after: '2' })).body['fields']).toEqual({
      after: 'is above the last event, which has the number 1',
    })
  })

  test('numbers whose events are gone, with the oldest that is kept; without a number the oldest is first', async () => {
    const app = await openApp()
    const { serviceUserId } = await newUser(opened.service, app)
    await app.client.credit(serviceUserId, 1)
    await app.events()
    const { db } = opened.service
    await letPass(db.pool, 31 * 86_400_000, ['journal', 'event_pages'])
    await app.client.credit(serviceUserId, 2)
    await app.events()
    await deleteExpired(db)
    const { rows } = await db.pool.query('select count(*)::int as count from journal where client_id = $1', [
      app.clientId,
    ])
    expect(rows[0].count).toBe(1)
    for (const after of ['0', '2'])
      expect(await app.read({ after })).toMatchObject({ status: 410, body: { code: 'EVENTS_GONE', oldest: 4 } })
    expect((await app.events({ after: '3' })).map(({ number }) => number)).toEqual([4])
    expect((await app.events()).map(({ number }) => number)).toEqual([4])
    await letPass(db.pool, 31 * 86_400_000, ['journal', 'event_pages'])
    await deleteExpired(db)
    expect((await app.read()).body).toEqual({ events: [], last: 4, oldest: 5 })
  })

  test('what has no number yet is never deleted', async () => {
    const app = await openApp()
    await newUser(opened.service, app)
    const { db } = opened.service
    await db.pool.query(
      `insert into journal (writer, client_id, link_ids, sequences) values (99999, $1, '{null}', '{1}')`,
      [app.clientId],
    )
    await letPass(db.pool, 31 * 86_400_000, ['journal'])
    await deleteExpired(db)
    const { rows } = await db.pool.query('select writer, fact from journal where client_id = $1 order by serial', [
      app.clientId,
    ])
    expect(rows).toEqual([
      { writer: 0, fact: 'test.ping' },
      { writer: 0, fact: 'link.created' },
      { writer: 99_999, fact: null },
    ])
    await db.pool.query('delete from journal where client_id = $1', [app.clientId])
  })

  test('more waiting calls than an app may have, while another app still waits and its own reads go on', async () => {
    const [app, other] = [await openApp(), await openApp()]
    await app.events()
    await other.events()
    const hangUp = new AbortController()
    const wait = (which: typeof app) => {
      const query = new URLSearchParams({ ...which.credentials, after: '1', wait: '20' })
      return opened.app.fetch(new Request(`http://billfold.test/api/server/events?${query}`, { signal: hangUp.signal }))
    }
    const all = Array.from({ length: maxWaitingPerApp }, () => wait(app))
    await eventually(() => opened.service.eventWaits.count(), maxWaitingPerApp)
    expect(await app.read({ after: '1', wait: '20' })).toMatchObject({ status: 429, body: { code: 'RATE_LIMITED' } })
    expect((await app.read({ after: '1' })).status).toBe(200)
    all.push(wait(other))
    await eventually(() => opened.service.eventWaits.count(), maxWaitingPerApp + 1)
    hangUp.abort()
    await Promise.all(all)
    expect(opened.service.eventWaits.count()).toBe(0)
  })

  test('a waiting call whose app is deactivated or whose events are switched off meanwhile', async () => {
    const [app, off] = [await openApp(), await openApp()]
    await app.events()
    await off.events()
    const waiting = [app.read({ after: '1', wait: '20' }), off.read({ after: '1', wait: '20' })]
    await eventually(() => opened.service.eventWaits.count(), 2)
    await setAppActive(opened.service, operator, app.clientId, false)
    await setAppEvents(opened.service, operator, off.clientId, false)
    // An event that another process writes meanwhile ends the wait.
    for (const { clientId } of [app, off]) await journalPing(opened.service.db.pool, clientId)
    await numberAll(opened.service)
    const codes = (await Promise.all(waiting)).map(({ status, body }) => `${status} ${String(body['code'])}`)
    expect(codes).toEqual(['401 INVALID_CLIENT', '403 EVENTS_OFF'])
  })
})
