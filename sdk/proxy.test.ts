/** The SDK behind a real proxy that puts its own page in place of answers: what was done once stays done once. */
import { afterAll, beforeAll, beforeEach, expect, setDefaultTimeout, test } from 'bun:test'
import { randomUUID } from 'node:crypto'
import { setAppActive } from '../src/actions/apps/manage-apps.ts'
import { connectApp } from '../src/actions/people/manage-links.ts'
import { expectBalancedBooks } from '../test/books.ts'
import { newApp, newUser, openTestService, operator, type Credentials, type TestService } from '../test/service.ts'
import { Billfold, type BillfoldError } from './server.ts'
import { errorOf } from './test/scripted-service.ts'

setDefaultTimeout(180_000)

let opened: TestService
let app: Credentials
let proxy: Bun.Server<undefined>
let requests = 0
/** Replaces the answer to one request, by its number; the service has carried the request out by then. */
let replace: (request: number, answer: Response) => Response | Promise<Response>

beforeAll(async () => {
  opened = await openTestService()
  app = await newApp(opened.service)
  proxy = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    idleTimeout: 60,
    fetch: async (request) => replace(++requests, await opened.app.fetch(request)),
  })
})
afterAll(async () => {
  await proxy.stop(true)
  await expectBalancedBooks(opened.service)
  await opened.close()
})
beforeEach(() => {
  requests = 0
  replace = (_request, answer) => answer
})

const page = (status: number) =>
  new Response(`<html><title>${status}</title><h1>${status}</h1></html>`, {
    status,
    headers: { 'content-type': 'text/html', server: 'nginx/1.28.0' },
  })

const client = (options: { maxRetries?: number } = {}) =>
  new Billfold({ baseUrl: proxy.url.origin, ...app, ...options })

/** A user with 100, the debit of an order, and a count of the movements under its reference. */
async function newOrder(credentials = app) {
  const { userId, serviceUserId } = await newUser(opened.service, credentials)
  const through = new Billfold({ baseUrl: proxy.url.origin, ...credentials })
  await through.credit({ serviceUserId, amount: 100, referenceType: 'GIFT', referenceId: randomUUID() })
  requests = 0
  const debit = { serviceUserId, amount: 19.99, referenceType: 'ORDER_PAYMENT', referenceId: randomUUID() }
  const count = async () => {
    const text = 'select amount from transfers where wallet_id = $1 and reference_id = $2'
    return (await opened.service.db.pool.query(text, [userId, debit.referenceId])).rowCount
  }
  return { debit, count }
}

const lostAnswers: [string, () => Response][] = [
  ...[500, 502, 503, 504, 524].map((status): [string, () => Response] => [`an HTML ${status}`, () => page(status)]),
  ['an HTML 200', () => page(200)],
  ['half an answer', () => new Response('{"balance":80.01,"mess', { headers: { 'content-type': 'application/json' } })],
  ['a JSON 502 of the proxy', () => Response.json({ message: 'Bad Gateway' }, { status: 502 })],
  ['a JSON 500 of the service', () => Response.json({ error: 'Oops.', code: 'INTERNAL' }, { status: 500 })],
]

test.each(lostAnswers)(
  'a debit that was done and answered with %s is retried and moves money once',
  async (_, lost) => {
    const { debit, count } = await newOrder()
    replace = (request, answer) => (request === 1 ? lost() : answer)
    expect(await client().debit(debit)).toMatchObject({ balance: 80.01, replayed: true })
    expect([requests, await count()]).toEqual([2, 1])
  },
)

test.each(lostAnswers)('an app that gives up after %s reads that it may send again, and pays once', async (_, lost) => {
  const { debit, count } = await newOrder()
  replace = (_request, answer) => (requests < 2 ? lost() : answer)
  const error = await errorOf(client({ maxRetries: 0 }).debit(debit))
  expect(error).toMatchObject({ isRetryable: true, url: `${proxy.url.origin}/api/server/wallet/debit` })
  expect(await client().debit(debit)).toMatchObject({ balance: 80.01, replayed: true })
  expect(await count()).toBe(1)
})

test('the error of a proxy’s page names the call, the status and the proxy, and nothing of the page', async () => {
  const { debit } = await newOrder()
  replace = () => page(502)
  const error = await errorOf(client({ maxRetries: 0 }).debit(debit))
  expect(error.message).toBe(
    `POST ${proxy.url.origin}/api/server/wallet/debit answered 502 with text/html instead of JSON from nginx/1.28.0.`,
  )
  expect(error).toMatchObject({ code: 'BAD_RESPONSE', status: 502 })
})

test('a refusal at the door after a lost answer does not read as if nothing moved', async () => {
  const own = await newApp(opened.service)
  const { debit, count } = await newOrder(own)
  replace = async (request, answer) => {
    if (request > 1) return answer
    await setAppActive(opened.service, operator, own.clientId, false)
    return page(502)
  }
  const error = await errorOf(new Billfold({ baseUrl: proxy.url.origin, ...own }).debit(debit))
  expect(error).toMatchObject({ code: 'INVALID_CLIENT', status: 401, isRetryable: true })
  expect(error.cause as BillfoldError).toMatchObject({ code: 'BAD_RESPONSE', status: 502 })
  expect(await count()).toBe(1)
})

test('a refusal that knows the reference is final, also after a lost answer', async () => {
  const { debit, count } = await newOrder()
  replace = (request, answer) => (request === 1 ? page(504) : answer)
  const error = await errorOf(client().debit({ ...debit, amount: 500 }))
  expect(error).toMatchObject({ code: 'INSUFFICIENT_BALANCE', replayed: true, isRetryable: false })
  expect([requests, await count()]).toEqual([2, 0])
})

test('calls without a reference are retried after a proxy’s page, and a used link code says so', async () => {
  const { serviceUserId, userId } = await newUser(opened.service, app)
  replace = (request, answer) => (request % 2 === 1 ? page(502) : answer)
  expect(await client().wallet({ serviceUserId })).toMatchObject({ balance: 0 })
  expect(await client().createSession({ serviceUserId })).toMatchObject({ sessionToken: expect.stringMatching(/^ws_/) })
  expect(requests).toBe(4)
  const registered = (await opened.service.apps.findActive(app.clientId))!
  const { linkCode } = (await connectApp(opened.service.db.pool, registered, userId, '10.0.0.1'))!
  const error = await errorOf(client().verifyLink({ linkCode }))
  expect(error).toMatchObject({ code: 'INVALID_LINK_CODE', isRetryable: false, cause: { status: 502 } })
})
