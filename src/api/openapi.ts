/** The OpenAPI document, generated from the schemas that validate requests. */
import { z } from 'zod'
import { ERROR_MEANINGS, SESSION_END_REASONS } from '../../sdk/contract.ts'
import { keptReasons } from '../actions/people/delete-account.ts'
import type { Service } from '../actions/service.ts'
import { signatureHeader } from '../../sandbox/signature.ts'
import { answer, refuse, statusOf, type RefusalCode } from './reply.ts'
import type { Proof, Route } from './route.ts'
import { hold, mismatch } from './shapes.ts'
import { deviceCookieName } from './widget-device.ts'

type Json = Record<string, unknown>
/** Named schemas, collected while the paths are generated. */
type Named = Record<string, Json>

export function openapiRoute({ config }: Service, routes: readonly Route[]): Route {
  let document: Json | undefined
  return {
    method: 'GET',
    path: '/api/openapi.json',
    tag: 'Operations',
    summary: 'This API description',
    description: 'Generated from the schemas that validate requests. `/docs` shows it as a page.',
    output: z.looseObject({ openapi: z.string() }),
    errors: [],
    example: { output: { openapi: '3.1.0' } },
    handle: async () => answer((document ??= openapi(routes, config.publicUrl))),
  }
}

function openapi(routes: readonly Route[], publicUrl: string): Json {
  const named: Named = { Error: jsonSchema(errorBody, {}) }
  const paths: Record<string, Json> = {}
  for (const route of routes) {
    const path = (paths[route.path] ??= {})
    path[route.method.toLowerCase()] = operation(route, named)
    if (route.isProbe) path['head'] = headOperation(route, named)
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Billfold',
      version: '1.1.0',
      description,
      contact: { name: 'The operator of this service', url: publicUrl },
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: publicUrl, description: 'The service that serves this description' }],
    tags: [
      { name: 'Server', description: 'For the backends of client apps only.' },
      { name: 'Widget', description: 'Session creation by backends, and the calls of the hosted pages.' },
      { name: 'Operations', description: 'For operators of the service.' },
    ],
    paths,
    components: {
      schemas: Object.fromEntries(Object.entries(named).sort(([a], [b]) => a.localeCompare(b))),
      headers,
      securitySchemes,
    },
  }
}

const description = `Wallet balances and an exact ledger over plain HTTP. Amounts are JSON numbers in major units. Lengths count Unicode code points.

A backend authenticates with \`clientId\` and \`clientSecret\`: in the query of a GET, in the JSON body of a POST, never in a header. OpenAPI cannot describe credentials in a body, so the schema of such a body requires them and \`security\` is empty. Where \`security\` names them, they are the query parameters of the same names: send each once.

A widget session proves only the app that asked for it. What shows or changes more of the user than the app knows needs a higher proof: \`person\`, a device on which the user signed in inside the widget, or \`presence\`, the password given on that device within ten minutes.

Answers may gain new fields: ignore those you do not know. An unknown path answers 404 \`NOT_FOUND\`; an unknown method answers 405 \`METHOD_NOT_ALLOWED\` with an \`Allow\` header.`

const securitySchemes = {
  clientId: { type: 'apiKey', in: 'query', name: 'clientId', description: 'Public identifier of the client app' },
  clientSecret: {
    type: 'apiKey',
    in: 'query',
    name: 'clientSecret',
    description: 'Secret of the client app, for backends only. A secret sent from a browser is refused',
  },
  session: {
    type: 'apiKey',
    in: 'query',
    name: 'session',
    description: 'A widget session token, `ws_…`, valid for five minutes',
  },
  device: {
    type: 'apiKey',
    in: 'cookie',
    name: deviceCookieName,
    description:
      'The token of a browser in which the user signed in inside the widget; it counts only with a session of the same user. A page that keeps no cookie sends it as the header `billfold-device`',
  },
  stripe: {
    type: 'apiKey',
    in: 'header',
    name: 'stripe-signature',
    description: 'Stripe’s signature over the body as sent',
  },
  sandbox: {
    type: 'apiKey',
    in: 'header',
    name: signatureHeader,
    description: 'The sandbox processor’s signature, made like Stripe’s',
  },
}

const security: Record<Proof, Json> = {
  app: { clientId: [], clientSecret: [] },
  session: { session: [] },
  person: { session: [], device: [] },
  presence: { session: [], device: [] },
  stripe: { stripe: [] },
  sandbox: { sandbox: [] },
}

const headers = {
  RequestId: {
    description: 'Identifies this request in the log; an error body repeats it as `requestId`',
    required: true,
    schema: { type: 'string', pattern: '^req_' },
  },
  RetryAfter: {
    description: 'Seconds to wait before the next attempt',
    required: true,
    schema: { type: 'integer', minimum: 0 },
  },
  DeviceCookie: {
    description: 'The token of this browser’s device; empty when the device has ended',
    required: false,
    schema: { type: 'string', pattern: `^${deviceCookieName}=` },
  },
  IdempotentReplayed: {
    description: 'The reference was used before: this is its first outcome, and no money moved',
    required: false,
    schema: { const: 'true' },
  },
}

const requestIdHeader = { 'X-Request-Id': { $ref: '#/components/headers/RequestId' } }
const retryAfterHeader = { 'Retry-After': { $ref: '#/components/headers/RetryAfter' } }
const cookieHeader = { 'Set-Cookie': { $ref: '#/components/headers/DeviceCookie' } }
const replayedHeader = { 'Idempotent-Replayed': { $ref: '#/components/headers/IdempotentReplayed' } }

function operation(route: Route, named: Named): Json {
  const { tag, summary, method, proof } = route
  const parameters = [...(method === 'GET' ? parametersOf(route, 'input') : []), ...parametersOf(route, 'query')]
  const isInBody = proof === 'app' && method === 'POST'
  return {
    tags: [tag],
    summary,
    description: describe(route),
    operationId: operationId(route.method, route.path),
    security: proof && !isInBody ? [security[proof]] : [],
    ...(parameters.length > 0 ? { parameters } : {}),
    ...(method === 'POST' && route.input ? { requestBody: requestBody(route, named) } : {}),
    responses: responses(route, named),
  }
}

/** The description, with the proof of the user that the call needs: `security` cannot say it. */
function describe({ description, proof, moreProof = {}, hasPassword }: Route): string | undefined {
  const more = Object.entries(moreProof).map(([needed, when]) => `\`${needed}\` ${when}`)
  const inBody = hasPassword ? ' (the password in the body gives it)' : ''
  const needed = [...(proof === 'person' || proof === 'presence' ? [`\`${proof}\`${inBody}`] : []), ...more]
  return needed.length === 0
    ? description
    : [description, `Needs the proof ${needed.join(', ')}.`].filter(Boolean).join(' ')
}

/** A HEAD answers with the statuses and headers of the GET and no body. */
function headOperation(route: Route, named: Named): Json {
  const answers = responses(route, named)
  for (const answer of Object.values(answers)) delete answer.content
  return {
    tags: [route.tag],
    summary: `${route.summary} (HEAD)`,
    description: route.description,
    operationId: operationId('HEAD', route.path),
    security: [],
    responses: answers,
  }
}

function operationId(method: string, path: string): string {
  const words = path.split(/[/.-]/).filter((word) => word && word !== 'api')
  return [method.toLowerCase(), ...words]
    .map((word, i) => (i === 0 ? word : word[0]!.toUpperCase() + word.slice(1)))
    .join('')
}

/** Required of callers, but a missing one is 401 and not 400, so the validating schemas leave them optional. */
const proofFields = ['clientId', 'clientSecret', 'session']

function objectSchema(schema: z.ZodType, named: Named = {}): Json & { properties: Json; required: string[] } {
  const {
    properties = {},
    required = [],
    ...rest
  } = jsonSchema(schema, named) as { properties?: Json; required?: string[] }
  const isNeeded = (name: string) => proofFields.includes(name) || required.includes(name)
  return { ...rest, properties, required: Object.keys(properties).filter(isNeeded) }
}

function parametersOf(route: Route, part: 'input' | 'query'): Json[] {
  const schema = route[part]
  if (!schema) return []
  const examples: Json = { ...credentialExample, ...sessionExample, ...(part === 'input' ? route.example.input : {}) }
  const { properties, required } = objectSchema(schema)
  return Object.entries(properties).map(([name, property]) => {
    const { description, ...rest } = property as Json
    return { name, in: 'query', required: required.includes(name), description, schema: rest, example: examples[name] }
  })
}

const credentialExample = { clientId: 'app_0123456789abcdef0123', clientSecret: 'bfs_…' }
const sessionExample = { session: 'ws_3f1c2f0e-6d0b-4c7e-9a53-0d5f4b8f2a11' }

function requestBody({ input, example, proof, lines }: Route, named: Named): Json {
  const whole = { ...(proof === 'app' ? credentialExample : {}), ...example.input }
  const content = { 'application/json': { schema: objectSchema(input!, named), example: whole } }
  return {
    required: true,
    content: { ...content, ...(lines ? linesContent([credentialExample, example.input!]) : {}) },
  }
}

/** The NDJSON form: each element of an example's list is one line; an example without a list is one line itself. */
function linesContent(examples: readonly object[]): Json {
  const lines = examples.flatMap((example) => Object.values(example).find(Array.isArray) ?? [example])
  const example = lines.map((line) => `${JSON.stringify(line)}\n`).join('')
  return { 'application/x-ndjson': { schema: { type: 'string', description: 'One JSON object per line' }, example } }
}

type Response = Json & { content?: Json }

function responses(route: Route, named: Named): Record<string, Response> {
  const { output, example, status = 200, others = {}, mediaType = 'application/json', isIdempotent, setsDevice } = route
  const found: Record<string, Response> = {
    [status]: {
      description: status === 202 ? 'Accepted.' : 'Success.',
      headers: { ...requestIdHeader, ...(isIdempotent ? replayedHeader : {}), ...(setsDevice ? cookieHeader : {}) },
      content: {
        [mediaType]: { schema: jsonSchema(output, named), example: example.output },
        ...(route.lines ? linesContent([example.output as object]) : {}),
      },
    },
  }
  for (const [status, { description, schema }] of Object.entries(others)) {
    const content = { 'application/json': { schema: jsonSchema(schema, named) } }
    found[status] = { description, headers: requestIdHeader, content }
  }
  // Any request can be refused for a malformed Host header, and any can fail.
  const codes = new Set<RefusalCode>(['INVALID_REQUEST', ...route.errors, 'INTERNAL'])
  for (const [status, here] of Map.groupBy(codes, (code) => statusOf(code, route.method))) {
    found[status] = errorResponse(status, here, isIdempotent)
  }
  return found
}

function errorResponse(status: number, codes: readonly RefusalCode[], isIdempotent: true | undefined): Response {
  return {
    description: codes.map((code) => `${code}: ${ERROR_MEANINGS[code]}`).join('\n\n'),
    headers: {
      ...requestIdHeader,
      ...(status === 429 || status === 503 ? retryAfterHeader : {}),
      // INSUFFICIENT_BALANCE is recorded as an outcome, so a repeat replays it.
      ...(status === 400 && isIdempotent ? replayedHeader : {}),
    },
    content: {
      'application/json': {
        schema: { allOf: [{ $ref: '#/components/schemas/Error' }, { properties: { code: { enum: codes } } }] },
        example: { ...refuse(codes[0]!).body, requestId: 'req_m3k9x2ab000001' },
      },
    },
  }
}

/** Collects named schemas in `named`; the result refers to them as components. */
function jsonSchema(schema: z.ZodType, named: Named): Json {
  const around = z.toJSONSchema(z.object({ it: schema }), { io: 'input', reused: 'inline', unrepresentable: 'any' })
  const { $defs = {}, properties } = JSON.parse(
    JSON.stringify(around).replaceAll('"#/$defs/', '"#/components/schemas/'),
  ) as { $defs?: Named; properties: { it: Json } }
  for (const [name, { id: _, ...body }] of Object.entries($defs)) named[name] = body
  return properties.it
}

const errorBody = z.object({
  error: z.string().describe('A message for people'),
  code: z.string().describe('A stable code for programs'),
  requestId: z.string().describe('Identifies this request in the log'),
  requiresAuth: z.literal(true).optional().describe('The user must sign in through the widget'),
  fields: z.record(z.string(), z.string()).optional().describe('What is wrong, by field name'),
  requiredScope: z
    .enum(['wallet:read', 'wallet:write'])
    .optional()
    .describe('INSUFFICIENT_SCOPE: the scope that the call needs'),
  balance: z
    .number()
    .optional()
    .describe('INSUFFICIENT_BALANCE, BALANCE_LIMIT: the balance at the time of the refusal'),
  available: z.number().optional().describe('INSUFFICIENT_BALANCE, BALANCE_LIMIT: the balance without what was held'),
  held: z.number().optional().describe('INSUFFICIENT_BALANCE, BALANCE_LIMIT: what open holds reserved'),
  requiredAmount: z.number().optional().describe('INSUFFICIENT_BALANCE: the amount of the debit or hold'),
  shortfall: z.number().optional().describe('INSUFFICIENT_BALANCE: the missing amount'),
  reason: z
    .enum([...keptReasons, 'busy', ...SESSION_END_REASONS])
    .optional()
    .describe(
      'ACCOUNT_NOT_DELETABLE: why the account cannot be deleted. RATE_LIMITED: `busy` when the service, not the user, has too many attempts. INVALID_SESSION: why the session ended, if the token was a session',
    ),
  hold: hold.optional().describe('HOLD_CLOSED, HOLD_EXPIRED, HOLD_EXCEEDED, HOLD_UNCOVERED: the hold as it is'),
  remaining: z.number().optional().describe('The same codes: what remains of the hold'),
  oldest: z.int().optional().describe('EVENTS_GONE: the lowest number that is kept'),
  declineCode: z.string().optional().describe('CARD_DECLINED: the card processor’s reason'),
  replayed: z.literal(true).optional().describe('A recorded refusal, replayed because its reference was used again'),
  mismatch: z
    .array(mismatch)
    .optional()
    .describe('The fields in which a repeat differs from the first use of its reference'),
})
