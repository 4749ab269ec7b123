/** What is known about a request besides itself. */
import type { Hono } from 'hono'

export type RequestContext = {
  /** The caller's address, behind trusted proxies. */
  readonly address: string
  readonly requestId: string
  /** When the server saw the request, by performance.now(), before its body. The deadline of the answer counts from here. */
  readonly arrivedAt: number
  /** Ends what the request has under way of its app's bound. Called once the answer is known. */
  leave?: (() => void) | undefined
  /** How long the call waited for something to report, as its caller asked. It counts for no deadline and no measurement. */
  waitedMs?: number
  /** The clientId as the caller sent it; not validated. */
  clientId?: unknown
  /** The id of an existing app: the one that called, or that a refused caller named. */
  appId?: string | undefined
  /** The matched route pattern. The path itself may contain anything and is never logged. */
  route: string
}

export type WebApp = Hono<{ Bindings: RequestContext }>
