/** A JSON route: what it is called, what it takes and gives, and what it does. OpenAPI is made from the same object. */
import type { z } from 'zod'
import type { ErrorCode } from '../../sdk/contract.ts'
import type { RequestContext } from '../web/request-context.ts'
import type { Answer } from './reply.ts'

export type Call = { readonly request: Request; readonly context: RequestContext }

export type Route = {
  readonly method: 'GET' | 'POST'
  readonly path: string
  readonly tag: 'Server' | 'Widget' | 'Operations'
  readonly summary: string
  readonly description?: string
  /** The query of a GET, the JSON body of a POST. */
  readonly input?: z.ZodType
  /** For a POST that also has a query. */
  readonly query?: z.ZodType
  readonly output: z.ZodType
  /** Of success: 200 unless said otherwise. */
  readonly status?: 200 | 202
  /** What a 202 holds, where that is not the only success. */
  readonly accepted?: z.ZodType
  /** Of the output: JSON unless said otherwise. */
  readonly mediaType?: 'application/json' | 'text/event-stream'
  readonly errors: readonly ErrorCode[]
  readonly example: { readonly input?: object; readonly output: unknown }
  /** A stream is a Response already. */
  readonly handle: (call: Call) => Promise<Answer | Response>
}
