/** One HTTP exchange, bounded in time and size. It returns an answer or throws a BillfoldError. */
import { BillfoldError } from './error.ts'

/** The largest valid answer, a page of 200 transactions with long texts, is about 1.1 MB. */
const maxAnswerBytes = 2 * 1024 * 1024

export type Exchange = {
  /** Method and path without the query, as errors name the call. */
  name: string
  url: string
  init: { method: 'GET' | 'POST'; body?: string; headers: Record<string, string> }
}

export type Answer = { status: number; headers: Headers; text: string }

export async function attempt(
  exchange: Exchange,
  settings: { fetch: typeof fetch; timeoutMs: number },
  signal: AbortSignal | undefined,
): Promise<Answer> {
  return await withDeadline(exchange.name, settings.timeoutMs, signal, async (inner) => {
    try {
      // A followed redirect would send the secret to another address.
      const response = await settings.fetch(exchange.url, { ...exchange.init, redirect: 'manual', signal: inner })
      return { status: response.status, headers: response.headers, text: await readText(response, exchange.name) }
    } catch (cause) {
      if (cause instanceof BillfoldError) throw cause
      // The cause is dropped on purpose: runtimes put the whole URL into it, and with it the secret.
      throw new BillfoldError('NETWORK_ERROR', `${exchange.name} got no answer: ${reasonOf(cause)}.`)
    }
  })
}

async function readText(response: Response, name: string): Promise<string> {
  if (response.body === null) return ''
  const reader = response.body.getReader()
  const decoder = new TextDecoder()
  let size = 0
  let text = ''
  for (;;) {
    const { done, value } = await reader.read()
    if (done) return text + decoder.decode()
    size += value.byteLength
    if (size > maxAnswerBytes) {
      reader.cancel().catch(() => {})
      throw new BillfoldError('BAD_RESPONSE', `${name} answered with too much data.`, { status: response.status })
    }
    text += decoder.decode(value, { stream: true })
  }
}

/** Returns only the symbolic code of a network error, which cannot contain anything of the request. */
function reasonOf(cause: unknown, depth = 0): string {
  if (typeof cause !== 'object' || cause === null || depth > 3) return 'the connection failed'
  const { code, cause: inner } = cause as { code?: unknown; cause?: unknown }
  return typeof code === 'string' && knownReason.test(code) ? code : reasonOf(inner, depth + 1)
}

const knownReason =
  /^(E[A-Z]{3,14}|UND_ERR_[A-Z_]{3,30}|ERR_TLS_[A-Z_]{3,40}|Connection(Refused|Closed|Reset)|FailedToOpenSocket|[A-Z]+_CERT_[A-Z_]{3,40})$/

/** Ends when `run` is done, when `timeoutMs` have passed or when the caller aborts, even if `run` ignores its signal. */
async function withDeadline<T>(
  name: string,
  timeoutMs: number,
  outer: AbortSignal | undefined,
  run: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const inner = new AbortController()
  const stopped = new Promise<never>((_resolve, reject) => {
    inner.signal.addEventListener('abort', () => reject(inner.signal.reason as BillfoldError))
  })
  const abort = () => inner.abort(abortedError(name))
  const timeOut = () => inner.abort(new BillfoldError('TIMED_OUT', `${name} took longer than ${timeoutMs} ms.`))
  const timer = setTimeout(timeOut, timeoutMs)
  outer?.addEventListener('abort', abort)
  if (outer?.aborted) abort()
  try {
    return await Promise.race([stopped, run(inner.signal)])
  } finally {
    clearTimeout(timer)
    outer?.removeEventListener('abort', abort)
  }
}

export function abortedError(name: string): BillfoldError {
  return new BillfoldError('ABORTED', `${name} was aborted by its caller.`)
}
