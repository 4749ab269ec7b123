/** One HTTP exchange, bounded in time and size. It returns an answer or throws a BillfoldError. */
import { BillfoldError } from './error.ts'

/** The largest valid answer, a page of 200 transactions with long texts, is about 1.1 MB. */
const maxAnswerBytes = 2 * 1024 * 1024

export type Exchange = {
  /** Method and address without the query, as errors name the call. */
  name: string
  address: string
  url: string
  /** A repeat of the call moves no money twice. */
  hasReference: boolean
  init: { method: 'GET' | 'POST'; body?: string; headers: Record<string, string> }
}

export type Answer = { status: number; headers: Headers; text: string }

export async function attempt(
  exchange: Exchange,
  settings: { fetch: typeof fetch; timeoutMs: number },
  signal: AbortSignal | undefined,
): Promise<Answer> {
  return await withDeadline(exchange, settings.timeoutMs, signal, async (inner) => {
    try {
      // A followed redirect would send the secret to another address.
      const response = await settings.fetch(exchange.url, { ...exchange.init, redirect: 'manual', signal: inner })
      return { status: response.status, headers: response.headers, text: await readText(response, exchange) }
    } catch (cause) {
      if (cause instanceof BillfoldError) throw cause
      throw networkError(exchange, reasonOf(cause))
    }
  })
}

/** The runtime's own error is dropped on purpose: it contains the whole URL, and with it the secret. */
function networkError({ name, address }: Exchange, code: string | undefined): BillfoldError {
  const cause = code === undefined ? undefined : Object.assign(new Error(code), { code })
  return new BillfoldError('NETWORK_ERROR', `${name} got no answer: ${code ?? 'the connection failed'}.`, {
    url: address,
    cause,
  })
}

async function readText(response: Response, exchange: Exchange): Promise<string> {
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
      throw unreadableAnswer(exchange, response.status, 'too much data')
    }
    text += decoder.decode(value, { stream: true })
  }
}

/** An unreadable success may be the success of a debit, so a call with a reference is sent again. */
export function unreadableAnswer(
  { name, address, hasReference }: Exchange,
  status: number,
  what: string,
  facts: { requestId?: string | undefined; retryAfterMs?: number | undefined } = {},
): BillfoldError {
  const isSuccess = status >= 200 && status < 300
  return new BillfoldError('BAD_RESPONSE', `${name} answered ${status} with ${what}.`, {
    ...facts,
    status,
    url: address,
    ...(isSuccess && { isRetryable: hasReference }),
  })
}

/** Returns only the symbolic code of a network error, which cannot contain anything of the request. */
function reasonOf(cause: unknown, depth = 0): string | undefined {
  if (typeof cause !== 'object' || cause === null || depth > 3) return undefined
  const { code, cause: inner } = cause as { code?: unknown; cause?: unknown }
  return typeof code === 'string' && knownReason.test(code) ? code : reasonOf(inner, depth + 1)
}

const knownReason =
  /^(E[A-Z]{3,14}|UND_ERR_[A-Z_]{3,30}|ERR_TLS_[A-Z_]{3,40}|Connection(Refused|Closed|Reset)|FailedToOpenSocket|[A-Z]+_CERT_[A-Z_]{3,40})$/

/** Ends when `run` is done, when `timeoutMs` have passed or when the caller aborts, even if `run` ignores its signal. */
async function withDeadline<T>(
  exchange: Exchange,
  timeoutMs: number,
  outer: AbortSignal | undefined,
  run: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const inner = new AbortController()
  const stopped = new Promise<never>((_resolve, reject) => {
    inner.signal.addEventListener('abort', () => reject(inner.signal.reason as BillfoldError))
  })
  const { name, address: url } = exchange
  const abort = () => inner.abort(abortedError(exchange))
  const timeOut = () =>
    inner.abort(new BillfoldError('TIMED_OUT', `${name} took longer than ${timeoutMs} ms.`, { url }))
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

function abortedError({ name, address }: Named): BillfoldError {
  return new BillfoldError('ABORTED', `${name} was aborted by its caller.`, { url: address })
}

type Named = Pick<Exchange, 'name' | 'address'>

export async function sleep(ms: number, exchange: Named, signal: AbortSignal | undefined): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    const abort = () => {
      clearTimeout(timer)
      reject(abortedError(exchange))
    }
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', abort)
      resolve()
    }, ms)
    signal?.addEventListener('abort', abort, { once: true })
    if (signal?.aborted) abort()
  })
}
