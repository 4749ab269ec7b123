/** A real HTTP server with answers that a test defines beforehand. */
import { expect } from 'bun:test'
import { Billfold, BillfoldError } from '../server.ts'
import type { BillfoldOptions } from '../server.ts'

export const clientSecret = 'sk_s3cr3t/+ with spaces&more=é'
export const serviceUserId = 'su_V3ryPr1vate0123456789'
export const linkCode = 'lc_0neT1meC0de'
export const user = { serviceUserId }
export const order = { ...user, amount: 19.99, referenceType: 'ORDER_PAYMENT', referenceId: 'order-1' }

export type Seen = { method: string; path: string; query: Record<string, string>; headers: Headers; body: string }
export type Entry = (request: Request, seen: Seen) => Response | Promise<Response>

export function startScriptedService() {
  let seen: Seen[] = []
  let script: Entry[] = []
  const server = Bun.serve({
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
  return {
    origin: server.url.origin,
    /** The first request gets the first entry, and so on; the last entry answers all further requests. Clears `seen`. */
    play(...entries: Entry[]): void {
      seen = []
      script = entries
    },
    seen: () => seen,
    client: (options: Partial<BillfoldOptions> = {}) =>
      new Billfold({ baseUrl: server.url.origin, clientId: 'app_1', clientSecret, ...options }),
    stop: () => server.stop(true),
  }
}

export function answer(body: unknown, init: ResponseInit = {}): Entry {
  return () => Response.json(body, init)
}

export function refusal(status: number, body: object, headers: Record<string, string> = {}): Entry {
  return answer({ error: 'No.', requestId: 'req_1', ...body }, { status, headers })
}

export async function errorOf(promise: Promise<unknown>): Promise<BillfoldError> {
  const error = await promise.then(
    () => null,
    (thrown: unknown) => thrown,
  )
  expect(error).toBeInstanceOf(BillfoldError)
  return error as BillfoldError
}
