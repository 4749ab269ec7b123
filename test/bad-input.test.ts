/** Every field of every server route with bad input: the right 4xx that names the field, never a 5xx, and no money moves. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { expectBalancedBooks } from './books.ts'
import { newClient, type Client } from './client.ts'
import { newApp, newUser, openTestService, type Credentials, type TestService } from './service.ts'

let opened: TestService
let credentials: Credentials
let client: Client
let su: string
let requests = 0

beforeAll(async () => {
  opened = await openTestService()
  credentials = await newApp(opened.service)
  // Each request has a new address, so that wrong secrets of one do not slow another.
  client = newClient((request) => opened.app.fetch(request, `10.0.0.${++requests}`), credentials)
  su = (await newUser(opened.service, credentials)).serviceUserId
  await client.credit(su, 50)
})
afterAll(async () => {
  expect(await client.balance(su)).toBe(50)
  await expectBalancedBooks(opened.service)
  await opened.close()
})

const origin = 'http://billfold.test'
const debitPath = '/api/server/wallet/debit'
const creditPath = '/api/server/wallet/credit'

const good = () => ({
  ...credentials,
  serviceUserId: su,
  amount: 1,
  referenceType: 'ORDER',
  referenceId: `bad-${Math.random()}`,
})

const nul = 'a\u0000b'
const loneSurrogate = 'a\ud800b'
const badText = [undefined, null, 5, true, [], {}, '', 'x'.repeat(10_000), nul, loneSurrogate, 'a\nb', '\u0085']
const badAmounts = [
  undefined,
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

/** The JSON text of an amount, and the one cause for which it is refused, the same on every route. */
const amountCauses = [
  ['', 'is missing'],
  ['"5"', 'must be a JSON number such as 25'],
  ['null', 'must be a JSON number such as 25'],
  ['[5]', 'must be a JSON number such as 25'],
  ['0', 'must be above 0'],
  ['-0', 'must be above 0'],
  ['-5', 'must be above 0'],
  ['-0.001', 'must be above 0'],
  ['0.001', 'has more than 2 decimals'],
  ['19.999', 'has more than 2 decimals'],
  ['1000000000', 'must be at most 999999999.99'],
  ['1e309', 'must be at most 999999999.99'],
  ['0.30000000000000004', 'has more digits than a number can hold'],
] as const

const withAmount = (text: string, input: object = good()) =>
  text === ''
    ? JSON.stringify({ ...input, amount: undefined })
    : JSON.stringify({ ...input, amount: '@' }).replace('"@"', text)

test.each(amountCauses)(
  'in a list of operations and in a top-up, %s is refused for the same cause',
  async (text, problem) => {
    const { clientId, clientSecret, ...operation } = good()
    const operations = `[${withAmount(text, { ...operation, direction: 'credit' })}]`
    const list = JSON.stringify({ clientId, clientSecret, operations: '@' }).replace('"@"', operations)
    const { body: listed } = await send('/api/server/wallet/bulk', list)
    const created = await client.post('/api/widget/session', { ...credentials, serviceUserId: su })
    const path = `/api/widget/topup/create-intent?session=${String(created.body['sessionToken'])}`
    const { body: topup } = await send(path, withAmount(text, {}))
    const refusal = { code: 'INVALID_AMOUNT', error: `The amount ${problem}.`, fields: { amount: problem } }
    expect((listed['results'] as object[])[0]).toMatchObject({ status: 400, ...refusal })
    expect(topup).toMatchObject(refusal)
  },
)

/** Undefined keys are left out, so this also tests each missing field. */
const body = (changes: Record<string, unknown>) => JSON.stringify({ ...good(), ...changes })

async function send(path: string, text: BodyInit, headers: Record<string, string> = {}) {
  return await client.call(
    new Request(origin + path, {
      method: 'POST',
      body: text,
      headers: { 'content-type': 'application/json', ...headers },
    }),
  )
}

describe.each([debitPath, creditPath])('%s', (path) => {
  test.each(['serviceUserId', 'referenceType', 'referenceId'])(
    `${path} refuses a bad %s and names it`,
    async (field) => {
      for (const value of badText) {
        const reply = await send(path, body({ [field]: value }))
        expect([value, reply.status, reply.body['code']]).toEqual([value, 400, 'INVALID_REQUEST'])
        expect(Object.keys(reply.body['fields'] as object)).toEqual([field])
      }
    },
  )

  test(`${path} refuses a bad amount with its own code`, async () => {
    for (const value of badAmounts) {
      const reply = await send(path, body({ amount: value }))
      expect([value, reply.status, reply.body['code']]).toEqual([value, 400, 'INVALID_AMOUNT'])
      expect(Object.keys(reply.body['fields'] as object)).toEqual(['amount'])
    }
  })

  test.each(amountCauses)(`${path} says why %s is no amount`, async (text, problem) => {
    const reply = await send(path, withAmount(text))
    expect(reply).toMatchObject({ status: 400, body: { code: 'INVALID_AMOUNT', fields: { amount: problem } } })
    expect(reply.body['error']).toBe(`The amount ${problem}.`)
  })

  test.each(['1e309', '-0', '19.990000000000000001', '0.1000000000000000055511151231257827', '1e-400'])(
    `${path} refuses the number %s, which a double would bend into an amount`,
    async (text) => {
      const reply = await send(path, withAmount(text))
      expect([reply.status, reply.body['code']]).toEqual([400, 'INVALID_AMOUNT'])
    },
  )

  test(`${path} refuses a bad description, and takes a missing one`, async () => {
    for (const value of [5, true, [], {}, 'x'.repeat(501), nul, loneSurrogate]) {
      const reply = await send(path, body({ description: value }))
      expect([value, reply.status, reply.body['code']]).toEqual([value, 400, 'INVALID_REQUEST'])
      expect(Object.keys(reply.body['fields'] as object)).toEqual(['description'])
    }
  })

  test(`${path} names every wrong field at once`, async () => {
    const reply = await send(path, JSON.stringify({ ...credentials, amount: 'x' }))
    expect(reply.body['code']).toBe('INVALID_REQUEST')
    expect(Object.keys(reply.body['fields'] as object).sort()).toEqual([
      'amount',
      'referenceId',
      'referenceType',
      'serviceUserId',
    ])
  })

  test.each(['clientId', 'clientSecret'])(
    `${path} answers a bad %s with INVALID_CLIENT and nothing else`,
    async (field) => {
      for (const value of [undefined, null, 5, true, [], {}, '', 'x'.repeat(10_000), nul, loneSurrogate]) {
        const reply = await send(path, body({ [field]: value, amount: 'also wrong' }))
        expect([value, reply.status, reply.body['code']]).toEqual([value, 401, 'INVALID_CLIENT'])
        expect(reply.body).not.toHaveProperty('fields')
      }
    },
  )

  test.each(['amount', 'referenceId', 'serviceUserId', 'clientId', 'clientSecret', 'description'])(
    `${path} refuses %s given twice, even with the same value`,
    async (field) => {
      const text = body({ description: 'x' })
      const value = (JSON.parse(text) as Record<string, unknown>)[field]
      const reply = await send(path, `{"${field}":${JSON.stringify(value)},${text.slice(1)}`)
      expect([reply.status, reply.body['code']]).toEqual([400, 'INVALID_REQUEST'])
      expect(Object.keys(reply.body['fields'] as object)).toEqual([field])
    },
  )

  test(`${path} refuses an escaped repeat of a key too`, async () => {
    const reply = await send(path, `{"am\\u006funt":2,${body({}).slice(1)}`)
    expect([reply.status, reply.body['fields']]).toEqual([400, { amount: 'is given twice' }])
  })

  test.each([
    ['nothing', ''],
    ['half an object', '{"clientId":'],
    ['text after the object', '{} x'],
    ['an array', '[]'],
    ['a number', '5'],
    ['null', 'null'],
    ['a byte order mark and no more', '\ufeff'],
    ['depth 10,000 of arrays', '['.repeat(10_000)],
    ['depth 10,000 of objects', `${'{"a":'.repeat(10_000)}1${'}'.repeat(10_000)}`],
  ])(`${path} refuses %s as a body`, async (_, text) => {
    const reply = await send(path, text)
    expect([400, 401]).toContain(reply.status)
    expect(['INVALID_REQUEST', 'INVALID_CLIENT']).toContain(reply.body['code'] as string)
  })

  test(`${path} refuses a body that is not UTF-8`, async () => {
    const bytes = new Uint8Array(Buffer.from(body({ referenceId: 'caf\u00e9' }), 'latin1'))
    const reply = await send(path, bytes)
    expect([reply.status, reply.body['code']]).toEqual([400, 'INVALID_REQUEST'])
  })

  test(`${path} treats __proto__ and constructor as ordinary keys`, async () => {
    const text = `{"__proto__":{"amount":5,"isAdmin":true},"constructor":{"prototype":{"amount":5}},${body({ amount: undefined }).slice(1)}`
    const reply = await send(path, text)
    expect([reply.status, reply.body['code']]).toEqual([400, 'INVALID_AMOUNT'])
    expect(({} as Record<string, unknown>)['isAdmin']).toBeUndefined()
  })

  test(`${path} takes a body of exactly 64 KiB and refuses one byte more, declared or not`, async () => {
    const text = body({ amount: 'no' })
    const padded = (length: number) => `${text.slice(0, -1)}${' '.repeat(length - text.length)}}`
    expect((await send(path, padded(65_536))).status).toBe(400)
    expect((await send(path, padded(65_537))).status).toBe(413)
    const stream = new ReadableStream({
      start(controller) {
        controller.enqueue(new TextEncoder().encode(padded(65_537)))
        controller.close()
      },
    })
    const reply = await send(path, stream)
    expect([reply.status, reply.body['code']]).toEqual([413, 'PAYLOAD_TOO_LARGE'])
  })

  test.each([
    'text/plain',
    'application/x-www-form-urlencoded',
    'multipart/form-data',
    'application/json; charset=latin1',
    '',
  ])(`${path} refuses the content type %p`, async (type) => {
    const reply = await send(path, body({}), { 'content-type': type })
    expect([reply.status, reply.body['code']]).toEqual([415, 'UNSUPPORTED_MEDIA_TYPE'])
  })

  test.each(['application/json', 'application/json; charset=utf-8', 'Application/JSON;charset="UTF-8"'])(
    `${path} takes the content type %p`,
    async (type) => {
      expect((await send(path, body({ amount: 'no' }), { 'content-type': type })).status).toBe(400)
    },
  )

  test(`${path} accepts credentials only in the body`, async () => {
    const { clientId: _, clientSecret: __, ...rest } = good()
    const query = new URLSearchParams(credentials)
    const basic = btoa(`${credentials.clientId}:${credentials.clientSecret}`)
    const headers = { authorization: `Basic ${basic}`, 'x-client-id': credentials.clientId }
    const reply = await send(`${path}?${query}`, JSON.stringify(rest), headers)
    expect([reply.status, reply.body['code']]).toEqual([401, 'INVALID_CLIENT'])
  })
})

const query = (changes: Record<string, string> = {}) =>
  new URLSearchParams({ ...credentials, serviceUserId: su, requiredAmount: '1', ...changes })

describe.each(['/api/server/wallet', '/api/server/wallet/check-balance'])('%s', (path) => {
  const get = (query: string) => client.call(new Request(`${origin}${path}?${query}`))

  test.each(['', 'x'.repeat(10_000), nul, 'a\nb'])(
    `${path} refuses the serviceUserId %p and names it`,
    async (value) => {
      const reply = await get(String(query({ serviceUserId: value })))
      expect([reply.status, Object.keys(reply.body['fields'] as object)]).toEqual([400, ['serviceUserId']])
    },
  )

  test(`${path} answers broken percent-encoding and lone surrogates like an unknown user`, async () => {
    for (const value of ['%ED%A0%80', '%C0%80', '%', '%zz', '%ff']) {
      const search = query()
      search.delete('serviceUserId')
      const reply = await get(`${search}&serviceUserId=${value}`)
      expect([value, reply.status]).toEqual([value, 401])
    }
  })

  test(`${path} refuses a parameter given twice`, async () => {
    for (const name of ['serviceUserId', 'clientId', 'clientSecret', 'anything']) {
      const reply = await get(`${query({ [name]: 'x', ...credentials, serviceUserId: su })}&${name}=x`)
      expect([name, reply.status, Object.keys(reply.body['fields'] as object)]).toEqual([name, 400, [name]])
    }
  })

  test(`${path} answers missing and wrong credentials with one and the same body`, async () => {
    const bodies = new Set<string>()
    for (const [name, value] of [
      ['clientId', ''],
      ['clientSecret', ''],
      ['clientSecret', 'bfs_wrong'],
      ['clientId', 'app_none'],
    ] as const) {
      const reply = await get(String(query({ [name]: value })))
      expect(reply.status).toBe(401)
      const { requestId: _, ...rest } = reply.body
      bodies.add(JSON.stringify(rest))
    }
    expect(bodies.size).toBe(1)
  })
})

test.each(['0', '201', '-1', '1.5', 'ten', '', '1e2', '9'.repeat(30)])(
  'the limit %p is refused and named',
  async (limit) => {
    const reply = await client.wallet(su, { limit })
    expect([reply.status, Object.keys(reply.body['fields'] as object)]).toEqual([400, ['limit']])
  },
)

test.each(['0', '-1', 'x', '', '9'.repeat(30)])('the page start %p is refused and named', async (before) => {
  const reply = await client.wallet(su, { before })
  expect([reply.status, Object.keys(reply.body['fields'] as object)]).toEqual([400, ['before']])
})

test.each([
  ['', 'must be plain decimal text such as 25'],
  ['-1', 'must be 0 or above'],
  ['1.001', 'has more than 2 decimals'],
  ['9'.repeat(40), 'has more than 16 digits before the point'],
  ...['1e3', 'NaN', 'Infinity', '0x10', ' 1', '1,5', '٣', '007', '1.', '.5'].map(
    (text) => [text, 'must be plain decimal text such as 25'] as const,
  ),
])('the requiredAmount %p is refused with its own code: it %s', async (requiredAmount, problem) => {
  const reply = await client.checkBalance(su, requiredAmount)
  expect(reply).toMatchObject({ status: 400, body: { code: 'INVALID_AMOUNT', fields: { requiredAmount: problem } } })
  expect(reply.body['error']).toBe(`The requiredAmount ${problem}.`)
})

test('a missing requiredAmount is refused as missing', async () => {
  const query = new URLSearchParams({ ...credentials, serviceUserId: su })
  const reply = await client.call(new Request(`${origin}/api/server/wallet/check-balance?${query}`))
  expect(reply).toMatchObject({
    status: 400,
    body: { code: 'INVALID_AMOUNT', error: 'The requiredAmount is missing.' },
  })
})

describe('the wrong method or path', () => {
  const paths = {
    [debitPath]: 'POST',
    [creditPath]: 'POST',
    '/api/server/wallet': 'GET',
    '/api/server/wallet/check-balance': 'GET',
  }
  test.each(Object.entries(paths))('%s has %s and no other method', async (path, allowed) => {
    for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS', 'PROPFIND']) {
      if (method === allowed) continue
      const response = await opened.app.fetch(new Request(origin + path, { method }))
      expect([method, response.status, response.headers.get('allow')]).toEqual([method, 405, allowed])
      expect([...response.headers.keys()].filter((name) => name.startsWith('access-control'))).toEqual([])
    }
  })

  test.each([
    '/',
    '/api',
    '/api/server',
    '/api/server/wallet/',
    '/api/server/wallet/debit/x',
    '/API/server/wallet',
    '/%00',
    '/..%2f..%2fetc/passwd',
    '/api/server//wallet',
  ])('%s is not there, and says so in JSON', async (path) => {
    const response = await opened.app.fetch(new Request(origin + path))
    expect(response.status).toBe(404)
    expect(await response.json()).toMatchObject({ code: 'NOT_FOUND' })
  })
})

test('no answer, good or bad, lacks the security headers', async () => {
  const responses = [
    await opened.app.fetch(new Request(`${origin}/healthz`)),
    await opened.app.fetch(new Request(`${origin}/nowhere`)),
    await opened.app.fetch(new Request(`${origin}${debitPath}`)),
    await opened.app.fetch(new Request(`${origin}${debitPath}`, { method: 'POST' })),
    await opened.app.fetch(new Request(`${origin}/metrics`)),
    await opened.app.fetch(new Request(`${origin}/docs`)),
  ]
  for (const { headers } of responses) {
    expect(headers.get('content-security-policy')).toContain("default-src 'none'")
    expect(headers.get('content-security-policy')).toContain("frame-ancestors 'none'")
    expect(headers.get('x-content-type-options')).toBe('nosniff')
    expect(headers.get('x-frame-options')).toBe('DENY')
    expect(headers.get('referrer-policy')).toBe('no-referrer')
    expect(headers.get('cache-control')).toBe('no-store')
    expect(headers.get('x-request-id')).toMatch(/^req_/)
  }
})

test('nothing that was sent is in the log: no secret, no user, no path, no query', async () => {
  const marks = ['S3CRETMARK', credentials.clientSecret, su]
  await client.call(new Request(`${origin}/S3CRETMARK?S3CRETMARK=S3CRETMARK`))
  await client.call(new Request(`${origin}/api/server/wallet/S3CRETMARK`))
  await client.call(
    new Request(`${origin}/api/server/wallet?clientId=S3CRETMARK&clientSecret=S3CRETMARK&serviceUserId=S3CRETMARK`),
  )
  await send(debitPath, body({ description: 'S3CRETMARK', referenceId: 'S3CRETMARK', amount: 'S3CRETMARK' }))
  await send(debitPath, 'S3CRETMARK')
  await client.wallet(su)
  expect(opened.logged.length).toBeGreaterThan(5)
  for (const mark of marks) expect(opened.logged.filter((line) => line.includes(mark))).toEqual([])
  const metrics = await opened.service.metrics.registry.metrics()
  for (const mark of marks) expect(metrics).not.toContain(mark)
})
