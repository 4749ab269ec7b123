/** Checks every call that carries a client secret, in this order: browser? → credentials → scope → shape. */
import type { z } from 'zod'
import { authenticate, recordBrowserCall, type Authentication } from '../actions/apps/authenticate.ts'
import type { Kind } from '../actions/apps/quota.ts'
import type { Service } from '../actions/service.ts'
import type { App, Scope } from '../store/apps.ts'
import { turnFor } from '../store/writer/turns.ts'
import { answerWithinMs } from '../store/writer/posting.ts'
import { refuse, refuseFor, type Answer } from './reply.ts'
import { readJson, readQuery, refuseLate, type Input } from './request.ts'
import type { Call } from './route.ts'

export type ClientCall<T> =
  | {
      readonly app: App
      readonly input: T
      readonly refusal?: never
    }
  | { readonly refusal: Answer }

type ClientCallShape<T> = {
  readonly scope?: Scope
  readonly schema: z.ZodType<T>
  /** What of the app's bounds the call uses. */
  readonly kind: Kind
  readonly readUsual?: ReadUsual<T>
}

type Values = Input['values']

/** Returns what the schema would return, or undefined if the schema has to be asked: for input whose check has to be cheap. */
type ReadUsual<T> = (values: Values) => T | undefined

export async function readClientCall<T>(
  service: Service,
  call: Call,
  { scope, schema, kind, readUsual }: ClientCallShape<T>,
): Promise<ClientCall<T>> {
  const read = call.request.method === 'GET' ? readQuery(call.request) : await readJson(call.request)
  if ('status' in read) return { refusal: read }
  const identified = identify(service, call, read, scope)
  const { app, refusal } = identified instanceof Promise ? await identified : identified
  if (refusal) return { refusal }
  const busy = enter(service, call, app, kind, 1)
  if (busy) return { refusal: busy }
  const turn = turnFor(app.clientId)
  if (turn) await turn
  const parsed = parseInput(schema, read, readUsual)
  return 'refusal' in parsed ? parsed : { app, input: parsed.input }
}

export type Identified =
  | { readonly app: App; readonly refusal?: never }
  | { readonly app?: never; readonly refusal: Answer }

/** The app that the credentials belong to, if it has the scope. Without a promise in the usual case. */
export function identify(
  service: Service,
  call: Call,
  { values: { clientId, clientSecret }, spoiled }: Input,
  scope: Scope | undefined,
): Identified | Promise<Identified> {
  call.context.clientId = clientId
  if (clientSecret !== undefined && isFromBrowser(call.request))
    return refuseBrowser(service, call, { clientId, clientSecret })
  if (spoiled && /^client(Id|Secret)$/.test(spoiled.field)) return { refusal: refuseSpoiled(spoiled) }
  const authentication = authenticate(service, { clientId, clientSecret }, call.context)
  const conclude = ({ app, retryAfterSeconds }: Authentication) => {
    if (!app) return refuseStranger(service, call, clientId, retryAfterSeconds)
    call.context.appId = app.clientId
    if (!scope || app.scopes.includes(scope)) return { app }
    return { refusal: refuse('INSUFFICIENT_SCOPE', { requiredScope: scope }) }
  }
  return authentication instanceof Promise ? authentication.then(conclude) : conclude(authentication)
}

async function refuseBrowser(
  service: Service,
  call: Call,
  credentials: { readonly clientId: unknown; readonly clientSecret: unknown },
): Promise<Identified> {
  await recordBrowserCall(service, credentials, call.context.address)
  await nameApp(service, call, credentials.clientId)
  return { refusal: refuse('BROWSER_CALL_REFUSED') }
}

async function refuseStranger(
  service: Service,
  call: Call,
  clientId: unknown,
  retryAfterSeconds: number | undefined,
): Promise<Identified> {
  await nameApp(service, call, clientId)
  return { refusal: retryAfterSeconds ? refuseFor(retryAfterSeconds) : refuse('INVALID_CLIENT') }
}

/** Counts the work as under way of the app until the request is answered, or refuses it. A later call for the same request replaces the count. */
export function enter(service: Service, { context }: Call, app: App, kind: Kind, count: number): Answer | undefined {
  context.leave?.()
  const timeLeftMs = context.arrivedAt + (context.waitedMs ?? 0) + answerWithinMs - performance.now()
  // The body took so long that the caller would get the answer too late.
  if (timeLeftMs <= 0) return refuseLate()
  const { leave, retryAfterSeconds } = service.quota.enter(app, kind, count, timeLeftMs)
  context.leave = leave
  if (retryAfterSeconds === undefined) return undefined
  const error = `The app has too many ${kind} under way; wait for the time in Retry-After.`
  return refuse('RATE_LIMITED', { error }, { 'retry-after': String(retryAfterSeconds) })
}

/** A refused call is counted for the app it names, if that app exists. */
async function nameApp(service: Service, { context }: Call, clientId: unknown): Promise<void> {
  if (typeof clientId === 'string') context.appId = (await service.apps.known(clientId))?.clientId
}

/** Browsers send these headers and backends do not, so a secret that arrives with one of them has leaked. */
function isFromBrowser(request: Request): boolean {
  return request.headers.has('origin') || request.headers.has('sec-fetch-site')
}

export function parseInput<T>(
  schema: z.ZodType<T>,
  read: Input,
  readUsual?: ReadUsual<T>,
): { input: T } | { refusal: Answer } {
  if (read.spoiled) return { refusal: refuseSpoiled(read.spoiled) }
  const usual = readUsual?.(read.values)
  if (usual !== undefined) return { input: usual }
  const parsed = schema.safeParse(read.values)
  if (parsed.success) return { input: parsed.data }
  const fields: Record<string, string> = {}
  for (const issue of parsed.error.issues) fields[String(issue.path[0] ?? 'body')] ??= issue.message
  return { refusal: refuseFields(fields) }
}

function refuseSpoiled({ field, problem }: { field: string; problem: string }): Answer {
  const isTooLong = problem !== 'is given twice' && /amount/i.test(field)
  return isTooLong ? refuseFields({ [field]: problem }) : refuse('INVALID_REQUEST', { fields: { [field]: problem } })
}

/** A wrong amount has its own code when it is the only wrong field. Its message names the one cause. */
function refuseFields(fields: Record<string, string>): Answer {
  const [[name, problem] = [], ...others] = Object.entries(fields)
  const isAmountAlone = others.length === 0 && (name === 'amount' || name === 'requiredAmount')
  return isAmountAlone
    ? refuse('INVALID_AMOUNT', { error: `The ${name} ${problem}.`, fields })
    : refuse('INVALID_REQUEST', { fields })
}
