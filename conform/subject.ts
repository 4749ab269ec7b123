/** The running service under test, as a client app's backend sees it: over HTTP only. */
import { setTimeout as sleep } from 'node:timers/promises'

export type Subject = ReturnType<typeof newSubject>

export type Settings = {
  readonly url: string
  readonly clientId: string
  readonly clientSecret: string
  /** A user whose wallet is not used by anyone else during the run. */
  readonly serviceUserId: string
  /** One of the app's allowedIframeParents, for sessions with a parentOrigin. */
  readonly parentOrigin?: string | undefined
  readonly send?: (request: Request) => Promise<Response>
  readonly signal?: AbortSignal | undefined
  /** The time limit for all statements together; later ones are not tried. */
  readonly withinMs?: number
}

export type Reply = {
  readonly status: number
  readonly headers: Headers
  /** Undefined if the body is not a JSON object. */
  readonly body: Readonly<Record<string, unknown>> | undefined
  readonly text: string
}

/** The timeout that the contract recommends to clients. */
const answerWithinMs = 10_000
/** A 503 with a Retry-After up to this is retried, as a client would. */
const maxBusySeconds = 2

export function newSubject(settings: Settings) {
  const { clientId, clientSecret, serviceUserId, parentOrigin } = settings
  const base = settings.url.replace(/(?<!\/)\/+$/, '')
  const send = settings.send ?? fetch
  // Makes references unique, also among earlier and parallel runs.
  const run = crypto.randomUUID()
  let references = 0

  async function call(path: string, init: RequestInit = {}, triesLeft = 3): Promise<Reply> {
    const reply = await callOnce(path, init)
    const seconds = Number(reply.headers.get('retry-after') ?? Infinity)
    if (reply.status !== 503 || !(seconds <= maxBusySeconds) || triesLeft === 0) return reply
    await sleep(1_000 * seconds)
    return await call(path, init, triesLeft - 1)
  }

  async function callOnce(path: string, init: RequestInit): Promise<Reply> {
    const timeOut = AbortSignal.timeout(answerWithinMs)
    const signal = settings.signal ? AbortSignal.any([settings.signal, timeOut]) : timeOut
    const response = await send(new Request(base + path, { redirect: 'manual', ...init, signal }))
    const text = await response.text()
    return { status: response.status, headers: response.headers, body: objectIn(text), text }
  }
  const get = (path: string, query: Readonly<Record<string, string>>) => call(`${path}?${new URLSearchParams(query)}`)
  const post = (path: string, body: object, query: Readonly<Record<string, string>> = {}, headers = {}) => {
    const search = Object.keys(query).length > 0 ? `?${new URLSearchParams(query)}` : ''
    const init = {
      method: 'POST',
      body: JSON.stringify(body),
      headers: { 'content-type': 'application/json', ...headers },
    }
    return call(path + search, init)
  }
  const credentials = { clientId, clientSecret }
  const newReference = (referenceType = 'CONFORMANCE') => ({ referenceType, referenceId: `${run}-${++references}` })

  const posting =
    (direction: 'debit' | 'credit') =>
    (amount: number, reference: object = newReference(), more: object = {}) =>
      post(`/api/server/wallet/${direction}`, { ...credentials, serviceUserId, amount, ...reference, ...more })

  return {
    credentials,
    serviceUserId,
    parentOrigin,
    call,
    get,
    post,
    newReference,
    debit: posting('debit'),
    credit: posting('credit'),
    wallet: (who = serviceUserId) => get('/api/server/wallet', { ...credentials, serviceUserId: who }),
    check: (requiredAmount: number, who = serviceUserId) =>
      get('/api/server/wallet/check-balance', {
        ...credentials,
        serviceUserId: who,
        requiredAmount: String(requiredAmount),
      }),
    session: (more: object = {}) => post('/api/widget/session', { ...credentials, serviceUserId, ...more }),
    /** An id that no service knows. */
    stranger: `su_${run.replaceAll('-', '')}`,
  }
}

function objectIn(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : undefined
  } catch {
    return undefined
  }
}
