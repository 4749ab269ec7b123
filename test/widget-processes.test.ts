/** What must hold over several processes: the widget's codes, sessions, links and live changes. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { createUser } from '../src/actions/people/create-user.ts'
import { connectApp } from '../src/actions/people/manage-links.ts'
import { findApp } from '../src/store/apps.ts'
import { expectBalancedBooks } from './books.ts'
import { newClient } from './client.ts'
import { cookieOf, deviceOf } from './devices.ts'
import { eventually, expectWithin } from './eventually.ts'
import { beginPatiently, lockWaitsSql } from './lock-waits.ts'
import { newEmail, newPage, readEvents } from './page.ts'
import { startProcess, type ServiceProcess } from './process.ts'
import {
  newApp,
  newUser,
  openTestService,
  operator,
  type Credentials,
  type TestService,
  type TestUser,
} from './service.ts'

setDefaultTimeout(180_000)

let opened: TestService
let credentials: Credentials
let user: TestUser
let processes: ServiceProcess[]
/** An open widget in which nothing happens while the other tests run. */
let quiet: {
  readonly user: TestUser
  readonly stream: ReturnType<typeof readEvents>
  readonly since: number
}

beforeAll(async () => {
  opened = await openTestService()
  credentials = await newApp(opened.service)
  user = await newUser(opened.service, credentials)
  processes = await Promise.all([1, 2].map(() => startProcess({ DATABASE_URL: opened.databaseUrl })))
  const silent = await newUser(opened.service, credentials)
  const stream = await watch(0, await newSession(0, silent))
  await stream.next()
  quiet = { user: silent, stream, since: performance.now() }
})
afterAll(async () => {
  await Promise.all(processes.map((each) => each.stop()))
  await expectBalancedBooks(opened.service)
  await opened.close()
})

const client = (i: number) => newClient(processes[i]!.send, credentials, processes[i]!.url)
const page = (i: number) => newPage(processes[i]!.send, processes[i]!.url)
const newSession = async (i: number, { serviceUserId }: TestUser = user) => {
  const { body } = await client(i).post('/api/widget/session', { ...credentials, serviceUserId })
  return String(body['sessionToken'])
}
const watch = async (i: number, session: string) =>
  readEvents(await fetch(`${processes[i]!.url}/api/widget/events?session=${session}`))

test('a link to a receipt is handed out by one process and opens on one of two, once', async () => {
  await client(0).credit(user.serviceUserId, 5)
  const session = await newSession(0)
  for (let round = 0; round < 5; round++) {
    const ordered = await page(0).post(`/api/widget/papers?session=${session}`, { kind: 'receipt', sequence: 1 })
    const path = String(ordered.body['path'])
    const opened = await Promise.all([0, 1, 1, 0].map((i) => fetch(processes[i]!.url + path)))
    expect(opened.map(({ status }) => String(status)).sort()).toEqual(['200', '404', '404', '404'])
  }
})

test('a link code used on two processes at once works on one of them', async () => {
  const app = (await findApp(opened.service.db.pool, credentials.clientId))!
  for (let round = 0; round < 10; round++) {
    const { linkCode } = (await connectApp(opened.service.db.pool, app, user.userId, '10.0.0.1'))!
    const replies = await Promise.all(
      [0, 1, 0, 1].map((i) => client(i).post('/api/server/link/verify', { ...credentials, linkCode })),
    )
    expect(replies.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 400, 400, 400])
  }
})

test('a session made on one process works on the other, until it is revoked on either', async () => {
  const session = await newSession(0)
  expect((await page(1).wallet(session)).status).toBe(200)
  await page(0).post(`/api/widget/logout?session=${session}`, {})
  expect((await page(1).wallet(session)).body['code']).toBe('INVALID_SESSION')
})

const wallet = (balance: number, sequence: number) => ({
  balance,
  available: balance,
  held: 0,
  sequence,
  isActive: true,
})

test('a change made on one process is in the open widget of the other within two seconds', async () => {
  const watched = await newUser(opened.service, credentials)
  const stream = await watch(1, await newSession(0, watched))
  expect((await stream.next())!.data).toEqual(wallet(0, 0))
  let sequence = 0
  await expectWithin(2_000, async () => {
    // Past the look that comes with opening, so that it is the regular one that finds it.
    await Bun.sleep(300)
    const startedAt = performance.now()
    await client(0).credit(watched.serviceUserId, 12.5)
    sequence++
    expect((await stream.next())!.data).toEqual(wallet(12.5 * sequence, sequence))
    return performance.now() - startedAt
  })
  await stream.cancel()
})

test('an app disconnected on one process is unknown on the other at once, and its open widget ends', async () => {
  const leaving = await newUser(opened.service, credentials)
  const session = await newSession(1, leaving)
  const stream = await watch(1, session)
  await stream.next()
  await client(1).credit(leaving.serviceUserId, 5)
  await stream.next()
  const path = `/api/widget/links/disconnect?session=${session}`
  expect((await page(0).post(path, { clientId: credentials.clientId })).status).toBe(200)
  expect((await client(1).debit(leaving.serviceUserId, 1)).body['code']).toBe('USER_NOT_FOUND')
  expect((await client(1).checkBalance(leaving.serviceUserId, '1')).status).toBe(401)
  expect((await page(1).wallet(session)).body['code']).toBe('INVALID_SESSION')
  expect(await stream.next()).toEqual({ event: 'ended', data: { code: 'INVALID_SESSION', reason: 'disconnected' } })
  expect(await stream.next()).toBeUndefined()
})

test('wrong passwords are counted over both processes together', async () => {
  const body = { clientId: credentials.clientId, email: 'nobody@example.com', password: 'not this one' }
  const statuses: number[] = []
  for (let i = 0; i < 12; i++) statuses.push((await page(i % 2).auth('login', body)).status)
  expect(statuses).toEqual([...Array(10).fill(401), 429, 429])
})

test('a widget that goes away without a word makes room for the next', async () => {
  const session = await newSession(0)
  const url = `${processes[0]!.url}/api/widget/events?session=${session}`
  const gone = new AbortController()
  const open = await Promise.all(Array.from({ length: 6 }, () => fetch(url, { signal: gone.signal })))
  expect(open.map(({ status }) => status)).toEqual(Array(6).fill(200))
  expect((await fetch(url)).status).toBe(429)
  gone.abort()
  await eventually(async () => {
    const response = await fetch(url)
    await response.body?.cancel()
    return response.status
  }, 200)
})

const password = 'seven tired llamas'

async function newMember(): Promise<TestUser & { readonly email: string }> {
  const email = newEmail()
  const names = { firstName: 'Ada', lastName: 'Lovelace' }
  const { clientId } = credentials
  const created = await createUser(opened.service, operator, { email, password, ...names, clientId })
  return { userId: created!.userId, serviceUserId: created!.serviceUserId!, email }
}

/** On a device of the member. */
async function pageOf(i: number, { userId }: TestUser) {
  const { cookie } = await deviceOf(opened.service, { userId, clientId: credentials.clientId })
  return newPage(processes[i]!.send, processes[i]!.url, { cookie })
}

test('a device that one process ends is unknown to the other at once, and so are the links to papers that hang on it', async () => {
  const member = await newMember()
  const { clientId } = credentials
  const logged = await page(0).auth('login', { clientId, email: member.email, password })
  const headers = cookieOf(logged.headers)
  const [one, two] = [
    newPage(processes[0]!.send, processes[0]!.url, headers),
    newPage(processes[1]!.send, processes[1]!.url, headers),
  ]
  const session = await newSession(1, member)
  for (const own of [one, two]) expect((await own.wallet(session)).body['proof']).toBe('presence')
  const ordered = await two.post(`/api/widget/papers?session=${session}`, { kind: 'data' })
  expect((await one.post(`/api/widget/account/sign-out-everywhere?session=${session}`, {})).status).toBe(200)
  expect((await fetch(processes[1]!.url + String(ordered.body['path']))).status).toBe(404)
  await page(0).auth('login', { clientId, email: member.email, password })
  expect((await two.wallet(await newSession(1, member))).body['proof']).toBe('session')
})

test('a sign-in and a sign-out everywhere at once on two processes leave the device with the later one', async () => {
  for (let round = 0; round < 5; round++) {
    const member = await newMember()
    const who = { clientId: credentials.clientId, email: member.email, password }
    const first = cookieOf((await page(0).auth('login', who)).headers)
    const session = await newSession(0, member)
    const own = newPage(processes[0]!.send, processes[0]!.url, first)
    const [signedIn] = await Promise.all([
      page(1).auth('login', who),
      own.post(`/api/widget/account/sign-out-everywhere?session=${session}`, {}),
    ])
    expect(signedIn.status).toBe(200)
    const { rows } = await opened.service.db.pool.query<{ signed_out: boolean; live: number }>(
      `select l.signed_out_at is not null as signed_out,
         (select count(*)::int from devices where user_id = l.user_id and revoked_at is null) as live
       from links l where l.id = $1`,
      [member.serviceUserId],
    )
    // A device is live where the link is signed in, and nowhere else.
    expect(rows[0]).toEqual(rows[0]!.signed_out ? { signed_out: true, live: 0 } : { signed_out: false, live: 1 })
  }
})

test('credits that race the deletion of their user keep the account or are refused: never is there money without an owner', async () => {
  const ends = new Set<string>()
  for (let round = 0; round < 8; round++) {
    const member = await newMember()
    const session = await newSession(0, member)
    const credits = Array.from({ length: 12 }, async (_, i) => {
      // Some come before the deletion has proved the password, some while it holds the wallet, and some after.
      await Bun.sleep(i * round)
      return (await client(1).credit(member.serviceUserId, 1)).status
    })
    const deletion = (await pageOf(0, member)).post(`/api/widget/account/delete?session=${session}`, { password })
    const statuses = await Promise.all(credits)
    const { status, body } = await deletion
    const { rows } = await opened.service.db.pool.query<{ balance: bigint; frozen_for: string | null }>(
      'select balance, frozen_for from wallets where id = $1',
      [member.userId],
    )
    const credited = statuses.filter((each) => each === 200).length
    expect(statuses.filter((each) => each !== 200 && each !== 404)).toEqual([])
    expect(rows[0]!.balance).toBe(BigInt(credited) * 100n)
    if (status === 200) expect([credited, rows[0]!.frozen_for]).toEqual([0, 'closed'])
    else expect([status, body['reason'], rows[0]!.frozen_for]).toEqual([409, 'balance', null])
    ends.add(String(status))
  }
  expect(ends.size).toBeGreaterThan(0)
})

test('a credit that waits for the wallet while its user is deleted finds no user', async () => {
  let statuses = await creditAndDelete()
  // Both wait with a limit, which a machine that pauses may use up: then the answer is 503, and it is tried again.
  for (let tries = 1; tries < 5 && statuses.includes(503); tries++) statuses = await creditAndDelete()
  // The first to lock the row wins, and the other one notices.
  expect([
    [200, 404],
    [409, 200],
  ]).toContainEqual(statuses)
})

/** Both wait for the wallet of a new member before either of them gets it. */
async function creditAndDelete(): Promise<number[]> {
  const member = await newMember()
  const session = await newSession(0, member)
  const own = await pageOf(0, member)
  const holder = await opened.service.db.pool.connect()
  try {
    await beginPatiently(holder)
    await holder.query('select 1 from wallets where id = $1 for update', [member.userId])
    const deletion = own.post(`/api/widget/account/delete?session=${session}`, { password })
    await waitForLock(1, deletion)
    const credit = client(1).credit(member.serviceUserId, 1)
    await waitForLock(2, Promise.race([deletion, credit]))
    await holder.query('commit')
    const replies = await Promise.all([deletion, credit])
    return replies.map(({ status }) => status)
  } finally {
    holder.release()
  }
}

/** So many connections wait for a row or a transaction, or there is an answer already. */
async function waitForLock(count: number, answer: Promise<unknown>): Promise<void> {
  const state = { isAnswered: false }
  void answer.then(() => (state.isAnswered = true))
  while (!state.isAnswered) {
    const { rows } = await opened.service.db.pool.query(lockWaitsSql)
    if (rows.length >= count) return
    await Bun.sleep(10)
  }
}

test('signing in while the account is deleted gives a link or is refused, and no link outlives the account', async () => {
  for (let round = 0; round < 3; round++) {
    const member = await newMember()
    const session = await newSession(0, member)
    const who = { clientId: credentials.clientId, email: member.email, password }
    const own = await pageOf(0, member)
    const [deletion, ...logIns] = await Promise.all([
      own.post(`/api/widget/account/delete?session=${session}`, { password }),
      ...Array.from({ length: 3 }, () => page(1).auth('login', who)),
    ])
    expect(deletion.status).toBe(200)
    for (const { status } of logIns) expect([200, 401]).toContain(status)
    const { rows } = await opened.service.db.pool.query(
      'select 1 from links where user_id = $1 and disconnected_at is null',
      [member.userId],
    )
    expect(rows).toEqual([])
  }
})

test('an open widget outlives the silence after which a connection is taken for dead', async () => {
  await Bun.sleep(Math.max(0, quiet.since + 33_000 - performance.now()))
  await client(0).credit(quiet.user.serviceUserId, 1)
  expect((await quiet.stream.next())!.event).toBe('wallet')
  await quiet.stream.cancel()
})

test('a process that is asked to end does so although a widget is open', async () => {
  const ending = await startProcess({ DATABASE_URL: opened.databaseUrl })
  const response = await fetch(`${ending.url}/api/widget/events?session=${await newSession(0)}`)
  const stream = readEvents(response)
  expect((await stream.next())!.event).toBe('wallet')
  const stopped = ending.stop()
  expect(await stream.next()).toBeUndefined()
  expect(await stopped).toBe(0)
})
