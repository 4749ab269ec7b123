/** A proxy before the real service that breaks it in one way: it changes requests, answers, or keeps what it should not. */
import type { Credentials } from '../service.ts'

export type Send = (request: Request) => Promise<Response>
export type Body = Record<string, unknown>

/** What a mutant may use: the real service, and the two apps and the user of the run. */
export type Around = {
  readonly answer: Send
  readonly app: Credentials
  readonly other: Credentials
  readonly serviceUserId: string
}

export type Mutant = {
  readonly name: string
  /** A new proxy, with its own state. */
  readonly send: (around: Around) => Send
  /** All statements that a run reports as broken. */
  readonly breaks: readonly string[]
}

export type Asked = {
  readonly method: string
  readonly path: string
  readonly url: URL
  readonly sent: Body
  readonly headers: Headers
}
export type Seen = Asked & { readonly status: number; readonly body: Body; readonly response: Response }

/** What the request asks for, in a copy, so that it can still be forwarded. */
export async function readAsked(request: Request): Promise<Asked> {
  const url = new URL(request.url)
  const { method, headers } = request
  const sent = method === 'POST' ? objectIn(await request.clone().text()) : Object.fromEntries(url.searchParams)
  return { method, path: url.pathname, url, sent, headers }
}

function objectIn(text: string): Body {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Body) : {}
  } catch {
    return {}
  }
}

type Changed = {
  readonly status?: number
  readonly body?: Body
  readonly text?: string
  readonly headers?: Record<string, string>
}

/** Changes the answers of the API; undefined leaves one as it is. */
export const answering =
  (change: (seen: Seen) => Changed | undefined) =>
  ({ answer }: Around): Send =>
  async (request) => {
    const asked = await readAsked(request)
    const response = await answer(request)
    if (!response.headers.get('content-type')?.startsWith('application/json')) return response
    const body = (await response.clone().json()) as Body
    const changed = change({ ...asked, status: response.status, body, response })
    if (!changed) return response
    const headers = new Headers(response.headers)
    headers.delete('content-length')
    for (const [name, value] of Object.entries(changed.headers ?? {})) headers.set(name, value)
    const text = changed.text ?? JSON.stringify(changed.body ?? body)
    return new Response(text, { status: changed.status ?? response.status, headers })
  }

/** Forwards other bodies in place of the body of a POST, one after the other, and returns the last answer. */
export const asking =
  (change: (asked: Asked) => readonly Body[] | undefined) =>
  ({ answer }: Around): Send =>
  async (request) => {
    const asked = await readAsked(request)
    const bodies = asked.method === 'POST' ? change(asked) : undefined
    if (!bodies) return await answer(request)
    let response: Response | undefined
    for (const body of bodies) response = await answer(postOf(request, body))
    return response!
  }

export function postOf(request: Request, body: Body, url: string | URL = request.url): Request {
  return new Request(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
}

/** Changes headers of answers. */
export const heading =
  (change: (asked: Asked, response: Response) => Record<string, string> | undefined) =>
  ({ answer }: Around): Send =>
  async (request) => {
    const asked = await readAsked(request)
    const response = await answer(request)
    const changed = change(asked, response)
    if (!changed) return response
    const headers = new Headers(response.headers)
    for (const [name, value] of Object.entries(changed)) headers.set(name, value)
    return new Response(response.body, { status: response.status, headers })
  }

export const wallet = '/api/server/wallet'
export const check = `${wallet}/check-balance`
export const debit = `${wallet}/debit`
export const credit = `${wallet}/credit`
export const session = '/api/widget/session'
export const widgetWallet = '/api/widget/wallet'
export const intent = '/api/widget/topup/create-intent'
export const confirm = '/api/widget/topup/confirm'

export const isPosting = (path: string) => path === debit || path === credit

export const withId = (sent: Body, more: unknown): Body => ({
  ...sent,
  referenceId: `${String(sent['referenceId'])}~${String(more)}`,
})

export const without = (body: Body, field: string): Body =>
  Object.fromEntries(Object.entries(body).filter(([name]) => name !== field))

export const tokenOf = ({ url }: Asked) => url.searchParams.get('session') ?? ''
export const hasSession = ({ url }: Asked) => url.searchParams.has('session')
