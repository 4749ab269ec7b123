/** What is known about a request besides itself. */
import type { Hono } from 'hono'

export type RequestContext = {
  /** The caller's address, behind trusted proxies. */
  readonly address: string
  readonly requestId: string
  /** The clientId as the caller sent it; not validated. */
  clientId?: unknown
  /** The id of an existing app: the one that called, or that a refused caller named. */
  appId?: string | undefined
  /** The matched route pattern. The path itself may contain anything and is never logged. */
  route: string
}

export type WebApp = Hono<{ Bindings: RequestContext }>
