/** Every field of every route of holds with bad input: the right 4xx that names the field, never a 5xx, and nothing is held or moved. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { expectBalancedBooks } from './books.ts'
import { newClient, type Client } from './client.ts'
import { holdClient, holdOf } from './holds.ts'
import { newApp, newUser, openTestService, type Credentials, type TestService } from './service.ts'

let opened: TestService
let credentials: Credentials
let client: Client
let su: string
let holdId: string
let figures: unknown[]

beforeAll(async () => {
  opened = await openTestService()
  credentials = await newApp(opened.service)
  client = newClient(opened.app.fetch, credentials)
  su = (await newUser(opened.service, credentials)).serviceUserId
  await client.credit(su, 50)
  holdId = holdOf(await holdClient(client, credentials).place(su, 20)).id
  figures = await seen()
})
afterAll(async () => {
  expect(await seen()).toEqual(figures)
  await expectBalancedBooks(opened.service)
  await opened.close()
})

const seen = async () => {
  const { balance, available, held } = (await client.wallet(su)).body
  return [balance, available, held, (await client.get('/api/server/wallet/hold', { holdId })).body['hold']]
}

const nul = 'a\u0000b'
const loneSurrogate = 'a\ud800b'
const huge = 'x'.repeat(10_000)
const notText = [null, 5, true, [], {}]
const badText = [undefined, ...notText, '', huge, nul, loneSurrogate, 'a\nb', '\u0085']
const badAmounts = [
  null,
  0,
  -1,
  -0.01,
  0.001,
  0.30000000000000004,
  1_000_000_000,
  1e21,
  '5',
  '',
  true,
  [5],
  { amount: 5 },
  nul,
]
const badSeconds = [null, 0, 59, -60, 60.5, 2_592_001, 1e21, '60', '', true, [60], {}, nul]
const badFlags = [null, 0, 1, 'true', '', [], {}]
const badDescriptions = [5, true, [], {}, 'x'.repeat(501), nul, loneSurrogate]

const place = () => ({ serviceUserId: su, amount: 1, referenceType: 'BAD', referenceId: String(Math.random()) })
const capture = () => ({ holdId, amount: 1, referenceType: 'BAD', referenceId: String(Math.random()) })

type Field = [path: string, field: string, values: readonly unknown[], good: () => object]

const fields: Field[] = [
  ['hold', 'serviceUserId', badText, place],
  ['hold', 'amount', [undefined, ...badAmounts], place],
  ['hold', 'referenceType', badText, place],
  ['hold', 'referenceId', badText, place],
  ['hold', 'description', badDescriptions, place],
  ['hold', 'expiresIn', badSeconds, place],
  ['hold/capture', 'holdId', badText, capture],
  ['hold/capture', 'amount', badAmounts, capture],
  ['hold/capture', 'final', badFlags, capture],
  ['hold/capture', 'allowExtra', badFlags, capture],
  ['hold/capture', 'referenceType', badText, capture],
  ['hold/capture', 'referenceId', badText, capture],
  ['hold/capture', 'description', badDescriptions, capture],
  ['hold/void', 'holdId', badText, () => ({ holdId })],
  ['hold/extend', 'holdId', badText, () => ({ holdId, expiresIn: 3_600 })],
  ['hold/extend', 'expiresIn', [undefined, ...badSeconds], () => ({ holdId, expiresIn: 3_600 })],
]

const origin = 'http://billfold.test'
const sendText = (path: string, body: string) =>
  client.call(
    new Request(`${origin}/api/server/wallet/${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body,
    }),
  )

describe.each(fields)('POST %s: %s', (path, field, values, good) => {
  test('is refused with its name when it is missing, empty, huge, negative or of another type', async () => {
    for (const value of values) {
      const body = { ...credentials, ...good(), [field]: value }
      const reply = await client.post(`/api/server/wallet/${path}`, body)
      const shown = `${JSON.stringify(value)?.slice(0, 40)}: ${JSON.stringify(reply.body).slice(0, 200)}`
      expect(reply.status, shown).toBe(400)
      expect(reply.body['code'], shown).toBe(field === 'amount' ? 'INVALID_AMOUNT' : 'INVALID_REQUEST')
      expect(Object.keys(reply.body['fields'] as object), shown).toEqual([field])
    }
  })

  test('is refused when it is given twice', async () => {
    const text = JSON.stringify({ ...credentials, ...good(), [field]: 'x' })
    const twice = text.replace(/\}$/, `,${JSON.stringify(field)}:"y"}`)
    const { status, body } = await sendText(path, twice)
    expect([status, body['code'], body['fields']]).toEqual([400, 'INVALID_REQUEST', { [field]: 'is given twice' }])
  })
})

const injected = [
  `'; drop table holds; --`,
  `hold_' or 1=1`,
  `%00`,
  '../hold',
  '{}',
  `hold_${'G'.repeat(32)}`,
  `HOLD_${'0'.repeat(32)}`,
]

test('an id that is none of a hold is not found, whatever it says', async () => {
  for (const id of injected) {
    for (const [path, rest] of [
      ['hold/capture', {}],
      ['hold/void', {}],
      ['hold/extend', { expiresIn: 60 }],
    ] as const) {
      const { status, body } = await client.post(`/api/server/wallet/${path}`, { ...credentials, holdId: id, ...rest })
      expect([status, body['code']]).toEqual([404, 'HOLD_NOT_FOUND'])
    }
    const { status, body } = await client.get('/api/server/wallet/hold', { holdId: id })
    expect([status, body['code']]).toEqual([404, 'HOLD_NOT_FOUND'])
  }
})

const queries: [path: string, field: string, values: readonly string[], good: () => Record<string, string>][] = [
  ['hold', 'holdId', ['', huge, 'a\nb'], () => ({ holdId })],
  ['holds', 'serviceUserId', ['', huge, 'a\nb'], () => ({ serviceUserId: su })],
  ['holds', 'status', ['', 'open', 'CLOSED', huge, nul, 'OPEN,VOIDED'], () => ({ serviceUserId: su })],
  ['holds', 'limit', ['', '0', '201', '-1', '1.5', 'x', '1e2', huge, nul], () => ({ serviceUserId: su })],
  ['holds', 'before', ['', '5', huge, nul, 'hold_', ...injected], () => ({ serviceUserId: su })],
]

describe.each(queries)('GET %s: %s', (path, field, values, good) => {
  test('is refused with its name', async () => {
    for (const value of values) {
      const { status, body } = await client.get(`/api/server/wallet/${path}`, { ...good(), [field]: value })
      const shown = `${value.slice(0, 40)}: ${JSON.stringify(body).slice(0, 200)}`
      expect([status, body['code'], Object.keys(body['fields'] ?? {})], shown).toEqual([
        400,
        'INVALID_REQUEST',
        [field],
      ])
    }
  })

  test('is refused when it is given twice', async () => {
    const query = new URLSearchParams({ ...credentials, ...good(), [field]: 'x' })
    query.append(field, 'y')
    const { status, body } = await client.call(new Request(`${origin}/api/server/wallet/${path}?${query}`))
    expect([status, body['fields']]).toEqual([400, { [field]: 'is given twice' }])
  })
})

test('texts that look like SQL, markup or a template are kept as they are', async () => {
  const text = `'; drop table holds; -- <script>alert(1)</script> \${7*7} "quoted" \\ {a,b} 🙂`
  const user = await newUser(opened.service, credentials)
  await client.credit(user.serviceUserId, 5)
  const asked = {
    serviceUserId: user.serviceUserId,
    amount: 5,
    referenceType: text.slice(0, 90),
    referenceId: text,
    description: text,
  }
  const placed = await client.post('/api/server/wallet/hold', { ...credentials, ...asked })
  const { referenceType, referenceId, description } = holdOf(placed)
  expect([referenceType, referenceId, description]).toEqual([asked.referenceType, text, text])
  const captured = await client.post('/api/server/wallet/hold/capture', { ...credentials, holdId: holdOf(placed).id })
  expect(captured.status).toBe(200)
})
