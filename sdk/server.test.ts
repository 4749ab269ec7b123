import { afterAll, beforeEach, describe, expect, test } from 'bun:test'
import { inspect } from 'node:util'
import { createServer } from 'node:net'
import { Billfold, BillfoldError } from './server.ts'
import type { BillfoldOptions } from './server.ts'

const clientSecret = 'sk_s3cr3t/+ with spaces&more=é'
const serviceUserId = 'su_V3ryPr1vate0123456789'
const linkCode = 'lc_0neT1meC0de'
const user = { serviceUserId }
const order = { ...user, amount: 19.99, referenceType: 'ORDER_PAYMENT', referenceId: 'order-1' }

type Seen = { method: string; path: string; query: Record<string, string>; headers: Headers; body: string }
type Script = (request: Request, seen: Seen) => Response | Promise<Response>

let seen: Seen[] = []
let script: Script[] = []

/** Answers the first request with the first entry of the script, and so on; the last entry stays. */
const service = Bun.serve({
  port: 0,
  hostname: '127.0.0.1',
  idleTimeout: 30,
  async fetch(request) {
    const url = new URL(request.url)
    const entry: Seen = {
      method: request.method,
      path: url.pathname,
      query: Object.fromEntries(url.searchParams),
      headers: request.headers,
      body: await request.text(),
    }
    seen.push(entry)
    const next = script.length > 1 ? script.shift() : script[0]
    return next ? await next(request, entry) : new Response(null, { status: 500 })
  },
})
afterAll(() => service.stop(true))
beforeEach(() => {
  seen = []
  script = []
})

function client(options: Partial<BillfoldOptions> = {}): Billfold {
  return new Billfold({ baseUrl: service.url.origin, clientId: 'app_1', clientSecret, ...options })
}

function answer(body: unknown, init: ResponseInit = {}): Script {
  return () => Response.json(body, init)
}

function refusal(status: number, body: object, headers: Record<string, string> = {}): Script {
  return answer({ error: 'No.', requestId: 'req_1', ...body }, { status, headers })
}

async function errorOf(promise: Promise<unknown>): Promise<BillfoldError> {
  const error = await promise.then(
    () => null,
    (thrown: unknown) => thrown,
  )
  expect(error).toBeInstanceOf(BillfoldError)
  return error as BillfoldError
}

/** Gives everything back that it was sent, in as many spellings as it knows. */
const echo: Script = (request, { body }) => {
  const text = `${request.url} ${body} ${decodeURIComponent(request.url)}`
  const echoed = {
    error: text,
    code: 'INVALID_REQUEST',
    requestId: text,
    fields: { [text]: text },
    declineCode: text,
  }
  return Response.json(echoed, { status: 400, headers: { 'x-request-id': encodeURIComponent(text) } })
}

function failing(error: unknown): typeof fetch {
  return (() => Promise.reject(error)) as unknown as typeof fetch
}

function twice(url: string): string {
  return encodeURIComponent(encodeURIComponent(url))
}

const wallet = { balance: 5, transactions: [], isActive: true, nextBefore: null }
const posted = { balance: 80.01, message: 'Debited.', transactionId: 'txn_1' }
const session = { sessionToken: 'ws_3f0c1f9e-6f5b-4d7e-9f55-0e7d6f0c8a11', expiresAt: '2025-03-01T10:00:00.000Z' }

describe('a call', () => {
  test('wallet sends everything in the query, as the contract says', async () => {
    script = [answer(wallet)]
    expect(await client().wallet({ ...user, limit: 10, before: 7 })).toEqual(wallet)
    expect(seen).toHaveLength(1)
    expect(seen[0]).toMatchObject({
      method: 'GET',
      path: '/api/server/wallet',
      query: { clientId: 'app_1', clientSecret, serviceUserId, limit: '10', before: '7' },
      body: '',
    })
  })

  test('checkBalance sends the amount as plain decimal text', async () => {
    script = [answer({ balance: 5, requiredAmount: 19.9, hasSufficientBalance: false })]
    const checked = await client().checkBalance({ ...user, requiredAmount: 19.9 })
    expect(checked.hasSufficientBalance).toBe(false)
    expect(seen[0]).toMatchObject({
      path: '/api/server/wallet/check-balance',
      query: { clientId: 'app_1', clientSecret, serviceUserId, requiredAmount: '19.9' },
    })
  })

  test.each(['debit', 'credit'] as const)(
    '%s sends everything in a JSON body and nothing in the address',
    async (verb) => {
      script = [answer(posted)]
      expect(await client()[verb]({ ...order, description: 'Shoes' })).toEqual({ ...posted, replayed: false })
      expect(seen[0]).toMatchObject({ method: 'POST', path: `/api/server/wallet/${verb}`, query: {} })
      expect(seen[0]?.headers.get('content-type')).toBe('application/json')
      expect(JSON.parse(seen[0]?.body ?? '')).toEqual({
        clientId: 'app_1',
        clientSecret,
        ...order,
        description: 'Shoes',
      })
    },
  )

  test('createSession gives the token and its end', async () => {
    script = [answer(session)]
    expect(await client().createSession({ ...user, parentOrigin: 'https://shop.example' })).toEqual(session)
    expect(seen[0]?.path).toBe('/api/widget/session')
    expect(JSON.parse(seen[0]?.body ?? '')).toEqual({
      clientId: 'app_1',
      clientSecret,
      serviceUserId,
      parentOrigin: 'https://shop.example',
    })
  })

  test('verifyLink gives the id that belongs to the code', async () => {
    script = [answer(user)]
    expect(await client().verifyLink({ linkCode })).toEqual(user)
    expect(seen[0]?.path).toBe('/api/server/link/verify')
    expect(JSON.parse(seen[0]?.body ?? '')).toEqual({ clientId: 'app_1', clientSecret, linkCode })
  })

  test('says that a debit was a replay, and in what it differs', async () => {
    script = [answer({ ...posted, replayed: true, mismatch: ['amount'] })]
    expect(await client().debit(order)).toEqual({ ...posted, replayed: true, mismatch: ['amount'] })
  })

  test('keeps the path of the base address', async () => {
    script = [answer(wallet)]
    await client({ baseUrl: `${service.url.origin}/money/` }).wallet(user)
    expect(seen[0]?.path).toBe('/money/api/server/wallet')
  })

  test('never looks like it came from a browser', async () => {
    script = [answer(posted)]
    await client().debit(order)
    expect(seen[0]?.headers.has('origin')).toBe(false)
    expect(seen[0]?.headers.has('sec-fetch-site')).toBe(false)
  })

  test('for a user without a link is refused before anything is sent', async () => {
    for (const missing of [undefined, null, '']) {
      const error = await errorOf(client().wallet({ serviceUserId: missing }))
      expect(error).toMatchObject({ code: 'ACCOUNT_NOT_LINKED', requiresAuth: true, status: 0 })
    }
    expect(seen).toHaveLength(0)
  })
})

describe('a refusal', () => {
  test('carries everything the service said about it', async () => {
    script = [
      refusal(400, {
        code: 'INSUFFICIENT_BALANCE',
        balance: 5,
        requiredAmount: 19.99,
        shortfall: 14.99,
        replayed: true,
      }),
    ]
    expect(await errorOf(client().debit(order))).toMatchObject({
      name: 'BillfoldError',
      message: 'No.',
      code: 'INSUFFICIENT_BALANCE',
      status: 400,
      requestId: 'req_1',
      requiresAuth: false,
      balance: 5,
      requiredAmount: 19.99,
      shortfall: 14.99,
      replayed: true,
      isRetryable: false,
    })
  })

  test('says when the user has to authenticate, and which fields are wrong', async () => {
    script = [refusal(401, { code: 'USER_NOT_FOUND', requiresAuth: true })]
    expect(await errorOf(client().wallet(user))).toMatchObject({ code: 'USER_NOT_FOUND', requiresAuth: true })
    script = [refusal(400, { code: 'INVALID_REQUEST', fields: { limit: 'is not between 1 and 200' } })]
    expect(await errorOf(client().wallet(user))).toMatchObject({ fields: { limit: 'is not between 1 and 200' } })
  })

  test.each([400, 401, 403, 404, 409, 413, 415, 500, 502, 504])('with status %i is not repeated', async (status) => {
    script = [refusal(status, { code: 'INTERNAL' })]
    expect((await errorOf(client().debit(order))).status).toBe(status)
    expect(seen).toHaveLength(1)
  })
})

describe('a repeated attempt', () => {
  test('follows a 503, with the same reference, and succeeds', async () => {
    script = [refusal(503, { code: 'UNAVAILABLE' }), refusal(503, { code: 'UNAVAILABLE' }), answer(posted)]
    expect((await client().debit(order)).balance).toBe(80.01)
    expect(seen).toHaveLength(3)
    expect(new Set(seen.map((request) => request.body)).size).toBe(1)
  })

  test('comes no earlier than Retry-After says', async () => {
    script = [refusal(429, { code: 'RATE_LIMITED' }, { 'retry-after': '1' }), answer(posted)]
    const start = performance.now()
    await client().debit(order)
    expect(performance.now() - start).toBeGreaterThanOrEqual(1000)
    expect(seen).toHaveLength(2)
  })

  test('is left to the caller when Retry-After is longer than a request should take', async () => {
    script = [refusal(429, { code: 'RATE_LIMITED' }, { 'retry-after': '3600' })]
    const error = await errorOf(client().debit(order))
    expect(error).toMatchObject({ code: 'RATE_LIMITED', retryAfterMs: 3_600_000, isRetryable: true })
    expect(seen).toHaveLength(1)
  })

  test('ends after maxRetries, with the last error', async () => {
    script = [refusal(503, { code: 'UNAVAILABLE' })]
    expect(await errorOf(client({ maxRetries: 1 }).debit(order))).toMatchObject({ code: 'UNAVAILABLE', status: 503 })
    expect(seen).toHaveLength(2)
  })

  test('does not happen with maxRetries 0', async () => {
    script = [refusal(503, { code: 'UNAVAILABLE' })]
    await errorOf(client({ maxRetries: 0 }).debit(order))
    expect(seen).toHaveLength(1)
  })

  test('follows a time-out', async () => {
    script = [() => new Promise(() => {}), answer(posted)]
    expect((await client({ timeoutMs: 150 }).debit(order)).balance).toBe(80.01)
    expect(seen).toHaveLength(2)
  })

  test('follows a connection that breaks before the answer', async () => {
    let connections = 0
    const flaky = createServer((socket) => {
      connections++
      const isFirst = connections === 1
      const body = JSON.stringify(posted)
      socket.once('data', () => {
        if (isFirst) socket.resetAndDestroy()
        else socket.end(`HTTP/1.1 200 OK\r\ncontent-length: ${body.length}\r\nconnection: close\r\n\r\n${body}`)
      })
    })
    const port = await new Promise<number>((resolve) => {
      flaky.listen(0, '127.0.0.1', () => resolve((flaky.address() as { port: number }).port))
    })
    try {
      expect((await client({ baseUrl: `http://127.0.0.1:${port}` }).debit(order)).balance).toBe(80.01)
      expect(connections).toBe(2)
    } finally {
      flaky.close()
    }
  })

  test('stops waiting when the caller aborts', async () => {
    script = [refusal(503, { code: 'UNAVAILABLE' }, { 'retry-after': '20' })]
    const start = performance.now()
    const error = await errorOf(client().debit(order, { signal: AbortSignal.timeout(100) }))
    expect(error.code).toBe('ABORTED')
    expect(performance.now() - start).toBeLessThan(5000)
    expect(seen).toHaveLength(1)
  })
})

describe('a bad answer', () => {
  test.each([
    [
      'HTML',
      () => new Response('<h1>502 Bad Gateway</h1>', { status: 502, headers: { 'x-request-id': 'edge-7' } }),
      502,
    ],
    ['HTML with status 200', () => new Response('<h1>Welcome</h1>'), 200],
    ['nothing', () => new Response(null, { status: 204 }), 204],
    ['an array', answer([1]), 200],
    ['null', answer(null), 200],
    ['JSON of another shape', answer({ hello: 'world' }), 200],
    ['a balance that is text', answer({ ...posted, balance: '80.01' }), 200],
    ['a redirect', () => Response.redirect('https://elsewhere.example/'), 302],
    ['megabytes', () => new Response(`{"balance":1,"message":"${'x'.repeat(3_000_000)}"}`), 200],
    ['an error without a code', answer({ oops: true }, { status: 500 }), 500],
  ] as [string, Script, number][])('%s is a BAD_RESPONSE and is not repeated', async (_name, entry, status) => {
    script = [entry]
    expect(await errorOf(client().debit(order))).toMatchObject({ code: 'BAD_RESPONSE', status })
    expect(seen).toHaveLength(1)
  })

  test('without an end is cut off by the time-out', async () => {
    const endless = new ReadableStream({
      async pull(controller) {
        await Bun.sleep(20)
        controller.enqueue(' ')
      },
    })
    script = [() => new Response(endless)]
    expect((await errorOf(client({ timeoutMs: 200, maxRetries: 0 }).debit(order))).code).toBe('TIMED_OUT')
  })

  test('of a fetch that ignores its signal is cut off all the same', async () => {
    const deaf = (() => new Promise(() => {})) as unknown as typeof fetch
    expect((await errorOf(client({ timeoutMs: 50, maxRetries: 0, fetch: deaf }).debit(order))).code).toBe('TIMED_OUT')
  })
})

describe('the secret and the id of the user', () => {
  const hidden = [clientSecret, encodeURIComponent(clientSecret), serviceUserId, linkCode, 'sk_s3cr3t', 'V3ryPr1vate']

  function expectNoLeak(value: unknown): void {
    const error = value as Error
    const views = [
      inspect(error, { depth: 20, showHidden: true, getters: true }),
      Bun.inspect(error),
      JSON.stringify(error),
      String(error),
      error.stack ?? '',
      JSON.stringify(Object.getOwnPropertyNames(error).map((name) => String(Reflect.get(error, name)))),
    ]
    for (const view of views) for (const text of hidden) expect(view).not.toContain(text)
  }

  const leaky = Object.assign(new Error(`fetch failed: ?clientSecret=${clientSecret}`), {
    code: clientSecret,
    path: `http://x/?clientSecret=${clientSecret}`,
    cause: new Error(serviceUserId),
  })

  const faults: [string, Script[], Partial<BillfoldOptions>][] = [
    ['a refusal that echoes the request', [echo], {}],
    ['a proxy that echoes the request in HTML', [(request) => new Response(request.url, { status: 502 })], {}],
    [
      'a header that echoes the request',
      [(request) => new Response('x', { headers: { 'x-request-id': request.url } })],
      {},
    ],
    [
      'an address that was encoded again and again',
      [(request) => answer({ error: twice(request.url) }, { status: 400 })(request, seen[0]!)],
      {},
    ],
    ['a code that echoes the secret', [answer({ error: 'x', code: clientSecret }, { status: 400 })], {}],
    ['503 for ever', [refusal(503, { code: 'UNAVAILABLE' })], {}],
    ['a time-out', [() => new Promise(() => {})], { timeoutMs: 50 }],
    ['a refused connection', [], { baseUrl: 'http://127.0.0.1:1' }],
    ['a host that does not exist', [], { baseUrl: 'http://nothing.invalid' }],
    ['a redirect', [(request) => Response.redirect(`https://elsewhere.example/?${new URL(request.url).search}`)], {}],
    ['a fetch whose error holds the address', [], { fetch: failing(leaky) }],
    ['a fetch that throws text', [], { fetch: failing(clientSecret) }],
    ['an answer that is too large', [() => new Response(clientSecret.repeat(200_000))], {}],
  ]

  test.each(faults)('are in no error after %s', async (_name, entries, options) => {
    const billfold = client({ maxRetries: 0, ...options })
    const calls = [
      () => billfold.wallet(user),
      () => billfold.checkBalance({ ...user, requiredAmount: 1 }),
      () => billfold.debit(order),
      () => billfold.credit(order),
      () => billfold.createSession(user),
      () => billfold.verifyLink({ linkCode }),
    ]
    for (const run of calls) {
      script = [...entries]
      const error = await errorOf(run())
      expectNoLeak(error)
      expect(error.cause).toBeUndefined()
    }
  })

  test('are not in the client itself', () => {
    expectNoLeak(client())
  })

  test.each([
    ['no address', { baseUrl: 'nowhere' }],
    ['an address of another kind', { baseUrl: 'ftp://x' }],
    ['credentials in the address', { baseUrl: `http://u:${encodeURIComponent(clientSecret)}@x.example` }],
    ['a query in the address', { baseUrl: 'http://x.example/?a=1' }],
    ['no clientId', { clientId: '' }],
    ['no time', { timeoutMs: 0 }],
    ['half a retry', { maxRetries: 0.5 }],
  ])('are not in the complaint about %s', (_name, options) => {
    let thrown: unknown
    try {
      client(options)
    } catch (error) {
      thrown = error
    }
    expect(thrown).toBeInstanceOf(TypeError)
    expectNoLeak(thrown)
  })
})

test('a network fault is named by its code', async () => {
  const error = await errorOf(client({ baseUrl: 'http://127.0.0.1:1', maxRetries: 0 }).debit(order))
  expect(error).toMatchObject({ code: 'NETWORK_ERROR', status: 0, isRetryable: true })
  expect(error.message).toMatch(/^POST \/api\/server\/wallet\/debit got no answer: (ECONNREFUSED|ConnectionRefused)\.$/)
})
