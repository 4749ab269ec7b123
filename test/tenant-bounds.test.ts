/** What one app or one stranger may have under way: beyond it 429 or 401, before a body is parsed, and no other app notices. */
import { afterAll, beforeAll, expect, setDefaultTimeout, spyOn, test } from 'bun:test'
import { beginPatiently } from './lock-waits.ts'
import { openQuota } from '../src/actions/apps/quota.ts'
import { updateApp } from '../src/actions/apps/manage-apps.ts'
import { findApp } from '../src/store/apps.ts'
import type { PooledClient } from '../src/store/connection/pool.ts'
import { placesPerTurn } from '../src/store/writer/turns.ts'
import { expectBalancedBooks } from './books.ts'
import { newClient, type Client } from './client.ts'
import { eventually } from './eventually.ts'
import {
  newApp,
  newUser,
  openTestService,
  operator,
  type Credentials,
  type TestService,
  type TestUser,
} from './service.ts'

setDefaultTimeout(60_000)

let opened: TestService
let greedy: Credentials
let other: Credentials
let greedyUser: TestUser
let otherUser: TestUser
let otherClient: Client

beforeAll(async () => {
  opened = await openTestService()
  greedy = await newApp(opened.service, { maxOperations: 8 })
  other = await newApp(opened.service)
  greedyUser = await newUser(opened.service, greedy)
  otherUser = await newUser(opened.service, other)
  otherClient = newClient(opened.app.fetch, other)
})
afterAll(async () => {
  await expectBalancedBooks(opened.service)
  await opened.close()
})

let count = 0
const credit = ({ serviceUserId }: { serviceUserId: string }, more = {}) => ({
  serviceUserId,
  amount: 1,
  referenceType: 'TEST',
  referenceId: `bound-${++count}`,
  ...more,
})
const operations = (user: TestUser, length: number, more = {}) =>
  Array.from({ length }, () => ({ direction: 'credit', ...credit(user, more) }))

const send = async (path: string, body: string, type = 'application/json') => {
  const request = new Request(`http://billfold.test${path}`, {
    method: 'POST',
    headers: { 'content-type': type, 'content-length': String(Buffer.byteLength(body)) },
    body,
  })
  const response = await opened.app.fetch(request)
  return { response, body: (await response.json()) as Record<string, unknown> }
}
const sendCredit = (app: Credentials, user: TestUser) =>
  send('/api/server/wallet/credit', JSON.stringify({ ...app, ...credit(user) }))
const sendBulk = (body: unknown) => send('/api/server/wallet/bulk', JSON.stringify(body))

/** Another transaction that locks the wallet's row: what is asked of it stays under way. */
async function hold({ userId }: TestUser): Promise<PooledClient> {
  const stranger = await opened.service.db.pool.connect()
  await beginPatiently(stranger)
  await stranger.query('select 1 from wallets where id = $1 for update', [userId])
  return stranger
}
const letGo = async (stranger: PooledClient) => {
  await stranger.query('rollback')
  stranger.release()
}
const underWay = () => opened.service.quota.underWay(greedy.clientId, 'operations')

/** The texts longer than this that JSON.parse is asked for while `work` runs. */
async function countParsed<T>(longerThan: number, work: () => Promise<T>): Promise<[T, number]> {
  const parse = JSON.parse
  let parsed = 0
  JSON.parse = (text: string, ...more) => {
    if (text.length > longerThan) parsed++
    return parse(text, ...more) as unknown
  }
  try {
    return [await work(), parsed]
  } finally {
    JSON.parse = parse
  }
}

test('an app at its bound gets 429 with Retry-After, while the credits of another app are posted', async () => {
  const stranger = await hold(greedyUser)
  const held = Array.from({ length: 8 }, () => sendCredit(greedy, greedyUser))
  await eventually(underWay, 8)
  const { response, body } = await sendCredit(greedy, greedyUser)
  expect([response.status, body['code'], response.headers.get('retry-after')]).toEqual([429, 'RATE_LIMITED', '1'])
  const others = await Promise.all(Array.from({ length: 20 }, () => sendCredit(other, otherUser)))
  expect(others.filter(({ response }) => response.status === 200)).toHaveLength(20)
  await letGo(stranger)
  expect((await Promise.all(held)).map(({ response }) => response.status)).toEqual(Array.from({ length: 8 }, () => 200))
  expect(underWay()).toBe(0)
  expect((await sendCredit(greedy, greedyUser)).response.status).toBe(200)
})

test('a bulk request beyond the bound is refused before it is parsed, and one on its own is never too large', async () => {
  const stranger = await hold(greedyUser)
  const held = sendCredit(greedy, greedyUser)
  await eventually(underWay, 1)
  const large = { ...greedy, operations: operations(greedyUser, 200) }
  const [refused, parsed] = await countParsed(5_000, () => sendBulk(large))
  expect([refused.response.status, refused.body['code'], parsed]).toEqual([429, 'RATE_LIMITED', 0])
  await letGo(stranger)
  await held
  const [posted, parsedLater] = await countParsed(5_000, () => sendBulk(large))
  const results = posted.body['results'] as { status: number }[]
  expect(results.filter(({ status }) => status === 200)).toHaveLength(200)
  expect(parsedLater).toBeGreaterThan(0)
  expect(underWay()).toBe(0)
})

test('an app may have a quarter of its bound in reads, and the reads of another app are not refused', async () => {
  const read = async (app: Credentials, { serviceUserId }: TestUser) => {
    const query = new URLSearchParams({ ...app, serviceUserId }).toString()
    const response = await opened.app.fetch(new Request(`http://billfold.test/api/server/wallet?${query}`))
    return { status: response.status, retryAfter: response.headers.get('retry-after') }
  }
  const readsOf = ({ clientId }: Credentials) => opened.service.quota.underWay(clientId, 'reads')
  const stranger = await opened.service.db.longRunning.pool.connect()
  await beginPatiently(stranger)
  await stranger.query('lock table wallets in access exclusive mode')
  const held = [read(greedy, greedyUser), read(greedy, greedyUser)]
  await eventually(() => readsOf(greedy), 2)
  expect(await read(greedy, greedyUser)).toEqual({ status: 429, retryAfter: '1' })
  const others = Array.from({ length: 3 }, () => read(other, otherUser))
  await eventually(() => readsOf(other), 3)
  await letGo(stranger)
  // On a slow machine they may have waited too long for the lock, which is no 429.
  for (const { status } of await Promise.all([...held, ...others])) expect([200, 503]).toContain(status)
  expect([readsOf(greedy), readsOf(other)]).toEqual([0, 0])
  expect((await read(greedy, greedyUser)).status).toBe(200)
})

test('an operator raises and removes the bound of one app', async () => {
  const settings = (await findApp(opened.service.db.pool, greedy.clientId))!
  await updateApp(opened.service, operator, greedy.clientId, { ...settings, maxOperations: null })
  const stranger = await hold(greedyUser)
  const held = Array.from({ length: 12 }, () => sendCredit(greedy, greedyUser))
  await eventually(underWay, 12)
  await letGo(stranger)
  await Promise.all(held)
  await updateApp(opened.service, operator, greedy.clientId, settings)
})

const strangers: [string, object][] = [
  ['a wrong secret', { clientSecret: 'wrong' }],
  ['an unknown app', { clientId: 'app_unknown' }],
]

test.each(strangers)(
  'a bulk request with %s is refused without being parsed, wherever the credentials are',
  async (_, wrong) => {
    const list = operations(otherUser, 900)
    for (const body of [
      { ...other, ...wrong, operations: list },
      { operations: list, ...other, ...wrong },
    ]) {
      const [{ response }, parsed] = await countParsed(5_000, () => sendBulk(body))
      expect([response.status, parsed]).toEqual([401, 0])
    }
    const lines = [{ ...other, ...wrong }, ...list].map((each) => JSON.stringify(each)).join('\n')
    const [{ response }, parsed] = await countParsed(200, () =>
      send('/api/server/wallet/bulk', lines, 'application/x-ndjson'),
    )
    expect([response.status, parsed]).toEqual([401, 0])
  },
)

test.each([
  ['without credentials', (list: unknown) => JSON.stringify({ operations: list })],
  ['with credentials in an operation only', (list: unknown) => JSON.stringify({ operations: [list, other] })],
  [
    'with a secret that is no text',
    (list: unknown) => JSON.stringify({ ...other, clientSecret: [1], operations: list }),
  ],
  ['with text that ends inside a string', (list: unknown) => JSON.stringify({ operations: list }).slice(0, -9)],
])('a large bulk body %s is refused without being parsed', async (_, bodyOf) => {
  const text = bodyOf(operations(otherUser, 900))
  const [{ response, body }, parsed] = await countParsed(5_000, () => send('/api/server/wallet/bulk', text))
  expect([response.status, body['code'], parsed]).toEqual([401, 'INVALID_CLIENT', 0])
})

test('credentials that come twice are refused, also where the second pair is at the end', async () => {
  const list = operations(otherUser, 3)
  const start = JSON.stringify({ ...other, operations: list }).slice(0, -1)
  const { response, body } = await send('/api/server/wallet/bulk', `${start},"client\\u0049d":"app_other"}`)
  expect([response.status, body['fields']]).toEqual([400, { clientId: 'is given twice' }])
  expect(await otherClient.balance(otherUser.serviceUserId)).toBe(20)
})

/** A turn ends and the next one begins between two callbacks of `setImmediate`. */
const mostBetweenLooks = 2 * placesPerTurn

test('a bulk request posts at most 128 operations in a turn of the loop, so other calls come in between', async () => {
  const { writer } = opened.service
  const bulk = sendBulk({ ...other, operations: operations(otherUser, 1_000) })
  let before = 0
  let most = 0
  while (Bun.peek.status(bulk) === 'pending') {
    const depth = writer.depths().fast
    most = Math.max(most, depth - before)
    before = depth
    await new Promise((resolve) => setImmediate(resolve))
  }
  expect(most).toBeLessThanOrEqual(mostBetweenLooks)
  const results = (await bulk).body['results'] as { status: number }[]
  expect(results.filter(({ status }) => status === 200)).toHaveLength(1_000)
})

test('of 500 calls of an app that arrive together, a turn of the loop posts at most 128', async () => {
  const many = await newApp(opened.service)
  const user = await newUser(opened.service, many)
  const post = spyOn(opened.service.writer, 'post')
  const crowd = Promise.all(Array.from({ length: 500 }, () => sendCredit(many, user)))
  let before = 0
  let most = 0
  while (Bun.peek.status(crowd) === 'pending') {
    const posted = post.mock.calls.length
    most = Math.max(most, posted - before)
    before = posted
    await new Promise((resolve) => setImmediate(resolve))
  }
  post.mockRestore()
  expect(before).toBe(500)
  expect(most).toBeLessThanOrEqual(mostBetweenLooks)
  expect((await crowd).filter(({ response }) => response.status === 200)).toHaveLength(500)
})

test('a body whose end comes after the time of the answer is refused, and nothing is posted', async () => {
  const user = await newUser(opened.service, other)
  const text = JSON.stringify({ ...other, ...credit(user) })
  const body = new ReadableStream({
    start: async (controller) => {
      controller.enqueue(new TextEncoder().encode(text.slice(0, 20)))
      await Bun.sleep(7_800)
      controller.enqueue(new TextEncoder().encode(text.slice(20)))
      controller.close()
    },
  })
  const headers = { 'content-type': 'application/json' }
  const request = new Request('http://billfold.test/api/server/wallet/credit', { method: 'POST', headers, body })
  expect((await opened.app.fetch(request)).status).toBe(408)
  expect(await otherClient.balance(user.serviceUserId)).toBe(0)
})

test('operations that would expire in the queue are refused at once, with the time to wait', async () => {
  const quota = openQuota({ maxOperations: 1_000, estimateMs: (_, wanted) => wanted * 100, onRefused: () => {} })
  const app = (await findApp(opened.service.db.pool, other.clientId))!
  expect(quota.enter(app, 'operations', 500, 7_000).retryAfterSeconds).toBeUndefined()
  expect(quota.enter(app, 'operations', 30, 7_000).retryAfterSeconds).toBeUndefined()
  expect(quota.enter(app, 'operations', 30, 2_000).retryAfterSeconds).toBe(3)
})

test('large bodies that one address sends at the same time have a limit, and those of others do not count', async () => {
  const list = JSON.stringify({ ...other, operations: operations(otherUser, 2) })
  const stuck: ReadableStreamDefaultController[] = []
  const sendSlowly = (address: string) => {
    const body = new ReadableStream({ start: (controller) => void stuck.push(controller) })
    const headers = { 'content-type': 'application/json' }
    const request = new Request('http://billfold.test/api/server/wallet/bulk', { method: 'POST', headers, body })
    return opened.app.fetch(request, address)
  }
  const waiting = Array.from({ length: 16 }, () => sendSlowly('192.0.2.7'))
  await eventually(() => stuck.length, 16)
  expect((await sendSlowly('192.0.2.7')).status).toBe(429)
  const elsewhere = sendSlowly('192.0.2.8')
  await eventually(() => stuck.length, 18)
  for (const controller of stuck) {
    controller.enqueue(new TextEncoder().encode(list))
    controller.close()
  }
  expect((await elsewhere).status).toBe(200)
  expect((await Promise.all(waiting)).every(({ status }) => status === 200)).toBeTrue()
})
