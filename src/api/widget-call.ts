/** Checks every call of the hosted pages, in this order: own origin? → session or app → proof of the user → shape. */
import type { z } from 'zod'
import { PasswordsBusy } from '../actions/people/passwords.ts'
import type { Service } from '../actions/service.ts'
import { checkSession } from '../actions/people/open-session.ts'
import { hasProof, type UserProof } from '../actions/people/proofs.ts'
import type { Browser } from '../actions/people/trust-device.ts'
import { findLanguage } from '../languages/languages.ts'
import type { App } from '../store/apps.ts'
import type { Session } from '../store/people/widget-sessions.ts'
import { parseAcceptLanguage } from '../web/accept-language.ts'
import { isFromOwnPage } from '../web/own-origin.ts'
import { parseInput } from './client-call.ts'
import { refuse, refuseFor, type Answer } from './reply.ts'
import { readJson, readQuery } from './request.ts'
import type { Call } from './route.ts'
import { readDeviceToken } from './widget-device.ts'

export type SessionCall<T> =
  | { readonly session: Session; readonly input: T; readonly refusal?: never }
  | { readonly refusal: Answer }

/** Reads a call with `?session=`. The schema describes the query of a GET and the JSON body of a POST. */
export async function readSessionCall<T>(
  service: Service,
  call: Call,
  schema: z.ZodType<T>,
  proof: UserProof,
  ignoresDevice = false,
): Promise<SessionCall<T>> {
  if (!isFromOwnPage(service.config, call.request, { mustNameOrigin: false }))
    return { refusal: refuse('CROSS_SITE_REFUSED') }
  const query = readQuery(call.request)
  if (query.spoiled)
    return { refusal: refuse('INVALID_REQUEST', { fields: { [query.spoiled.field]: query.spoiled.problem } }) }
  const deviceToken = ignoresDevice ? undefined : readDeviceToken(call.request)
  const { session, end } = await checkSession(service, query.values['session'], deviceToken)
  if (end) return { refusal: refuse(end.code, end.reason && { reason: end.reason }) }
  const unproved = refuseUnproved(session, proof)
  if (unproved) return { refusal: unproved }
  const read = call.request.method === 'GET' ? query : await readJson(call.request)
  if ('status' in read) return { refusal: read }
  const parsed = parseInput(schema, read)
  return 'refusal' in parsed ? parsed : { session, input: parsed.input }
}

/** Undefined when the call has the proof. */
export function refuseUnproved(session: Session, needed: UserProof): Answer | undefined {
  if (hasProof(session, needed)) return undefined
  return refuse(needed === 'presence' ? 'PRESENCE_REQUIRED' : 'PERSON_REQUIRED')
}

export type PageCall<T> =
  | { readonly app: App; readonly input: T; readonly refusal?: never }
  | { readonly refusal: Answer }

/** Reads a call of the signed-out page, which names its app in the body. */
export async function readPageCall<T extends { clientId: string }>(
  service: Service,
  call: Call,
  schema: z.ZodType<T>,
): Promise<PageCall<T>> {
  if (!isFromOwnPage(service.config, call.request, { mustNameOrigin: false }))
    return { refusal: refuse('CROSS_SITE_REFUSED') }
  const read = await readJson(call.request)
  if ('status' in read) return { refusal: read }
  const parsed = parseInput(schema, read)
  if ('refusal' in parsed) return parsed
  const app = await service.apps.findActive(parsed.input.clientId)
  if (!app) return { refusal: refuse('INVALID_CLIENT') }
  return { app, input: parsed.input }
}

const busy = { error: 'Many people are signing in; wait for the time in Retry-After.', reason: 'busy' }

/** Answers 429 when too many password checks are already waiting; `reason` says that the user did not try too often. */
export async function unlessBusy<T>(work: () => Promise<T>): Promise<T | Answer> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof PasswordsBusy) return refuse('RATE_LIMITED', busy, { 'retry-after': '5' })
    throw error
  }
}

/** The refusals that all actions share that ask for the password again. */
export function toProvedRefusal(result: {
  readonly kind: string
  readonly retryAfterSeconds?: number
}): Answer | undefined {
  if (result.retryAfterSeconds !== undefined) return refuseFor(result.retryAfterSeconds)
  if (result.kind !== 'wrong') return undefined
  return refuse('INVALID_CREDENTIALS', { error: 'The password is wrong.' })
}

/** The origin of a call; `lang` is the language of the page, which its script sends as Accept-Language. */
export type From = Browser & { readonly lang: string | undefined }

export function fromOf({ request, context }: Call): From {
  const tags = parseAcceptLanguage(request.headers.get('accept-language'))
  return {
    address: context.address,
    lang: findLanguage(...tags)?.code,
    userAgent: request.headers.get('user-agent'),
    deviceToken: readDeviceToken(request),
  }
}
