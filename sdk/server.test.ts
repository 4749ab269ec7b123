import { afterAll, beforeEach, describe, expect, test } from 'bun:test'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { answer, clientSecret, errorOf, linkCode, order, refusal } from './test/scripted-service.ts'
import { serviceUserId, startScriptedService, user } from './test/scripted-service.ts'
import type { Entry } from './test/scripted-service.ts'

const service = startScriptedService()
afterAll(() => service.stop())
beforeEach(() => service.play())

const wallet = { balance: 5, transactions: [], isActive: true, currency: 'USD', nextBefore: null }
const posted = { balance: 80.01, message: 'Debited.', transactionId: 'txn_1' }
const session = { sessionToken: 'ws_3f0c1f9e-6f5b-4d7e-9f55-0e7d6f0c8a11', expiresAt: '2025-03-01T10:00:00.000Z' }

describe('calls', () => {
  test('wallet sends everything in the query, as the contract says', async () => {
    service.play(answer(wallet))
    expect(await service.client().wallet({ ...user, limit: 10, before: 7 })).toEqual(wallet)
    expect(service.seen()).toHaveLength(1)
    expect(service.seen()[0]).toMatchObject({
      method: 'GET',
      path: '/api/server/wallet',
      query: { clientId: 'app_1', clientSecret, serviceUserId, limit: '10', before: '7' },
      body: '',
    })
  })

  test('checkBalance sends the amount as plain decimal text', async () => {
    service.play(answer({ balance: 5, requiredAmount: 19.9, hasSufficientBalance: false }))
    const checked = await service.client().checkBalance({ ...user, requiredAmount: 19.9 })
    expect(checked.hasSufficientBalance).toBe(false)
    expect(service.seen()[0]).toMatchObject({
      path: '/api/server/wallet/check-balance',
      query: { clientId: 'app_1', clientSecret, serviceUserId, requiredAmount: '19.9' },
    })
  })

  test.each(['debit', 'credit'] as const)(
    '%s sends everything in a JSON body and nothing in the address',
    async (verb) => {
      service.play(answer(posted))
      expect(await service.client()[verb]({ ...order, description: 'Shoes' })).toEqual({ ...posted, replayed: false })
      expect(service.seen()[0]).toMatchObject({ method: 'POST', path: `/api/server/wallet/${verb}`, query: {} })
      expect(service.seen()[0]?.headers.get('content-type')).toBe('application/json')
      expect(JSON.parse(service.seen()[0]?.body ?? '')).toEqual({
        clientId: 'app_1',
        clientSecret,
        ...order,
        description: 'Shoes',
      })
    },
  )

  test('createSession gives the token and its end', async () => {
    service.play(answer(session))
    expect(await service.client().createSession({ ...user, parentOrigin: 'https://shop.example' })).toEqual(session)
    expect(service.seen()[0]?.path).toBe('/api/widget/session')
    expect(JSON.parse(service.seen()[0]?.body ?? '')).toEqual({
      clientId: 'app_1',
      clientSecret,
      serviceUserId,
      parentOrigin: 'https://shop.example',
    })
  })

  test('verifyLink gives the id that belongs to the code', async () => {
    service.play(answer(user))
    expect(await service.client().verifyLink({ linkCode })).toEqual(user)
    expect(service.seen()[0]?.path).toBe('/api/server/link/verify')
    expect(JSON.parse(service.seen()[0]?.body ?? '')).toEqual({ clientId: 'app_1', clientSecret, linkCode })
  })

  test('a replayed debit is marked, with the fields that differ', async () => {
    service.play(answer({ ...posted, replayed: true, mismatch: ['amount', 'user', 'direction'] }))
    expect(await service.client().debit(order)).toEqual({
      ...posted,
      replayed: true,
      mismatch: ['amount', 'user', 'direction'],
    })
  })

  test('a call keeps the path of the base address', async () => {
    service.play(answer(wallet))
    await service.client({ baseUrl: `${service.origin}/money/` }).wallet(user)
    expect(service.seen()[0]?.path).toBe('/money/api/server/wallet')
  })

  test('a call never looks like it came from a browser', async () => {
    service.play(answer(posted))
    await service.client().debit(order)
    expect(service.seen()[0]?.headers.has('origin')).toBe(false)
    expect(service.seen()[0]?.headers.has('sec-fetch-site')).toBe(false)
  })

  test('a call for a user without a link is refused before anything is sent', async () => {
    for (const missing of [undefined, null, '']) {
      const error = await errorOf(service.client().wallet({ serviceUserId: missing }))
      expect(error).toMatchObject({ code: 'ACCOUNT_NOT_LINKED', requiresAuth: true, status: 0 })
    }
    expect(service.seen()).toHaveLength(0)
  })
})

describe('refusals', () => {
  test('a refusal carries every field of the service’s answer', async () => {
    service.play(
      refusal(400, {
        code: 'INSUFFICIENT_BALANCE',
        balance: 5,
        requiredAmount: 19.99,
        shortfall: 14.99,
        replayed: true,
      }),
    )
    expect(await errorOf(service.client().debit(order))).toMatchObject({
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

  test('a refusal says when the user has to authenticate, and which fields are wrong', async () => {
    service.play(refusal(401, { code: 'USER_NOT_FOUND', requiresAuth: true }))
    expect(await errorOf(service.client().wallet(user))).toMatchObject({ code: 'USER_NOT_FOUND', requiresAuth: true })
    service.play(refusal(400, { code: 'INVALID_REQUEST', fields: { limit: 'is not between 1 and 200' } }))
    expect(await errorOf(service.client().wallet(user))).toMatchObject({
      fields: { limit: 'is not between 1 and 200' },
    })
  })

  test.each([400, 401, 403, 404, 409, 413, 415])('a refusal with status %i is not repeated', async (status) => {
    service.play(refusal(status, { code: 'INVALID_REQUEST' }))
    expect(await errorOf(service.client().debit(order))).toMatchObject({ status, isRetryable: false })
    expect(service.seen()).toHaveLength(1)
  })

  test('a refusal names the address, without its query', async () => {
    service.play(refusal(401, { code: 'INVALID_CLIENT' }))
    expect(await errorOf(service.client().wallet(user))).toMatchObject({
      url: `${service.origin}/api/server/wallet`,
      status: 401,
    })
  })
})

describe('repeated attempts', () => {
  test('a repeated attempt follows a 503, with the same reference, and succeeds', async () => {
    service.play(refusal(503, { code: 'UNAVAILABLE' }), refusal(503, { code: 'UNAVAILABLE' }), answer(posted))
    expect((await service.client().debit(order)).balance).toBe(80.01)
    expect(service.seen()).toHaveLength(3)
    expect(new Set(service.seen().map((request) => request.body)).size).toBe(1)
  })

  test('a repeated attempt follows a body that arrived too late, for which nothing was done', async () => {
    service.play(refusal(408, { code: 'REQUEST_TIMEOUT' }), answer(posted))
    expect((await service.client().debit(order)).balance).toBe(80.01)
    expect(service.seen()).toHaveLength(2)
  })

  test('a repeated attempt comes no earlier than Retry-After says', async () => {
    service.play(refusal(429, { code: 'RATE_LIMITED' }, { 'retry-after': '1' }), answer(posted))
    const start = performance.now()
    await service.client().debit(order)
    // A timer may fire slightly early.
    expect(performance.now() - start).toBeGreaterThanOrEqual(990)
    expect(service.seen()).toHaveLength(2)
  })

  test('a repeated attempt is left to the caller when Retry-After is longer than a request should take', async () => {
    service.play(refusal(429, { code: 'RATE_LIMITED' }, { 'retry-after': '3600' }))
    const error = await errorOf(service.client().debit(order))
    expect(error).toMatchObject({ code: 'RATE_LIMITED', retryAfterMs: 3_600_000, isRetryable: true })
    expect(service.seen()).toHaveLength(1)
  })

  test('a repeated attempt ends after maxRetries, with the last error', async () => {
    service.play(refusal(503, { code: 'UNAVAILABLE' }))
    expect(await errorOf(service.client({ maxRetries: 1 }).debit(order))).toMatchObject({
      code: 'UNAVAILABLE',
      status: 503,
    })
    expect(service.seen()).toHaveLength(2)
  })

  test('a repeated attempt does not happen with maxRetries 0', async () => {
    service.play(refusal(503, { code: 'UNAVAILABLE' }))
    await errorOf(service.client({ maxRetries: 0 }).debit(order))
    expect(service.seen()).toHaveLength(1)
  })

  test('a repeated attempt follows a time-out', async () => {
    service.play(() => new Promise(() => {}), answer(posted))
    expect((await service.client({ timeoutMs: 1_000 }).debit(order)).balance).toBe(80.01)
    // One more attempt if a busy machine was late with the second answer too.
    expect(service.seen().length).toBeOneOf([2, 3])
  })

  test('a repeated attempt follows a connection that breaks before the answer', async () => {
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
      expect((await service.client({ baseUrl: `http://127.0.0.1:${port}` }).debit(order)).balance).toBe(80.01)
      expect(connections).toBe(2)
    } finally {
      flaky.close()
    }
  })

  test('a repeated attempt stops waiting when the caller aborts', async () => {
    const caller = new AbortController()
    service.play((request, seen) => {
      setTimeout(() => caller.abort(), 100)
      return refusal(503, { code: 'UNAVAILABLE' }, { 'retry-after': '20' })(request, seen)
    })
    const start = performance.now()
    const error = await errorOf(service.client().debit(order, { signal: caller.signal }))
    // Aborted by the caller, but the attempt before may have moved the money.
    expect(error).toMatchObject({ code: 'ABORTED', isRetryable: true, cause: { status: 503 } })
    expect(performance.now() - start).toBeLessThan(20_000)
    expect(service.seen()).toHaveLength(1)
  })
})

describe('bad answers', () => {
  const unreadable = [
    ['HTML with status 200', () => new Response('<h1>Welcome</h1>'), 200],
    ['nothing', () => new Response(null, { status: 204 }), 204],
    ['an array', answer([1]), 200],
    ['null', answer(null), 200],
    ['JSON of another shape', answer({ hello: 'world' }), 200],
    ['a balance that is text', answer({ ...posted, balance: '80.01' }), 200],
    ['megabytes', () => new Response(`{"balance":1,"message":"${'x'.repeat(3_000_000)}"}`), 200],
  ] as [string, Entry, number][]

  test.each([
    ...unreadable,
    [
      'HTML',
      () => new Response('<h1>502 Bad Gateway</h1>', { status: 502, headers: { 'x-request-id': 'edge-7' } }),
      502,
    ],
    ['an error without a code', answer({ oops: true }, { status: 500 }), 500],
  ] as [string, Entry, number][])(
    'an answer of %s to a debit is a BAD_RESPONSE, and is repeated: the debit may be done',
    async (_name, entry, status) => {
      service.play(entry, answer({ ...posted, replayed: true }))
      expect((await service.client().debit(order)).replayed).toBe(true)
      service.play(entry)
      const error = await errorOf(service.client({ maxRetries: 0 }).debit(order))
      expect(error).toMatchObject({ code: 'BAD_RESPONSE', status, isRetryable: true })
    },
  )

  test.each(unreadable)(
    'an answer of %s to a read is a BAD_RESPONSE and is not repeated',
    async (_name, entry, status) => {
      service.play(entry)
      const error = await errorOf(service.client().checkBalance({ ...user, requiredAmount: 1 }))
      expect(error).toMatchObject({ code: 'BAD_RESPONSE', status, isRetryable: false })
      expect(service.seen()).toHaveLength(1)
    },
  )

  test.each([
    ['a redirect', () => Response.redirect('https://elsewhere.example/'), 302],
    ['a page of a firewall', () => new Response('<h1>Forbidden</h1>', { status: 403 }), 403],
  ] as [string, Entry, number][])(
    'an answer of %s is a BAD_RESPONSE and is not repeated',
    async (_name, entry, status) => {
      service.play(entry)
      const error = await errorOf(service.client().debit(order))
      expect(error).toMatchObject({ code: 'BAD_RESPONSE', status, isRetryable: false })
      expect(service.seen()).toHaveLength(1)
    },
  )

  test('an answer without an end is cut off by the time-out', async () => {
    const endless = new ReadableStream({
      async pull(controller) {
        await Bun.sleep(20)
        controller.enqueue(' ')
      },
    })
    service.play(() => new Response(endless))
    expect((await errorOf(service.client({ timeoutMs: 200, maxRetries: 0 }).debit(order))).code).toBe('TIMED_OUT')
  })

  test('an answer of a fetch that ignores its signal is cut off all the same', async () => {
    const deaf = (() => new Promise(() => {})) as unknown as typeof fetch
    expect((await errorOf(service.client({ timeoutMs: 50, maxRetries: 0, fetch: deaf }).debit(order))).code).toBe(
      'TIMED_OUT',
    )
  })
})

test('every call names the version of the SDK', async () => {
  service.play(answer(wallet))
  await service.client().wallet(user)
  const { version } = (await Bun.file(join(import.meta.dir, 'package.json')).json()) as { version: string }
  expect(service.seen()[0]?.headers.get('user-agent')).toBe(`billfold-sdk/${version} bun/${Bun.version}`)
})

test('a network fault is named by its code', async () => {
  const error = await errorOf(service.client({ baseUrl: 'http://127.0.0.1:1', maxRetries: 0 }).debit(order))
  expect(error).toMatchObject({ code: 'NETWORK_ERROR', status: 0, isRetryable: true })
  const named = 'POST http://127.0.0.1:1/api/server/wallet/debit got no answer: '
  expect(error.message).toStartWith(named)
  expect(error.message.slice(named.length)).toBeOneOf(['ECONNREFUSED.', 'ConnectionRefused.'])
  expect(error.url).toBe('http://127.0.0.1:1/api/server/wallet/debit')
  expect((error.cause as { code: string }).code).toBe(error.message.slice(named.length, -1))
})
