/** The running service under test, as a client app's backend sees it: over HTTP only. */
import { setTimeout as sleep } from 'node:timers/promises'
import { newMovements, postingIn } from './movements.ts'

export type Subject = ReturnType<typeof newSubject>

export type Credentials = { readonly clientId: string; readonly clientSecret: string }

export type Settings = Credentials & {
  readonly url: string
  /** A user whose wallet is not used by anyone else during the run. */
  readonly serviceUserId: string
  /** One of the app's allowedIframeParents, for sessions with a parentOrigin. */
  readonly parentOrigin?: string | undefined
  /** Another app, through which that user has not signed in. */
  readonly other?: Credentials | undefined
  /** Waits for a session to expire, which takes five minutes. */
  readonly isPatient?: boolean
  readonly wait?: (ms: number, signal: AbortSignal | undefined) => Promise<void>
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

/** What the statements about all answers need to know of one. */
export type Seen = {
  readonly route: string
  readonly status: number
  readonly contentType: string
  readonly allowedOrigin: string | null
  readonly fields: Readonly<Record<'error' | 'code' | 'requiresAuth', unknown>> | undefined
  readonly hasSecret: boolean
}

export type Query = Readonly<Record<string, string>>

/** The timeout that the contract recommends to clients. */
const answerWithinMs = 10_000
/** A 503 with a Retry-After up to this is retried, as a client would. */
const maxBusySeconds = 2

export const jsonInit = (body: object, headers: Query = {}) => ({
  method: 'POST',
  body: JSON.stringify(body),
  headers: { 'content-type': 'application/json', ...headers },
})

export function newSubject(settings: Settings) {
  const { clientId, clientSecret, serviceUserId, parentOrigin, other } = settings
  const base = settings.url.replace(/(?<!\/)\/+$/, '')
  const fetchAnswer = settings.send ?? fetch
  // Makes references unique, also among earlier and parallel runs.
  const run = crypto.randomUUID()
  const movements = newMovements()
  const seen: Seen[] = []
  let references = 0

  const credentials = { clientId, clientSecret }
  /** The app that undoes a movement, with right credentials, even where the service accepted wrong ones or none. */
  const credentialsOf = (id: string) => (other && id === other.clientId ? other : credentials)
  const secrets = [clientSecret, ...(other ? [other.clientSecret] : [])]

  /** Sends once. Postings are recorded before they leave, because their answer may be lost. */
  async function send(path: string, init: RequestInit, until?: AbortSignal): Promise<Reply> {
    const posting = postingIn(path, init, serviceUserId)
    const conclude = posting && movements.begin({ ...posting, clientId: credentialsOf(posting.clientId).clientId })
    const timeOut = AbortSignal.timeout(answerWithinMs)
    const signal = until ? AbortSignal.any([until, timeOut]) : timeOut
    const response = await fetchAnswer(new Request(base + path, { redirect: 'manual', ...init, signal }))
    const { status, headers } = response
    conclude?.(status)
    const text = await response.text()
    const reply = { status, headers, body: objectIn(text), text }
    seen.push(summaryOf(`${init.method ?? 'GET'} ${path.split('?')[0]}`, reply))
    return reply
  }

  function summaryOf(route: string, { status, headers, body, text }: Reply): Seen {
    const { error, code, requiresAuth } = body ?? {}
    const all = [text, ...headers.values()]
    return {
      route,
      status,
      contentType: headers.get('content-type') ?? '',
      allowedOrigin: headers.get('access-control-allow-origin'),
      fields: body && { error, code, requiresAuth },
      hasSecret: secrets.some((secret) => all.some((part) => part.includes(secret))),
    }
  }

  async function call(path: string, init: RequestInit = {}, triesLeft = 3): Promise<Reply> {
    settings.signal?.throwIfAborted()
    const reply = await send(path, init, settings.signal)
    const seconds = Number(reply.headers.get('retry-after') ?? Infinity)
    if (reply.status !== 503 || !(seconds <= maxBusySeconds) || triesLeft === 0) return reply
    await sleep(1_000 * seconds, undefined, { signal: settings.signal })
    return await call(path, init, triesLeft - 1)
  }

  const get = (path: string, query: Query) => call(`${path}?${new URLSearchParams(query)}`)
  const post = (path: string, body: object, query: Query = {}, headers: Query = {}) => {
    const search = Object.keys(query).length > 0 ? `?${new URLSearchParams(query)}` : ''
    return call(path + search, jsonInit(body, headers))
  }
  const newReference = (referenceType = 'CONFORMANCE') => ({ referenceType, referenceId: `${run}-${++references}` })

  const posting =
    (direction: 'debit' | 'credit') =>
    (amount: unknown, reference: object = newReference(), more: object = {}) =>
      post(`/api/server/wallet/${direction}`, { ...credentials, serviceUserId, amount, ...reference, ...more })

  const session = (more: object = {}) => post('/api/widget/session', { ...credentials, serviceUserId, ...more })

  let aging: { readonly token: string; readonly bornAt: number } | undefined
  const wait = settings.wait ?? ((ms, signal) => sleep(ms, undefined, { signal }))

  return {
    run,
    credentials,
    other,
    serviceUserId,
    parentOrigin,
    movements,
    seen,
    send,
    call,
    get,
    post,
    newReference,
    credentialsOf,
    debit: posting('debit'),
    credit: posting('credit'),
    wallet: (more: Query = {}) => get('/api/server/wallet', { ...credentials, serviceUserId, ...more }),
    check: (requiredAmount: number) =>
      get('/api/server/wallet/check-balance', {
        ...credentials,
        serviceUserId,
        requiredAmount: String(requiredAmount),
      }),
    session,
    /** Creates the session whose expiry is tested at the end of the run. */
    startAging: async () => {
      const bornAt = Date.now()
      const token = (await session()).body?.['sessionToken']
      aging = { token: typeof token === 'string' ? token : '', bornAt }
    },
    /** Waits until that session has the age. Undefined if the run does not wait. */
    tokenOfAge: async (ms: number) => {
      if (aging) await wait(Math.max(0, aging.bornAt + ms - Date.now()), settings.signal)
      return aging?.token
    },
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
