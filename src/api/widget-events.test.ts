import { afterAll, beforeAll, beforeEach, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { newClient, type Client } from '../../test/client.ts'
import { holdClient, holdOf, letHoldsAge, sweepHolds } from '../../test/holds.ts'
import { newPage, readEvents, type Page } from '../../test/page.ts'
import { linkUser, newApp, newUser, newUsers, openTestService, operator, type TestService } from '../../test/service.ts'
import { letPass } from '../../test/time.ts'
import type { SessionEndReason } from '../../sdk/contract.ts'
import { setAppActive } from '../actions/apps/manage-apps.ts'
import { freezeWallet } from '../actions/money/manage-wallets.ts'
import { hashSecret, newDeviceToken } from '../actions/tokens.ts'
import { findSession } from '../store/people/widget-sessions.ts'
import { deviceCookieName } from './widget-device.ts'

setDefaultTimeout(240_000)

let opened: TestService
let credentials: { clientId: string; clientSecret: string }
let client: Client
let page: Page
let user: { userId: string; serviceUserId: string }
const streams: { cancel: () => Promise<void> }[] = []

beforeAll(async () => {
  opened = await openTestService()
  credentials = await newApp(opened.service)
  client = newClient(opened.app.fetch, credentials)
  page = newPage(opened.app.fetch)
})
beforeEach(async () => {
  await Promise.all(streams.splice(0).map((stream) => stream.cancel()))
  user = await newUser(opened.service, credentials)
})
afterAll(() => opened.close())

const newSession = async (app = credentials, serviceUserId = user.serviceUserId) => {
  const { body } = await client.post('/api/widget/session', { ...app, serviceUserId })
  return String(body['sessionToken'])
}
const open = (session: string, { app } = opened) =>
  app.fetch(new Request(`http://billfold.test/api/widget/events?session=${session}`))
const watch = async (session: string) => {
  const stream = readEvents(await open(session))
  streams.push(stream)
  return stream
}
/** Opens a stream with a session that expires after the given time. */
const openWith = async (leftMs: number) => {
  const session = await newSession()
  await letPass(opened.service.db.pool, 300_000 - leftMs)
  return await open(session)
}
const wallet = (balance: number, sequence: number, isActive = true, held = 0) => ({
  event: 'wallet',
  data: { balance, available: balance - held, held, sequence, isActive },
})

const endedFor = (reason: SessionEndReason) => ({ event: 'ended', data: { code: 'INVALID_SESSION', reason } })

describe('it works', () => {
  test('streams that connect together share the reads of their sessions, with a device and without', async () => {
    const users = await newUsers(opened.service, credentials, 64)
    const sessions = await Promise.all(users.map(({ serviceUserId }) => newSession(credentials, serviceUserId)))
    const { pool } = opened.service.db.widget
    const { within } = pool
    const shared: number[] = []
    const counted = (limitMs: number) => {
      const { query } = within(limitMs)
      return {
        query: (asked: { text: string; name?: string; values: [Buffer[]] }) => {
          if (asked.name === 'find-sessions') shared.push(asked.values[0].length)
          return query(asked)
        },
      }
    }
    Object.assign(pool, { within: counted })
    const opening = sessions.map(async (session, i) => {
      const headers = i % 2 === 0 ? {} : { cookie: `${deviceCookieName}=${newDeviceToken()}` }
      const url = `http://billfold.test/api/widget/events?session=${session}`
      const stream = readEvents(await opened.app.fetch(new Request(url, { headers })))
      streams.push(stream)
      return await stream.next()
    })
    expect(await Promise.all(opening)).toEqual(sessions.map(() => wallet(0, 0)))
    Object.assign(pool, { within })
    expect(shared.reduce((sum, each) => sum + each, 0)).toBe(64)
    expect(shared.length).toBeLessThanOrEqual(16)
    expect(Math.max(...shared)).toBeLessThanOrEqual(32)
  })

  test('the wallet comes at once, and again after each change', async () => {
    const { next } = await watch(await newSession())
    expect(await next()).toEqual(wallet(0, 0))
    await client.credit(user.serviceUserId, 10)
    expect(await next()).toEqual(wallet(10, 1))
    await client.debit(user.serviceUserId, 2.5)
    expect(await next()).toEqual(wallet(7.5, 2))
  })

  test('a change that another process makes is seen as well', async () => {
    const { next } = await watch(await newSession())
    expect(await next()).toEqual(wallet(0, 0))
    // After the check that opening a stream makes, so that the regular poll finds the change.
    await Bun.sleep(300)
    await opened.service.db.pool.query(`update wallets set frozen_for = 'operator' where id = $1`, [user.userId])
    expect(await next()).toEqual(wallet(0, 0, false))
  })

  test('a hold, its capture, its release and its expiry are seen, made here or by another process', async () => {
    await client.credit(user.serviceUserId, 50)
    const { next } = await watch(await newSession())
    expect(await next()).toEqual(wallet(50, 1))
    const holds = holdClient(client, credentials)
    const placed = holdOf(await holds.place(user.serviceUserId, 18))
    expect(await next()).toEqual(wallet(50, 1, true, 18))
    await holds.capture(placed.id, { amount: 10 })
    expect(await next()).toEqual(wallet(40, 2))
    const voided = holdOf(await holds.place(user.serviceUserId, 3))
    expect(await next()).toEqual(wallet(40, 2, true, 3))
    await holds.void(voided.id)
    expect(await next()).toEqual(wallet(40, 2))
    await holds.place(user.serviceUserId, 4, { expiresIn: 60 })
    expect(await next()).toEqual(wallet(40, 2, true, 4))
    await letHoldsAge(opened, 61)
    await sweepHolds(opened)
    expect(await next()).toEqual(wallet(40, 2))
    // As if another process had done it: without a poke, found by the regular poll.
    const { live } = opened.service
    const { poke } = live
    Object.assign(live, { poke: () => undefined })
    try {
      await holds.place(user.serviceUserId, 6)
      expect(await next()).toEqual(wallet(40, 2, true, 6))
    } finally {
      Object.assign(live, { poke })
    }
  })

  test('a frozen wallet is reported as frozen', async () => {
    const { next } = await watch(await newSession())
    await next()
    await freezeWallet(opened.service, operator, user.userId, 'a look at it')
    expect(await next()).toEqual(wallet(0, 0, false))
  })

  test('a thousand changes come as a few events, and the last of them is the last state', async () => {
    await client.credit(user.serviceUserId, 1000)
    const { next } = await watch(await newSession())
    await Promise.all(Array.from({ length: 1000 }, () => client.debit(user.serviceUserId, 1)))
    let events = 0
    for (let last = await next(); last?.data['balance'] !== 0; last = await next()) events++
    expect(events).toBeLessThan(200)
  })

  test('the stream of a wallet never goes back to what was read before its newest event', async () => {
    const { service } = opened
    const { live } = service
    let onCheck: Parameters<typeof live.watch>[0]['onCheck'] | undefined
    const { watch: watchLive } = live
    const watching: typeof watchLive = (watcher) => ((onCheck = watcher.onCheck), watchLive(watcher))
    Object.assign(live, { watch: watching })
    const session = await newSession()
    const { next } = await watch(session)
    Object.assign(live, { watch: watchLive })
    expect(await next()).toEqual(wallet(0, 0))
    const early = await findSession(service.db.pool, hashSecret(session))
    await client.credit(user.serviceUserId, 5)
    expect(await next()).toEqual(wallet(5, 1))
    onCheck!(early)
    await client.credit(user.serviceUserId, 1)
    expect(await next()).toEqual(wallet(6, 2))
  })

  test('the end of the session is announced 45 seconds before, and then comes', async () => {
    const session = await newSession()
    await letPass(opened.service.db.pool, 256_000)
    const { next } = await watch(session)
    expect(await next()).toEqual(wallet(0, 0))
    expect((await next())!.event).toBe('expiring')
    await letPass(opened.service.db.pool, 45_000)
    expect(await next()).toEqual({ event: 'expired', data: {} })
    expect(await next()).toBeUndefined()
  })

  test('a session without changes expires by its own timer', async () => {
    // A second is left, or more if the machine needs more to open the stream.
    let response = await openWith(1_000)
    for (let leftMs = 2_000; response.status === 401; leftMs *= 2) response = await openWith(leftMs)
    const { next, cancel } = readEvents(response)
    streams.push({ cancel })
    expect([(await next())!.event, (await next())!.event, (await next())!.event, await next()]).toEqual([
      'wallet',
      'expiring',
      'expired',
      undefined,
    ])
  })
})

describe('it ends at once', () => {
  test('a live stream ends at once when the user logs out', async () => {
    const session = await newSession()
    const { next } = await watch(session)
    await next()
    await page.post(`/api/widget/logout?session=${session}`, {})
    expect([await next(), await next()]).toEqual([endedFor('signed-out'), undefined])
  })

  test('a live stream ends at once when the app is disconnected', async () => {
    const session = await newSession()
    const { next } = await watch(session)
    await next()
    await page.post(`/api/widget/links/disconnect?session=${session}`, { clientId: credentials.clientId })
    expect([await next(), await next()]).toEqual([endedFor('disconnected'), undefined])
  })

  test('a live stream ends at once when the app is deactivated, and only for that app', async () => {
    const other = await newApp(opened.service)
    const theirs = await watch(await newSession(other, await linkUser(opened.service, other, user.userId)))
    const ours = await watch(await newSession())
    await Promise.all([theirs.next(), ours.next()])
    await setAppActive(opened.service, operator, other.clientId, false)
    expect([await theirs.next(), await theirs.next()]).toEqual([endedFor('app-off'), undefined])
    await client.credit(user.serviceUserId, 1)
    expect(await ours.next()).toEqual(wallet(1, 1))
  })
})

describe('it is safe', () => {
  test('a session has at most six streams, and one that was closed makes room', async () => {
    const session = await newSession()
    const six = await Promise.all(Array.from({ length: 6 }, () => watch(session)))
    const seventh = await open(session)
    expect([seventh.status, seventh.headers.has('retry-after')]).toEqual([429, true])
    await six[0]!.cancel()
    expect((await (await watch(session)).next())!.event).toBe('wallet')
  })

  test('a stream that its reader closed is forgotten', async () => {
    const stream = await watch(await newSession())
    await stream.next()
    expect(opened.service.live.count()).toBe(1)
    await stream.cancel()
    expect(opened.service.live.count()).toBe(0)
  })

  test('a reader that stops reading is disconnected, so its events do not fill the memory', async () => {
    const session = await newSession()
    const response = await open(session)
    // Changes between two polls are one event, so as many are made as it takes.
    for (let i = 0; i < 700 && opened.service.live.count() > 0; i++) {
      await client.credit(user.serviceUserId, 1)
      await Bun.sleep(60)
    }
    expect(opened.service.live.count()).toBe(0)
    await response.body?.cancel()
  })

  test('the stream is not cached, framed or open to other sites', async () => {
    const response = await open(await newSession())
    const { headers } = response
    expect(headers.get('content-type')).toBe('text/event-stream')
    expect(headers.get('cache-control')).toBe('no-store')
    expect(headers.get('x-frame-options')).toBe('DENY')
    expect(headers.has('access-control-allow-origin')).toBe(false)
    await response.body!.cancel()
  })

  test('when the process shuts down, live streams end and no new one starts', async () => {
    const other = await openTestService()
    const app = await newApp(other.service)
    const { serviceUserId } = await newUser(other.service, app)
    const made = await newClient(other.app.fetch, app).post('/api/widget/session', { ...app, serviceUserId })
    const { next } = readEvents(await open(String(made.body['sessionToken']), other))
    expect((await next())!.event).toBe('wallet')
    other.service.live.close()
    expect(await next()).toBeUndefined()
    expect((await open(String(made.body['sessionToken']), other)).status).toBe(429)
    await other.close()
  })
})
