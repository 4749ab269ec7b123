import { afterAll, describe, expect, test } from 'bun:test'
import { inspect } from 'node:util'
import { answer, clientSecret, errorOf, linkCode, order, refusal } from './test/scripted-service.ts'
import { serviceUserId, startScriptedService, user } from './test/scripted-service.ts'
import type { BillfoldOptions } from './server.ts'
import type { Entry } from './test/scripted-service.ts'

const service = startScriptedService()
afterAll(() => service.stop())

/** Echoes everything that it was sent, in every encoding that it knows. */
const echo: Entry = (request, { body }) => {
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

describe('secrecy', () => {
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

  const faults: [string, Entry[], Partial<BillfoldOptions>][] = [
    ['a refusal that echoes the request', [echo], {}],
    ['a proxy that echoes the request in HTML', [(request) => new Response(request.url, { status: 502 })], {}],
    [
      'a header that echoes the request',
      [(request) => new Response('x', { headers: { 'x-request-id': request.url } })],
      {},
    ],
    [
      'an address that was encoded again and again',
      [(request) => answer({ error: twice(request.url) }, { status: 400 })(request, service.seen()[0]!)],
      {},
    ],
    ['a code that echoes the secret', [answer({ error: 'x', code: clientSecret }, { status: 400 })], {}],
    ['503 for ever', [refusal(503, { code: 'UNAVAILABLE' })], {}],
    ['a time-out', [() => new Promise(() => {})], { timeoutMs: 50 }],
    ['a refused connection', [], { baseUrl: 'http://127.0.0.1:1' }],
    ['a host that does not exist', [], { baseUrl: 'http://nothing.invalid', timeoutMs: 2_000 }],
    ['a redirect', [(request) => Response.redirect(`https://elsewhere.example/?${new URL(request.url).search}`)], {}],
    ['a fetch whose error holds the address', [], { fetch: failing(leaky) }],
    ['a fetch that throws text', [], { fetch: failing(clientSecret) }],
    ['an answer that is too large', [() => new Response(clientSecret.repeat(200_000))], {}],
  ]

  test.each(faults)('the secret and the id of the user are in no error after %s', async (_name, entries, options) => {
    const billfold = service.client({ maxRetries: 0, ...options })
    const calls = [
      () => billfold.wallet(user),
      () => billfold.checkBalance({ ...user, requiredAmount: 1 }),
      () => billfold.debit(order),
      () => billfold.credit(order),
      () => billfold.createSession(user),
      () => billfold.verifyLink({ linkCode }),
    ]
    for (const run of calls) {
      service.play(...entries)
      const error = await errorOf(run())
      expectNoLeak(error)
      // The runtime's own error, which holds the address, is not the cause: at most its symbolic code.
      const { code, message } = (error.cause ?? { code: '', message: '' }) as { code: string; message: string }
      expect([Object.keys(error.cause ?? {}), message]).toEqual([error.cause ? ['code'] : [], code])
    }
  })

  test('the secret and the id of the user are not in the client itself', () => {
    expectNoLeak(service.client())
  })

  test.each([
    ['no address', { baseUrl: 'nowhere' }],
    ['an address of another kind', { baseUrl: 'ftp://x' }],
    ['credentials in the address', { baseUrl: `http://u:${encodeURIComponent(clientSecret)}@x.example` }],
    ['a query in the address', { baseUrl: 'http://x.example/?a=1' }],
    ['no clientId', { clientId: '' }],
    ['no time', { timeoutMs: 0 }],
    ['half a retry', { maxRetries: 0.5 }],
  ])('the secret and the id of the user are not in the complaint about %s', (_name, options) => {
    let thrown: unknown
    try {
      service.client(options)
    } catch (error) {
      thrown = error
    }
    expect(thrown).toBeInstanceOf(TypeError)
    expectNoLeak(thrown)
  })
})
