/** Two services on one database, on machines whose clocks are twelve minutes apart: what ends, ends for both at once. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { generateSync } from 'otplib'
import { rotateSecret } from '../src/actions/apps/manage-apps.ts'
import { takeLimit } from '../src/actions/limits.ts'
import { findSignedInOperator, startSession } from '../src/actions/operators/manage-sessions.ts'
import { requestChange } from '../src/actions/operators/change-operators.ts'
import { createOperator, findInvite } from '../src/actions/operators/manage-operators.ts'
import { getPendingSecret } from '../src/actions/operators/second-factor.ts'
import { confirmSecondFactor } from '../src/actions/operators/sign-in-operator.ts'
import { connectApp } from '../src/actions/people/manage-links.ts'
import { checkSession, createSession } from '../src/actions/people/open-session.ts'
import { createTopup } from '../src/actions/topups/create-topup.ts'
import { resolveTopup } from '../src/work/resolve-topup.ts'
import { runDue } from '../src/work/runner.ts'
import { closeService, openService, type Service } from '../src/actions/service.ts'
import { buildApp } from '../src/app.ts'
import { openLog } from '../src/platform/log.ts'
import { openMetrics } from '../src/platform/metrics.ts'
import { deleteExpired } from '../src/store/cleanup.ts'
import { openDatabase } from '../src/store/connection/database.ts'
import { findTopupByPayment } from '../src/store/topups.ts'
import { newClient } from './client.ts'
import { holdClient, holdOf, letHoldsAge, sweepHolds } from './holds.ts'
import { mailedCode, newEmail, newPage } from './page.ts'
import { newApp, newUser, openTestService, operator, type Credentials, type TestService } from './service.ts'
import { letPass, topupTables } from './time.ts'

const password = 'correct horse battery staple'
const device = { address: '127.0.0.1', browser: 'Test' }

setDefaultTimeout(180_000)

const minuteMs = 60_000
let opened: TestService
let services: { readonly name: string; readonly service: Service; readonly app: TestService['app'] }[]

beforeAll(async () => {
  opened = await openTestService({ CARD_PROCESSOR: 'sandbox' })
  services = [-6, 6].map((minutes) => {
    const db = openDatabase(opened.service.db.connection)
    const now = () => new Date(Date.now() + minutes * minuteMs)
    const log = openLog('debug', (text) => opened.logged.push(text))
    const service = openService({ config: opened.service.config, db, log, metrics: openMetrics(), now })
    return { name: `${minutes} minutes`, service, app: buildApp(service) }
  })
})

afterAll(async () => {
  for (const { service } of services) {
    await closeService(service)
    await service.db.pool.end()
  }
  await opened.close()
})

const pass = async (ms: number) => {
  await letPass(opened.service.db.pool, ms)
  for (const { service } of services) await service.apps.refresh()
}

/** The operator each of them takes the token for. */
const isIn = async (token: string) =>
  await Promise.all(
    services.map(async ({ service }) => await findSignedInOperator(service, token, { isByHand: false })),
  )

/** What each says, by whichever the thing was made. */
const makers = [0, 1]

describe.each(makers)('made by service %d of two whose clocks are apart', (maker) => {
  const made = () => services[maker]!.service

  test('a rotated secret ends for both after its overlap, and not before', async () => {
    const credentials = await newApp(made())
    const { serviceUserId } = await newUser(made(), credentials)
    const ask = async (who: Credentials) =>
      await Promise.all(services.map(async ({ app }) => (await newClient(app.fetch, who).wallet(serviceUserId)).status))
    const { previousEndsAt } = (await rotateSecret(made(), operator, credentials.clientId, '1h'))!
    expect(Math.abs(previousEndsAt.getTime() - Date.now() - 60 * minuteMs)).toBeLessThan(minuteMs)
    await pass(59 * minuteMs)
    expect(await ask(credentials)).toEqual([200, 200])
    await pass(minuteMs)
    expect(await ask(credentials)).toEqual([401, 401])
  })

  test('a hold ends for both at its instant, and the queue of neither closes it before', async () => {
    const credentials = await newApp(made())
    const { serviceUserId } = await newUser(made(), credentials)
    const clients = services.map(({ app }) => newClient(app.fetch, credentials))
    await clients[maker]!.credit(serviceUserId, 100)
    const holders = clients.map((client) => holdClient(client, credentials))
    const { id, createdAt, expiresAt } = holdOf(await holders[maker]!.place(serviceUserId, 60, { expiresIn: 600 }))
    expect(Date.parse(expiresAt) - Date.parse(createdAt)).toBe(10 * minuteMs)
    const seen = async () => {
      for (const { service } of services) await sweepHolds({ service })
      const replies = await Promise.all(holders.map((holder) => holder.read(id)))
      return replies.map((reply) => [holdOf(reply).status, holdOf(reply).remaining])
    }
    await letHoldsAge(opened, 9 * 60)
    expect(await seen()).toEqual([
      ['OPEN', 60],
      ['OPEN', 60],
    ])
    await letHoldsAge(opened, 61)
    const late = await Promise.all(holders.map((holder) => holder.capture(id)))
    expect(late.map(({ body }) => body['code'])).toEqual(['HOLD_EXPIRED', 'HOLD_EXPIRED'])
    expect(await seen()).toEqual([
      ['EXPIRED', 0],
      ['EXPIRED', 0],
    ])
  })

  test('a widget session ends for both after five minutes, and both say how much is left of it', async () => {
    const credentials = await newApp(made())
    const { serviceUserId } = await newUser(made(), credentials)
    const client = newClient(services[maker]!.app.fetch, credentials)
    const { body } = await client.post('/api/widget/session', { ...credentials, serviceUserId })
    const ask = async () =>
      await Promise.all(services.map(async ({ app }) => await newPage(app.fetch).wallet(body['sessionToken'])))
    await pass(4 * minuteMs)
    for (const { status, body: wallet } of await ask()) {
      const leftMs = Date.parse(String(wallet['expiresAt'])) - Date.parse(String(wallet['serverTime']))
      expect([status, Math.round(leftMs / minuteMs)]).toEqual([200, 1])
    }
    await pass(minuteMs)
    for (const { body: refusal } of await ask()) expect(refusal['code']).toBe('SESSION_EXPIRED')
  })

  test('a mailed code makes an account on either until its quarter of an hour is over, and a link code proves it', async () => {
    const { clientId, clientSecret } = await newApp(made())
    const signUp = async () => {
      const email = newEmail()
      const person = { clientId, email, password, firstName: 'Ada', lastName: 'Lovelace' }
      const { status, body } = await newPage(services[maker]!.app.fetch).auth('sign-up', person)
      expect(status).toBe(202)
      return { clientId, email, code: await mailedCode(email, opened.logged), handle: body['handle'] }
    }
    for (const { app } of services) {
      const [early, late] = [await signUp(), await signUp()]
      await pass(14 * minuteMs)
      const confirmed = await newPage(app.fetch).auth('confirm', early)
      expect(confirmed.status).toBe(200)
      await pass(minuteMs)
      expect((await newPage(app.fetch).auth('confirm', late)).body['code']).toBe('INVALID_CODE')
      const verify = { clientId, clientSecret, linkCode: confirmed.body['linkCode'] }
      expect((await newClient(app.fetch, verify).post('/api/server/link/verify', verify)).status).toBe(200)
    }
  })

  test('a link code proves nothing to either after two minutes', async () => {
    const credentials = await newApp(made())
    const { userId } = await newUser(made(), credentials)
    const app = (await made().apps.find(credentials.clientId))!
    const verify = async (index: number, linkCode: string) =>
      (
        await newClient(services[index]!.app.fetch, credentials).post('/api/server/link/verify', {
          ...credentials,
          linkCode,
        })
      ).status
    const codes = [0, 1, 2, 3].map(async () => (await connectApp(made().db.pool, app, userId, '10.0.0.1'))!.linkCode)
    const [one, two, three, four] = (await Promise.all(codes)) as [string, string, string, string]
    await pass(1.5 * minuteMs)
    expect([await verify(0, one), await verify(1, two)]).toEqual([200, 200])
    await pass(0.5 * minuteMs)
    expect([await verify(0, three), await verify(1, four)]).toEqual([400, 400])
  })

  test('an invitation is open for both for a day', async () => {
    const invitation = { kind: 'invite', email: newEmail(), role: 'viewer' } as const
    const asked = await requestChange(made(), { name: 'cli:test', address: null }, invitation, 'command line')
    const token = new URL((asked as { path: string }).path, 'http://billfold.test').searchParams.get('token')!
    const isOpen = async () =>
      await Promise.all(services.map(async ({ service }) => (await findInvite(service, token)) !== undefined))
    await pass(24 * 60 * minuteMs - minuteMs)
    expect(await isOpen()).toEqual([true, true])
    await pass(minuteMs)
    expect(await isOpen()).toEqual([false, false])
  })

  test('an operator is signed in on both until half an hour without a click, and both take the same code', async () => {
    const email = newEmail()
    const id = (await createOperator(made(), operator, { email, name: 'Ada', password, role: 'admin' }))!
    for (const { service } of services) {
      const token = await startSession(made(), made().db.pool, id, 'enrol', device)
      const [before] = await isIn(token)
      const code = generateSync({ secret: await getPendingSecret(service, before!.operator) })
      const [ready] = await isIn(token)
      expect(await confirmSecondFactor(service, ready!, code, device)).toBeDefined()
    }
    const token = await startSession(made(), made().db.pool, id, 'full', device)
    await pass(29 * minuteMs)
    expect((await isIn(token)).map(Boolean)).toEqual([true, true])
    await pass(minuteMs)
    expect((await isIn(token)).map(Boolean)).toEqual([false, false])
  })

  test('a limit is reached on both together, ends for both at once, and the wait is the same', async () => {
    const rule = { name: 'two clocks', limit: 2, windowMs: 10 * minuteMs }
    const take = async (index: number) =>
      (await takeLimit(services[index]!.service, rule, String(maker)))?.retryAfterSeconds
    await take(maker)
    expect(await take(1 - maker)).toBeUndefined()
    expect([await take(0), await take(1)].map((seconds) => Math.ceil(seconds! / 60))).toEqual([10, 10])
    await pass(9 * minuteMs)
    expect([await take(0), await take(1)].map((seconds) => Math.ceil(seconds! / 60))).toEqual([1, 1])
    await pass(minuteMs)
    expect([await take(0), await take(1)]).toEqual([undefined, undefined])
  })

  test('an unpaid top-up is cancelled by neither before its hour is over, and then by either', async () => {
    const credentials = await newApp(made())
    const { serviceUserId } = await newUser(made(), credentials)
    const app = (await made().apps.find(credentials.clientId))!
    const created = await createSession(made(), app, { serviceUserId, parentOrigin: null })
    const { session } = await checkSession(made(), created.kind === 'created' && created.sessionToken)
    for (const { service } of services) {
      const topup = await createTopup(made(), session!, 1_000n)
      if (topup.kind !== 'created') throw new Error(topup.kind)
      const sweep = async (minutes: number) => {
        await letPass(service.db.pool, minutes * minuteMs, topupTables)
        await runDue(service, resolveTopup)
        return (await findTopupByPayment(service.db.pool, topup.payment.id))!.state
      }
      expect([await sweep(59), await sweep(1)]).toEqual(['created', 'cancelled'])
    }
  })

  test('the clean-up of either removes nothing that still counts', async () => {
    const rule = { name: 'clean-up', limit: 1, windowMs: minuteMs }
    await takeLimit(made(), rule, String(maker))
    for (const { service } of services) await deleteExpired(service.db)
    expect(await takeLimit(made(), rule, String(maker))).toBeDefined()
  })
})
