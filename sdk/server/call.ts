/** Makes a call with its credentials where the contract puts them, and retries it where that is safe and useful. */
import { abortedError, attempt } from './attempt.ts'
import type { Answer, Exchange } from './attempt.ts'
import { parseRetryAfter, waitBefore } from './backoff.ts'
import { BillfoldError, errorOfAnswer } from './error.ts'
import { redactorOf } from './redact.ts'
import type { Redact } from './redact.ts'
import type { Settings } from './settings.ts'

export type Json = Record<string, unknown>

type Fields = Readonly<Record<string, unknown>>

export type Route = { method: 'GET' | 'POST'; path: string }

export async function call<T extends Json>(
  settings: Settings,
  route: Route,
  request: Fields,
  isAnswer: (answer: Json) => answer is T,
  options: { signal?: AbortSignal } = {},
): Promise<T> {
  const exchange = exchangeOf(settings, route, request)
  const redact = redactorOf([settings.clientSecret, textOf(request.serviceUserId), textOf(request.linkCode)])
  for (let done = 0; ; done++) {
    try {
      const answer = await attempt(exchange, settings, options.signal)
      const body = bodyOf(answer, exchange.name, redact)
      if (isAnswer(body)) return body
      throw badResponse(answer, exchange.name, 'not what the contract promises', redact)
    } catch (error) {
      if (!(error instanceof BillfoldError) || !error.isRetryable || done >= settings.maxRetries) throw error
      const waitMs = waitBefore(done, error.retryAfterMs, Math.random())
      if (waitMs === null) throw error
      await sleep(waitMs, exchange.name, options.signal)
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
  const name = `${route.method} ${route.path}`
  const headers = { accept: 'application/json' }
  if (route.method === 'GET') {
    const query = new URLSearchParams(fields.map(([field, value]) => [field, String(value)]))
    return { name, url: `${baseUrl}${route.path}?${query}`, init: { method: 'GET', headers } }
  }
  const body = JSON.stringify(Object.fromEntries(fields))
  return {
    name,
    url: baseUrl + route.path,
    init: { method: 'POST', body, headers: { ...headers, 'content-type': 'application/json' } },
  }
}

/** Returns the JSON object of a success and throws any other answer. */
function bodyOf(answer: Answer, name: string, redact: Redact): Json {
  const body = parseObject(answer.text)
  if (body === null) throw badResponse(answer, name, 'something that is not a JSON object', redact)
  if (answer.status >= 200 && answer.status < 300) return body
  throw errorOfAnswer(body, { call: name, ...factsOf(answer, redact) }, redact)
}

function badResponse(answer: Answer, name: string, what: string, redact: Redact): BillfoldError {
  return new BillfoldError('BAD_RESPONSE', `${name} answered ${answer.status} with ${what}.`, factsOf(answer, redact))
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

export async function sleep(ms: number, name: string, signal: AbortSignal | undefined): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    const abort = () => {
      clearTimeout(timer)
      reject(abortedError(name))
    }
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', abort)
      resolve()
    }, ms)
    signal?.addEventListener('abort', abort, { once: true })
    if (signal?.aborted) abort()
  })
}
