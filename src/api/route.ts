/** A JSON route: path, input, output and handler. The OpenAPI document is generated from the same object. */
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
  /** How the caller authenticates; absent on public routes. */
  readonly proof?: Proof
  readonly summary: string
  readonly description?: string
  /** The query of a GET, the JSON body of a POST. */
  readonly input?: z.ZodType
  /** For a POST that also has a query. */
  readonly query?: z.ZodType
  readonly output: z.ZodType
  /** The success status; 200 by default. */
  readonly status?: 200 | 202
  /** Other answers of this route that are not refusals, by status. */
  readonly others?: Readonly<Record<number, { readonly description: string; readonly schema: z.ZodType }>>
  /** A header marks a replayed answer. */
  readonly isIdempotent?: true
  /** Also answers HEAD, for load balancers. */
  readonly isProbe?: true
  /** The media type of the output; JSON by default. */
  readonly mediaType?: 'application/json' | 'text/event-stream'
  /** Also takes and returns NDJSON. */
  readonly lines?: true
  readonly errors: readonly RefusalCode[]
  readonly example: { readonly input?: object; readonly output: unknown }
  /** A stream returns a Response instead of an Answer. */
  readonly handle: (call: Call) => Promise<Answer | Response>
}
