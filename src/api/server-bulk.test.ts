/** POST /api/server/wallet/bulk: many operations, each answered as if it had been sent alone. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { beginPatiently } from '../../test/lock-waits.ts'
import { setAppActive } from '../actions/apps/manage-apps.ts'
import { freezeWallet } from '../actions/money/manage-wallets.ts'
import { expectBalancedBooks } from '../../test/books.ts'
import { newClient, type Client } from '../../test/client.ts'
import { newApp, newUser, openTestService, operator, type Credentials, type TestService } from '../../test/service.ts'

setDefaultTimeout(180_000)

let opened: TestService
let app: Credentials
let client: Client
beforeAll(async () => {
  opened = await openTestService()
  app = await newApp(opened.service)
  client = newClient(opened.app.fetch, app)
})
afterAll(async () => {
  await expectBalancedBooks(opened.service)
  await opened.close()
})

const path = '/api/server/wallet/bulk'
let count = 0
type Operation = Record<string, unknown>
type Result = Record<string, unknown> & { status: number }

const user = async () => (await newUser(opened.service, app)).serviceUserId
const operation = (direction: string, serviceUserId: unknown, amount: unknown, more: Operation = {}): Operation => ({
  direction,
  serviceUserId,
  amount,
  referenceType: 'BULK',
  referenceId: `bulk-${++count}`,
  ...more,
})

async function bulk(operations: unknown): Promise<Result[]> {
  const { status, body } = await client.post(path, { ...app, operations })
  expect([status, body['code']]).toEqual([200, undefined])
  return body['results'] as Result[]
}

async function sendLines(lines: readonly string[], type = 'application/x-ndjson'): Promise<Response> {
  const request = new Request(`http://billfold.test${path}`, {
    method: 'POST',
    headers: { 'content-type': type },
    body: lines.join('\n'),
  })
  return await opened.app.fetch(request)
}

const line = (value: unknown) => JSON.stringify(value)
const statuses = (results: readonly Result[]) => results.map(({ status }) => status)

test('each operation of a list gets the status and the body that it would have got alone', async () => {
  const [one, other, frozen] = [await user(), await user(), await newUser(opened.service, app)]
  await freezeWallet(opened.service, operator, frozen.userId, 'for the test')
  const wrong: Operation[] = [
    operation('debit', one, 0.01, { referenceId: 'never' }),
    operation('debit', 'su_nobody', 1),
    operation('debit', frozen.serviceUserId, 1),
    operation('credit', one, 0),
    operation('credit', one, '5'),
    operation('credit', one, 5.001),
    operation('credit', one, 5, { referenceId: '' }),
    operation('credit', one, 5, { referenceId: 'a\u0000b' }),
    operation('credit', one, 5, { description: 'x'.repeat(501) }),
  ]
  const results = await bulk([...wrong, operation('credit', other, 7)])
  for (const [i, { direction, ...asked }] of wrong.entries()) {
    // INSUFFICIENT_BALANCE is recorded for its reference, so the single request uses another one.
    const alone = await client.post(`/api/server/wallet/${String(direction)}`, {
      ...app,
      ...asked,
      ...(i === 0 && { referenceId: 'not ever' }),
    })
    const { requestId: _, ...body } = alone.body
    expect([i, results[i]!]).toEqual([i, { ...body, status: alone.status }])
  }
  expect(results.at(-1)).toMatchObject({ status: 200, balance: 7, message: 'Credited 7.00 USD.' })
  expect(await client.balance(one)).toBe(0)
})

test('an element that is not an operation is refused alone, and the others are posted', async () => {
  const one = await user()
  const odd = [null, 5, 'x', [], [operation('credit', one, 1)], {}, operation('give', one, 1)]
  const results = await bulk([...odd, operation('credit', one, 3)])
  expect(statuses(results)).toEqual([...odd.map(() => 400), 200])
  expect(results.slice(0, 5).map(({ fields }) => fields)).toEqual(
    odd.slice(0, 5).map(() => ({ body: 'must be a JSON object' })),
  )
  expect(await client.balance(one)).toBe(3)
})

test('a field that comes twice or has too many digits refuses its own operation alone', async () => {
  const one = await user()
  const good = () => JSON.stringify(operation('credit', one, 1))
  const twice = good().replace('"amount":1', '"amount":1,"am\\u006funt":2')
  const long = good().replace('"amount":1', '"amount":1.0000000000000001')
  const nested = good().replace('"amount":1', '"amount":1,"note":{"amount":[{"amount":9}],"x":"}]"}')
  const body = `{"x":[{"amount":1,"amount":1}],"clientId":"${app.clientId}","clientSecret":"${app.clientSecret}","operations": [${[good(), twice, long, nested].join(' , ')}]}`
  const response = await sendLines([body], 'application/json')
  const { results } = (await response.json()) as { results: Result[] }
  expect(results.map(({ status, code, fields }) => [status, code, fields])).toEqual([
    [200, undefined, undefined],
    [400, 'INVALID_REQUEST', { amount: 'is given twice' }],
    [400, 'INVALID_AMOUNT', { amount: 'has more digits than a number can hold' }],
    [200, undefined, undefined],
  ])
  expect(await client.balance(one)).toBe(2)
})

test('lines of JSON are answered line by line, a broken line included', async () => {
  const one = await user()
  const lines = [app, operation('credit', one, 9), operation('debit', one, 4)].map((line) => JSON.stringify(line))
  const response = await sendLines([...lines, '{"direction":', '', ...lines.slice(2)])
  expect(response.headers.get('content-type')).toBe('application/x-ndjson')
  expect(response.headers.get('x-request-id')).toStartWith('req_')
  const text = await response.text()
  expect(text).toEndWith('}\n')
  const results = text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Result)
  expect(results.map(({ status, balance, replayed }) => [status, balance, replayed])).toEqual([
    [200, 9, undefined],
    [200, 5, undefined],
    [400, undefined, undefined],
    [400, undefined, undefined],
    [200, 5, true],
  ])
})

test('a repeat of the whole list moves nothing and returns the first results', async () => {
  const [one, other] = [await user(), await user()]
  const list = [operation('credit', one, 10), operation('debit', one, 20), operation('credit', other, 5)]
  const first = await bulk(list)
  expect(statuses(first)).toEqual([200, 400, 200])
  const again = await bulk(list)
  expect(again).toEqual(first.map((result) => ({ ...result, replayed: true })))
  expect(await client.post('/api/server/wallet/credit', { ...app, ...list[0] })).toMatchObject({
    body: { balance: 10, replayed: true },
  })
  expect([await client.balance(one), await client.balance(other)]).toEqual([10, 5])
})

test('the same reference twice in one list moves money once', async () => {
  const one = await user()
  const twice = operation('credit', one, 10)
  const results = await bulk([twice, operation('debit', one, 3), twice, operation('debit', one, 3)])
  expect(results.map(({ status, balance, replayed }) => [status, balance, replayed])).toEqual([
    [200, 10, undefined],
    [200, 7, undefined],
    [200, 10, true],
    [200, 4, undefined],
  ])
})

test('the operations of one user are decided in the order of the list, also where it is a thousand and many are refused', async () => {
  const [one, other] = [await user(), await user()]
  // Alternates the whole balance with one cent more: every second debit is refused, and each answer shows the balance.
  const list = Array.from({ length: 500 }, (_, i) => [
    operation('credit', one, 1),
    operation('debit', one, i % 2 === 0 ? 1 : 1.01),
  ]).flat()
  list.splice(600, 1, operation('credit', other, 1))
  const results = await bulk(list)
  let cents = 0
  const expected = list.map(({ direction, serviceUserId, amount }) => {
    if (serviceUserId === other) return [200, 1]
    const by = Math.round(Number(amount) * 100) * (direction === 'debit' ? -1 : 1)
    const isRefused = cents + by < 0
    if (!isRefused) cents += by
    return [isRefused ? 400 : 200, cents / 100]
  })
  expect(results.map(({ status, balance }) => [status, balance])).toEqual(expected)
  // The first operation is refused, so the fast lane leaves its whole batch undecided; the rest could post at once.
  const credits = Array.from({ length: 599 }, () => operation('credit', other, 0.01))
  const state = { isDone: false }
  const posting = bulk([operation('debit', other, 2), ...credits]).finally(() => (state.isDone = true))
  // Other postings in between make the lane send its next batch before the first is answered.
  const meanwhile: Promise<unknown>[] = []
  for (; !state.isDone; await Bun.sleep(1)) meanwhile.push(client.credit(one, 1))
  const refusedFirst = await posting
  await Promise.all(meanwhile)
  expect(refusedFirst.map(({ balance }) => balance)).toEqual([1, ...credits.map((_, i) => (101 + i) / 100)])
})

test('the order of a list is kept while another transaction holds the wallet', async () => {
  const { userId, serviceUserId } = await newUser(opened.service, app)
  const holder = await opened.service.db.pool.connect()
  await beginPatiently(holder)
  await holder.query('select 1 from wallets where id = $1 for update', [userId])
  const credits = Array.from({ length: 600 }, () => operation('credit', serviceUserId, 0.01))
  const posting = bulk([...credits, operation('debit', serviceUserId, 6)])
  // Long enough for the fast lane to give up and for several rounds of the careful lane.
  await Bun.sleep(1_000)
  await holder.query('commit')
  holder.release()
  expect((await posting).map(({ balance }) => balance)).toEqual([...credits.map((_, i) => (1 + i) / 100), 0])
})

test('a strict app gets REFERENCE_CONFLICT for each operation that reuses a reference differently', async () => {
  const strict = await newApp(opened.service, { strictReferences: true })
  const { serviceUserId } = await newUser(opened.service, strict)
  const first = operation('credit', serviceUserId, 10)
  const { body } = await client.post(path, {
    ...strict,
    operations: [first, { ...first, amount: 11 }, operation('debit', serviceUserId, 1)],
  })
  expect((body['results'] as Result[]).map(({ status, code }) => [status, code])).toEqual([
    [200, undefined],
    [409, 'REFERENCE_CONFLICT'],
    [200, undefined],
  ])
})

test('a mistake in the request itself refuses all of it, and nothing moves', async () => {
  const one = await user()
  const good = [operation('credit', one, 1)]
  const thousandAndOne = Array.from({ length: 1_001 }, () => operation('credit', one, 0.01))
  const readOnly = await newApp(opened.service, { scopes: ['wallet:read'] })
  const ended = await newApp(opened.service)
  await setAppActive(opened.service, operator, ended.clientId, false)
  const refused: [unknown, number, string][] = [
    [{ ...app, operations: [] }, 400, 'INVALID_REQUEST'],
    [{ ...app, operations: thousandAndOne }, 400, 'INVALID_REQUEST'],
    [{ ...app, operations: { 0: good[0] } }, 400, 'INVALID_REQUEST'],
    [{ ...app }, 400, 'INVALID_REQUEST'],
    [{ ...app, clientSecret: 'wrong', operations: good }, 401, 'INVALID_CLIENT'],
    [{ operations: good }, 401, 'INVALID_CLIENT'],
    [{ ...ended, operations: good }, 401, 'INVALID_CLIENT'],
    [{ ...readOnly, operations: good }, 403, 'INSUFFICIENT_SCOPE'],
  ]
  for (const [body, status, code] of refused) {
    const reply = await client.post(path, body)
    expect([reply.status, reply.body['code']]).toEqual([status, code])
  }
  for (const [lines, status, type] of [
    [[line(app)], 400],
    [['', line(app), line(good[0])], 400],
    [[line(good[0])], 401],
    [[line(app), ...thousandAndOne.map(line)], 400],
    [[line(app), line(good[0]), ' '.repeat(2 ** 20)], 413],
    [[line(app), line(good[0])], 415, 'text/plain'],
    [[`{"clientId":"x",${line(app).slice(1)}`, line(good[0])], 400],
  ] as [string[], number, string?][]) {
    const response = await sendLines(lines, type)
    expect([lines.length, response.status]).toEqual([lines.length, status])
    await response.body?.cancel()
  }
  const fromBrowser = await opened.app.fetch(
    new Request(`http://billfold.test${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', origin: 'https://shop.example' },
      body: line({ ...app, operations: good }),
    }),
  )
  expect(fromBrowser.status).toBe(403)
  expect(await client.balance(one)).toBe(0)
})
