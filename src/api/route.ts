/** A JSON route: path, input, output and handler. The OpenAPI document is generated from the same object. */
import type { z } from 'zod'
import type { RequestContext } from '../web/request-context.ts'
import type { UserProof } from '../actions/people/proofs.ts'
import type { Answer, RefusalCode } from './reply.ts'

/** For signed notes, whose bytes count. */
export const plainText = 'text/plain; charset=utf-8'

export type Call = { readonly request: Request; readonly context: RequestContext }

/**
 * How the caller of a route is known. `app`: a client secret. `session`: a widget session, which an app's backend creates without its
 * user. `person`: a session, and the device token of a browser in which its user signed in. `presence`: the same, and the password
 * was given on that device within ten minutes. `stripe`, `sandbox`: the signature of a card processor.
 */
export type Proof = 'app' | UserProof | 'stripe' | 'sandbox'

export type Route = {
  readonly method: 'GET' | 'POST'
  readonly path: string
  readonly tag: 'Server' | 'Widget' | 'Operations'
  /** How the caller authenticates; absent on public routes. */
  readonly proof?: Proof
  /** The higher proofs that some inputs need, and which inputs: `to disconnect another app`. */
  readonly moreProof?: Readonly<Partial<Record<UserProof, string>>>
  /** Of a route at `presence`: the password is in the body, so a device is enough to call it. */
  readonly hasPassword?: true
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
  /** Sets or deletes the cookie of the device. */
  readonly setsDevice?: true
  /** Also answers HEAD, for load balancers. */
  readonly isProbe?: true
  /** The media type of the output; JSON by default. */
  readonly mediaType?: 'application/json' | 'text/event-stream' | typeof plainText
  /**
   * A long answer is compressed. Never where the answer has a token, a code or a link that works once, because its size would reveal
   * them (BREACH), and never on the debit's path.
   */
  readonly isCompressed?: true
  /** Also takes and returns NDJSON. */
  readonly lines?: true
  readonly errors: readonly RefusalCode[]
  readonly example: { readonly input?: object; readonly output: unknown }
  /** A stream returns a Response instead of an Answer. */
  readonly handle: (call: Call) => Promise<Answer | Response>
}
