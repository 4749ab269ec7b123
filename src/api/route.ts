/** A JSON route: what it is called, what it takes and gives, and what it does. OpenAPI is made from the same object. */
import type { z } from 'zod'
import type { RequestContext } from '../web/request-context.ts'
import type { Answer, RefusalCode } from './reply.ts'

export type Call = { readonly request: Request; readonly context: RequestContext }

/** A client secret, a widget session, or the signature of a card processor. */
export type Proof = 'client' | 'session' | 'stripe' | 'sandbox'

export type Route = {
  readonly method: 'GET' | 'POST'
  readonly path: string
  readonly tag: 'Server' | 'Widget' | 'Operations'
  /** How the caller shows who it is; left out where anybody may call. */
  readonly proof?: Proof
  readonly summary: string
  readonly description?: string
  /** The query of a GET, the JSON body of a POST. */
  readonly input?: z.ZodType
  /** For a POST that also has a query. */
  readonly query?: z.ZodType
  readonly output: z.ZodType
  /** Of success: 200 unless said otherwise. */
  readonly status?: 200 | 202
  /** By status: what else it answers that is no refusal. */
  readonly others?: Readonly<Record<number, { readonly description: string; readonly schema: z.ZodType }>>
  /** Repeats are marked by a header. */
  readonly isIdempotent?: true
  /** Load balancers may ask it with HEAD as well. */
  readonly isProbe?: true
  /** Of the output: JSON unless said otherwise. */
  readonly mediaType?: 'application/json' | 'text/event-stream'
  /** Takes and gives lines of JSON as well. */
  readonly lines?: true
  readonly errors: readonly RefusalCode[]
  readonly example: { readonly input?: object; readonly output: unknown }
  /** A stream is a Response already. */
  readonly handle: (call: Call) => Promise<Answer | Response>
}
