/** Builds a route with `?session=`. The proof in the table is the one that its calls are checked for. */
import type { z } from 'zod'
import type { UserProof } from '../actions/people/proofs.ts'
import type { Service } from '../actions/service.ts'
import type { Session } from '../store/people/widget-sessions.ts'
import type { Answer, RefusalCode } from './reply.ts'
import type { Route } from './route.ts'
import { fromOf, readSessionCall, unlessBusy, type From } from './widget-call.ts'
import { bodyErrors, sessionErrors, sessionQuery } from './widget-shapes.ts'

type Built = 'tag' | 'proof' | 'input' | 'query' | 'errors' | 'handle'

type SessionRoute<T> = Omit<Route, Built> & {
  readonly proof: UserProof
  readonly errors?: Route['errors']
  /** The device is not read, so that calls which arrive together share one query. */
  readonly ignoresDevice?: boolean
  /** A stream returns a Response. */
  readonly run: (session: Session, input: T, from: From) => Promise<Answer | Response>
}

/** The schema describes the query of a GET, and the JSON body of a POST. */
export function sessionRoute<T>(
  service: Service,
  schema: z.ZodType<T>,
  { run, errors = [], ignoresDevice = false, ...rest }: SessionRoute<T>,
): Route {
  const { method, proof, hasPassword, moreProof = {} } = rest
  const needed = hasPassword ? 'person' : proof
  const refusals: RefusalCode[] = []
  if (needed === 'person' || moreProof.person) refusals.push('PERSON_REQUIRED')
  if (needed === 'presence' || moreProof.presence) refusals.push('PRESENCE_REQUIRED')
  return {
    ...rest,
    tag: 'Widget',
    ...(method === 'POST' && { query: sessionQuery }),
    input: schema,
    errors: [...errors, ...refusals, ...sessionErrors, ...(method === 'POST' ? bodyErrors : [])],
    handle: async (call) => {
      const read = await readSessionCall(service, call, schema, needed, ignoresDevice)
      return read.refusal ?? (await unlessBusy(() => run(read.session, read.input, fromOf(call))))
    },
  }
}
