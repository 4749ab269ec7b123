/** Checks every call of the hosted pages, in this order: own origin? → session or app → shape. */
import type { z } from 'zod'
import { PasswordsBusy } from '../actions/people/passwords.ts'
import type { Service } from '../actions/service.ts'
import { checkSession } from '../actions/people/open-session.ts'
import { findLanguage } from '../languages/languages.ts'
import type { App } from '../store/apps.ts'
import type { Session } from '../store/people/widget-sessions.ts'
import { parseAcceptLanguage } from '../web/accept-language.ts'
import { isFromOwnPage } from '../web/own-origin.ts'
import { parseInput } from './client-call.ts'
import { refuse, refuseFor, type Answer } from './reply.ts'
import { readJson, readQuery } from './request.ts'
import type { Call } from './route.ts'

export type SessionCall<T> =
  | { readonly session: Session; readonly input: T; readonly refusal?: never }
  | { readonly refusal: Answer }

/** Reads a call with `?session=`. The schema describes the query of a GET and the JSON body of a POST. */
export async function readSessionCall<T>(service: Service, call: Call, schema: z.ZodType<T>): Promise<SessionCall<T>> {
  if (!isFromOwnPage(service.config, call.request, { mustNameOrigin: false }))
    return { refusal: refuse('CROSS_SITE_REFUSED') }
  const query = readQuery(call.request)
  if (query.spoiled)
    return { refusal: refuse('INVALID_REQUEST', { fields: { [query.spoiled.field]: query.spoiled.problem } }) }
  const { session, code } = await checkSession(service, query.values['session'])
  if (code) return { refusal: refuse(code) }
  const read = call.request.method === 'GET' ? query : await readJson(call.request)
  if ('status' in read) return { refusal: read }
  const parsed = parseInput(schema, read)
  return 'refusal' in parsed ? parsed : { session, input: parsed.input }
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

/** Answers 429 when too many password checks are already waiting. */
export async function unlessBusy(work: () => Promise<Answer>): Promise<Answer> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof PasswordsBusy) return refuseFor(5)
    throw error
  }
}

/** The origin of a call; `lang` is the language of the page, which its script sends as Accept-Language. */
export type From = { readonly address: string; readonly lang: string | undefined; readonly userAgent: string | null }

export function fromOf({ request, context }: Call): From {
  const tags = parseAcceptLanguage(request.headers.get('accept-language'))
  return { address: context.address, lang: findLanguage(...tags)?.code, userAgent: request.headers.get('user-agent') }
}
