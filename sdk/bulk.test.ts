/** billfold.bulk against the real service, over a network that loses answers: every operation once, in order, with its own answer. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { Billfold, type BulkOperation, type BulkOutcome } from './server.ts'
import { errorOf } from './test/scripted-service.ts'
import { expectBalancedBooks } from '../test/books.ts'
import { newClient } from '../test/client.ts'
import { newApp, newUser, openTestService, type Credentials, type TestService } from '../test/service.ts'

setDefaultTimeout(180_000)

let opened: TestService
let app: Credentials
beforeAll(async () => {
  opened = await openTestService()
  app = await newApp(opened.service)
})
afterAll(async () => {
  await expectBalancedBooks(opened.service)
  await opened.close()
})

type Way = (request: Request, go: () => Promise<Response>) => Promise<Response>

/** Records the number of operations in each request; the test decides what happens to each request. */
function newBillfold(way: Way = (_, go) => go(), credentials = app) {
  const sizes: number[] = []
  const send = async (url: string, init: RequestInit) => {
    const request = new Request(url, init)
    sizes.push((JSON.parse(await request.clone().text()) as { operations: unknown[] }).operations.length)
    return await way(request, () => opened.app.fetch(request))
  }
  const settings = { baseUrl: 'http://billfold.test', ...credentials, maxRetries: 2 }
  return { billfold: new Billfold({ ...settings, fetch: send as typeof fetch }), sizes }
}

let count = 0
const credit = (serviceUserId: string | null, amount = 0.01): BulkOperation => ({
  direction: 'credit',
  serviceUserId,
  amount,
  referenceType: 'SDK_BULK',
  referenceId: `sdk-bulk-${++count}`,
})
const newUsers = async (many: number) =>
  await Promise.all(Array.from({ length: many }, async () => (await newUser(opened.service, app)).serviceUserId))
const balanceOf = (serviceUserId: string) => newClient(opened.app.fetch, app).balance(serviceUserId)
const codes = (outcomes: readonly BulkOutcome[]) => outcomes.map(({ error }) => error?.code)

test('a list of 2,500 goes in three requests, and an answer that is lost after the money moved moves it once', async () => {
  const users = await newUsers(5)
  let sent = 0
  const { billfold, sizes } = newBillfold(async (_, go) => {
    const response = await go()
    if (++sent === 2) throw Object.assign(new Error('lost'), { code: 'ECONNRESET' })
    return response
  })
  const outcomes = await billfold.bulk(Array.from({ length: 2_500 }, (_, i) => credit(users[i % 5]!)))
  expect(sizes).toEqual([1_000, 1_000, 1_000, 500])
  expect(outcomes.map(({ result }) => result?.balance)).toEqual(
    Array.from({ length: 2_500 }, (_, i) => (Math.floor(i / 5) + 1) / 100),
  )
  expect(outcomes.filter(({ result }) => result?.replayed)).toHaveLength(1_000)
  expect(await Promise.all(users.map(balanceOf))).toEqual(Array(5).fill(5))
})

test('each operation has the error that it would have thrown alone, and those without a link are not sent', async () => {
  const [user] = (await newUsers(1)) as [string]
  const { billfold, sizes } = newBillfold()
  const outcomes = await billfold.bulk([
    credit(user, 5),
    credit(null),
    { ...credit(user, 9), direction: 'debit' },
    credit('su_nobody'),
    { ...credit(user), amount: -1 },
  ])
  expect(sizes).toEqual([4])
  expect(codes(outcomes)).toEqual([
    undefined,
    'ACCOUNT_NOT_LINKED',
    'INSUFFICIENT_BALANCE',
    'USER_NOT_FOUND',
    'INVALID_AMOUNT',
  ])
  expect(outcomes[2]!.error).toMatchObject({ status: 400, shortfall: 4, balance: 5, replayed: false })
  expect(outcomes[3]!.error).toMatchObject({ status: 404, requiresAuth: true })
})

test('operations with an unknown outcome are sent again, and the others are not', async () => {
  const users = await newUsers(2)
  let sent = 0
  const { billfold, sizes } = newBillfold(async (_, go) => {
    const response = await go()
    if (++sent > 1) return response
    // The operation was posted, but the service could not answer in time.
    const { results } = (await response.json()) as { results: object[] }
    const open = { status: 503, error: 'Later.', code: 'UNAVAILABLE' }
    return Response.json({ results: results.map((result, i) => (i % 2 === 0 ? open : result)) })
  })
  const outcomes = await billfold.bulk(Array.from({ length: 6 }, (_, i) => credit(users[i % 2]!)))
  expect(sizes).toEqual([6, 3])
  expect(outcomes.map(({ result }) => [result?.balance, result?.replayed])).toEqual([
    [0.01, true],
    [0.01, false],
    [0.02, true],
    [0.02, false],
    [0.03, true],
    [0.03, false],
  ])
})

test('a service that disappears in the middle leaves the answers so far, and repeating the list continues from there', async () => {
  const [user] = (await newUsers(1)) as [string]
  let isAway = false
  let sent = 0
  const { billfold } = newBillfold(async (_, go) => {
    if (isAway && ++sent > 1) throw Object.assign(new Error('away'), { code: 'ECONNREFUSED' })
    return await go()
  })
  isAway = true
  const list = Array.from({ length: 1_500 }, () => credit(user))
  const outcomes = await billfold.bulk(list)
  expect(codes(outcomes)).toEqual([...Array(1_000).fill(undefined), ...Array(500).fill('NETWORK_ERROR')])
  expect(outcomes.at(-1)!.error!.isRetryable).toBeTrue()
  expect(await balanceOf(user)).toBe(10)
  isAway = false
  const again = await billfold.bulk(list)
  expect(again.map(({ result }) => result?.replayed)).toEqual([...Array(1_000).fill(true), ...Array(500).fill(false)])
  expect(await balanceOf(user)).toBe(15)
})

test('a refusal of the whole request is thrown, and contains no secret', async () => {
  const [user] = (await newUsers(1)) as [string]
  const { billfold } = newBillfold(undefined, { ...app, clientSecret: 'bfs_wrong' })
  const error = await errorOf(billfold.bulk([credit(user)]))
  expect([error.code, error.status]).toEqual(['INVALID_CLIENT', 401])
  expect(JSON.stringify(error) + error.message).not.toContain('bfs_wrong')
  expect(await newBillfold().billfold.bulk([])).toEqual([])
})

test('an answer with one result too few is not accepted', async () => {
  const [user] = (await newUsers(1)) as [string]
  const { billfold } = newBillfold(async () => Response.json({ results: [] }))
  expect((await errorOf(billfold.bulk([credit(user)]))).code).toBe('BAD_RESPONSE')
})

test('long texts make shorter requests', async () => {
  const [user] = (await newUsers(1)) as [string]
  const { billfold, sizes } = newBillfold()
  const list = Array.from({ length: 700 }, () => ({ ...credit(user), description: '漢'.repeat(500) }))
  expect(codes(await billfold.bulk(list))).toEqual(Array(700).fill(undefined))
  expect(sizes.length).toBe(2)
})
