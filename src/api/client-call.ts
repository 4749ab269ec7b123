/** Checks every call that carries a client secret, in this order: browser? → credentials → scope → shape. */
import type { z } from 'zod'
import { authenticate, recordBrowserCall } from '../actions/apps/authenticate.ts'
import type { Service } from '../actions/service.ts'
import type { App, Scope } from '../store/apps.ts'
import { refuse, refuseFor, type Answer } from './reply.ts'
import { readJson, readQuery, type Input } from './request.ts'
import type { Call } from './route.ts'

export type ClientCall<T> =
  | {
      readonly app: App
      readonly input: T
      /** When the whole request had arrived, by performance.now(). The deadline of the answer counts from here. */
      readonly arrivedAt: number
      readonly refusal?: never
    }
  | { readonly refusal: Answer }

type ClientCallShape<T> = {
  readonly scope?: Scope
  readonly schema: z.ZodType<T>
  /** Reads the body of a POST; by default it must be one JSON object. */
  readonly readBody?: (request: Request) => Promise<Input | Answer>
}

export async function readClientCall<T>(
  service: Service,
  call: Call,
  { scope, schema, readBody = readJson }: ClientCallShape<T>,
): Promise<ClientCall<T>> {
  const read = call.request.method === 'GET' ? readQuery(call.request) : await readBody(call.request)
  if ('status' in read) return { refusal: read }
  const arrivedAt = performance.now()
  const { clientId, clientSecret } = read.values
  call.context.clientId = clientId
  if (clientSecret !== undefined && isFromBrowser(call.request)) {
    await recordBrowserCall(service, { clientId, clientSecret }, call.context.address)
    await nameApp(service, call, clientId)
    return { refusal: refuse('BROWSER_CALL_REFUSED') }
  }
  if (read.spoiled && /^client(Id|Secret)$/.test(read.spoiled.field)) return { refusal: refuseSpoiled(read.spoiled) }
  const authentication = authenticate(service, { clientId, clientSecret }, call.context)
  const { app, retryAfterSeconds } = authentication instanceof Promise ? await authentication : authentication
  if (!app) {
    await nameApp(service, call, clientId)
    return { refusal: retryAfterSeconds ? refuseFor(retryAfterSeconds) : refuse('INVALID_CLIENT') }
  }
  call.context.appId = app.clientId
  if (scope && !app.scopes.includes(scope)) return { refusal: refuse('INSUFFICIENT_SCOPE', { requiredScope: scope }) }
  const parsed = parseInput(schema, read)
  return 'refusal' in parsed ? parsed : { app, input: parsed.input, arrivedAt }
}

/** A refused call is counted for the app it names, if that app exists. */
async function nameApp(service: Service, { context }: Call, clientId: unknown): Promise<void> {
  if (typeof clientId === 'string') context.appId = (await service.apps.known(clientId))?.clientId
}

/** Browsers send these headers and backends do not, so a secret that arrives with one of them has leaked. */
function isFromBrowser(request: Request): boolean {
  return request.headers.has('origin') || request.headers.has('sec-fetch-site')
}

export function parseInput<T>(schema: z.ZodType<T>, read: Input): { input: T } | { refusal: Answer } {
  if (read.spoiled) return { refusal: refuseSpoiled(read.spoiled) }
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

/** A wrong amount has its own code when it is the only wrong field. */
function refuseFields(fields: Record<string, string>): Answer {
  const names = Object.keys(fields)
  const isAmountAlone = names.length === 1 && (names[0] === 'amount' || names[0] === 'requiredAmount')
  return refuse(isAmountAlone ? 'INVALID_AMOUNT' : 'INVALID_REQUEST', { fields })
}
