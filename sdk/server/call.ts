/** Makes a call with its credentials where the contract puts them, and retries it where that is safe and useful. */
import { attempt, sleep, unreadableAnswer } from './attempt.ts'
import type { Answer, Exchange } from './attempt.ts'
import { parseRetryAfter, waitBefore } from './backoff.ts'
import { BillfoldError, addEarlier, errorOfAnswer, isOutcomeUnknown } from './error.ts'
import { redactorOf } from './redact.ts'
import type { Redact } from './redact.ts'
import type { Settings } from './settings.ts'
import { userAgent } from './user-agent.ts'

export type Json = Record<string, unknown>

type Fields = Readonly<Record<string, unknown>>

export type Route = { method: 'GET' | 'POST'; path: string; hasReference?: true }

export async function call<T extends Json>(
  settings: Settings,
  route: Route,
  request: Fields,
  isAnswer: (answer: Json) => answer is T,
  options: { signal?: AbortSignal } = {},
): Promise<T> {
  const exchange = exchangeOf(settings, route, request)
  const redact = redactorOf([settings.clientSecret, textOf(request.serviceUserId), textOf(request.linkCode)])
  let earlier: BillfoldError | undefined
  let waitMs: number | null = 0
  for (let done = 0; ; done++) {
    try {
      if (waitMs > 0) await sleep(waitMs, exchange, options.signal)
      const answer = await attempt(exchange, settings, options.signal)
      const body = bodyOf(answer, exchange, redact)
      if (isAnswer(body)) return body
      const what = 'JSON that is not what the contract promises'
      throw unreadableAnswer(exchange, answer.status, what, factsOf(answer, redact))
    } catch (error) {
      if (!(error instanceof BillfoldError)) throw error
      const isRepeated = error.isRetryable && error.code !== 'ABORTED' && done < settings.maxRetries
      waitMs = isRepeated ? waitBefore(done, error.retryAfterMs, Math.random()) : null
      if (waitMs === null) throw earlier ? addEarlier(error, earlier, exchange.hasReference) : error
      if (isOutcomeUnknown(error)) earlier = error
    }
  }
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

function exchangeOf(settings: Settings, route: Route, request: Fields): Exchange {
  const { clientId, clientSecret, baseUrl } = settings
  const all: Fields = { ...request, clientId, clientSecret }
  const fields = Object.entries(all).filter(([, value]) => value !== undefined)
  const address = baseUrl + route.path
  const named = { name: `${route.method} ${address}`, address, hasReference: route.hasReference ?? false }
  const headers = { accept: 'application/json', 'user-agent': userAgent }
  if (route.method === 'GET') {
    const query = new URLSearchParams(fields.map(([field, value]) => [field, String(value)]))
    return { ...named, url: `${address}?${query}`, init: { method: 'GET', headers } }
  }
  const body = JSON.stringify(Object.fromEntries(fields))
  return {
    ...named,
    url: address,
    init: { method: 'POST', body, headers: { ...headers, 'content-type': 'application/json' } },
  }
}

/** Returns the JSON object of a success and throws any other answer. */
function bodyOf(answer: Answer, exchange: Exchange, redact: Redact): Json {
  const { name: call, address: url } = exchange
  const facts = factsOf(answer, redact)
  const body = parseObject(answer.text)
  if (body === null) throw unreadableAnswer(exchange, answer.status, strangerOf(answer, redact), facts)
  if (answer.status >= 200 && answer.status < 300) return body
  throw errorOfAnswer(body, { call, url, ...facts }, redact)
}

/** Names the sender of an answer that is not JSON, mostly a proxy. The answer itself may echo the request, also cut in two. */
function strangerOf({ headers }: Answer, redact: Redact): string {
  const shown = (name: string) => redact(headers.get(name) ?? '').slice(0, 60)
  const sender = shown('server')
  return `${shown('content-type') || 'no content type'} instead of JSON${sender && ` from ${sender}`}`
}

function factsOf(answer: Answer, redact: Redact) {
  const requestId = answer.headers.get('x-request-id')
  return {
    status: answer.status,
    requestId: requestId === null ? undefined : redact(requestId).slice(0, 100),
    retryAfterMs: parseRetryAfter(answer.headers.get('retry-after'), Date.now()),
  }
}

function parseObject(text: string): Json | null {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Json) : null
  } catch {
    return null
  }
}
