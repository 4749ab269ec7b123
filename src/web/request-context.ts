/** What the outside gives with a request, and what the inside tells about it. */
import type { Hono } from 'hono'

export type RequestContext = {
  /** Of the caller, behind trusted proxies. */
  readonly address: string
  readonly requestId: string
  /** What the caller calls itself; nobody has looked at it. */
  clientId?: unknown
  /** Of an app there is: the one that called, or whose name a caller used. */
  appId?: string | undefined
  /** The pattern that answered; a path itself may hold anything and is never logged. */
  route: string
}

export type WebApp = Hono<{ Bindings: RequestContext }>
