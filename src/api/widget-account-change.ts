/** Builds the route of a POST with `?session=` that changes the account. */
import type { z } from 'zod'
import type { Service } from '../actions/service.ts'
import type { Session } from '../store/people/widget-sessions.ts'
import type { Answer } from './reply.ts'
import type { Route } from './route.ts'
import { fromOf, readSessionCall, unlessBusy, type From } from './widget-call.ts'
import { bodyErrors, sessionErrors, sessionQuery } from './widget-shapes.ts'

type AccountChange<T> = Omit<Route, 'method' | 'tag' | 'proof' | 'input' | 'query' | 'errors' | 'handle'> & {
  readonly errors?: Route['errors']
  readonly run: (session: Session, input: T, from: From) => Promise<Answer>
}

export function accountChange<T>(
  service: Service,
  schema: z.ZodType<T>,
  { run, errors = [], ...rest }: AccountChange<T>,
): Route {
  return {
    ...rest,
    method: 'POST',
    tag: 'Widget',
    proof: 'session',
    query: sessionQuery,
    input: schema,
    errors: [...errors, ...sessionErrors, ...bodyErrors],
    handle: async (call) => {
      const read = await readSessionCall(service, call, schema)
      return read.refusal ?? (await unlessBusy(() => run(read.session, read.input, fromOf(call))))
    },
  }
}
