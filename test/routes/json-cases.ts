/** Requests that each JSON route must refuse, by the kind of the route, and one that it must accept. */
import type { z } from 'zod'
import type { Route } from '../../src/api/route.ts'
import { elsewhere, wrongMethods, type Case, type Rig } from './rig.ts'
import type { Credentials, TestUser } from '../service.ts'

const base = 'http://billfold.test'

type Values = Record<string, unknown>

export type JsonCases = {
  readonly cases: readonly Case[]
  /** The same request without a mistake: shows that the cases are refused for their mistake alone. */
  readonly good: { readonly request: Request; readonly answers: readonly string[] }
}

export type Signer = (body: string, how?: 'late' | 'forged') => Record<string, string>

/** Routes without authentication: a new one has to be added here. */
const open = new Set(['/healthz', '/readyz', '/api/openapi.json', '/api/log/checkpoint', '/api/log/key'])
/** Routes of a backend that need no scope: a new one has to be added here. */
const withoutScope = new Set(['/api/server/link/verify', '/api/widget/session'])

/** Routes that return what belongs to the calling app: another app asks for its own. */
const ofTheApp = new Set(['/api/server/events', '/api/server/events/replay'])

/** Routes that move nothing and need `wallet:read`, although they are called with POST. */
const readByPost = new Set(['/api/server/events/replay'])

const fieldsOf = (schema: z.ZodType | undefined): string[] =>
  Object.keys((schema as { shape?: object } | undefined)?.shape ?? {})

type Kind = 'client' | 'session' | 'page' | 'webhook' | 'open'

/** Undefined for a new route whose kind is not defined yet. */
function kindOf(route: Route): Kind | undefined {
  const fields = [...fieldsOf(route.input), ...fieldsOf(route.query)]
  if (fields.includes('clientSecret')) return 'client'
  if (fields.includes('session')) return 'session'
  if (fields.includes('clientId')) return 'page'
  if (route.path.startsWith('/api/processor/')) return 'webhook'
  return open.has(route.path) ? 'open' : undefined
}

/** The cookie of a device; empty without one. */
export type Device = Record<string, string>

type Call = { readonly values: Values; readonly headers?: Record<string, string>; readonly body?: string }

const textOf = (value: unknown) => (typeof value === 'string' ? value : JSON.stringify(value))

/** Undefined values are left out. A POST sends the fields of its query schema in the query and the others in the body. */
export function toRequest(route: Route, { values, headers = {}, body }: Call): Request {
  const isGet = route.method === 'GET'
  const inQuery = isGet ? Object.keys(values) : fieldsOf(route.query)
  const query = new URLSearchParams()
  for (const name of inQuery) if (values[name] !== undefined) query.set(name, textOf(values[name]))
  const url = `${base}${route.path}${query.size > 0 ? `?${query}` : ''}`
  if (isGet) return new Request(url, { headers })
  const rest = Object.fromEntries(Object.entries(values).filter(([name]) => !inQuery.includes(name)))
  const type = { 'content-type': 'application/json' }
  return new Request(url, { method: 'POST', headers: { ...type, ...headers }, body: body ?? JSON.stringify(rest) })
}

export async function jsonCases(rig: Rig, route: Route, sign: Signer, here: readonly string[]): Promise<JsonCases> {
  const kind = kindOf(route)
  if (!kind) throw new Error(`No cases are defined for ${route.method} ${route.path}: give it a kind in test/routes.`)
  const methods = wrongMethods(`${base}${route.path}`, route.isProbe ? [...here, 'HEAD'] : here)
  const tested = await {
    client: clientCases,
    session: sessionCases,
    page: pageCases,
    webhook: webhookCases,
    open: openCases,
  }[kind](rig, route, sign)
  return { good: tested.good, cases: [...methods, ...tested.cases] }
}

/** The documented example of the route, with the ids and secrets of this test. */
export async function goodValues(rig: Rig, route: Route, owner?: TestUser): Promise<Values> {
  const fields = [...fieldsOf(route.input), ...fieldsOf(route.query)]
  const user = owner ?? (await rig.newUser())
  const mine: Values = {
    ...rig.app,
    serviceUserId: user.serviceUserId,
    session: fields.includes('session') ? await rig.sessionOf(user.serviceUserId) : undefined,
    linkCode: fields.includes('linkCode') ? await rig.newLinkCode() : undefined,
    referenceId: `routes ${route.path}`,
    email: 'unknown@example.com',
    sequence: fields.includes('sequence') ? await rig.newEntry(user) : undefined,
    holdId: fields.includes('holdId') ? await rig.newHold(user) : undefined,
    endpointId: fields.includes('endpointId') ? await rig.newEndpoint() : undefined,
    deviceId: fields.includes('deviceId') ? await rig.newDeviceId(user) : undefined,
  }
  const own = Object.entries(mine).filter(([name]) => fields.includes(name))
  // A filter takes its amounts as decimal text.
  const ten = fields.includes('min') ? '10' : 10
  const amount = fields.includes('amount') && { amount: /\/(debit|hold)$/.test(route.path) ? 0.01 : ten }
  const one = { direction: 'credit', serviceUserId: user.serviceUserId, amount: 10, referenceType: 'ROUTES' }
  const list = fields.includes('operations') && { operations: [{ ...one, referenceId: `routes ${route.path}` }] }
  const entry = route.path === '/api/server/proof' && (await rig.newReference(user, `routes ${route.path}`))
  const first = route.path === '/api/server/events/replay' && { from: 1, to: 1 }
  return { ...route.example.input, ...Object.fromEntries(own), ...amount, ...list, ...entry, ...first }
}

const nul = 'a\u0000b'
const unpairedSurrogate = 'a\ud800b'

/** Malformed bodies and queries, for every kind of caller. */
function shapeCases(route: Route, values: Values, device: Device = {}): Case[] {
  const inQuery = route.method === 'GET' ? fieldsOf(route.input) : fieldsOf(route.query)
  const fields = [...new Set([...fieldsOf(route.input), ...inQuery])]
  const cases: Case[] = []
  for (const name of fields) {
    const isLetIn = name === 'password' ? ['202*'] : []
    for (const [what, value] of [
      ['a NUL', nul],
      ['an unpaired surrogate', unpairedSurrogate],
    ] as const)
      cases.push({
        name: `${what} in ${name}`,
        request: toRequest(route, { values: { ...values, [name]: value }, headers: device }),
        answers: ['400*', '401*', '404*', ...isLetIn],
      })
    cases.push({
      name: `${name} twice`,
      request: twice(route, values, name, inQuery, device),
      answers: ['400 INVALID_REQUEST'],
    })
  }
  if (route.method === 'GET' || route.input === undefined) return cases
  const rest = JSON.stringify(Object.fromEntries(Object.entries(values).filter(([name]) => !inQuery.includes(name))))
  for (const type of [
    'text/plain',
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=x',
    'application/json; charset=latin1',
    '',
  ])
    cases.push({
      name: `the content type ${type}`,
      request: toRequest(route, { values, headers: { ...device, 'content-type': type } }),
      answers: ['415 UNSUPPORTED_MEDIA_TYPE'],
    })
  for (const [what, body, answer] of [
    [
      'a body of a byte too much',
      `${rest.slice(0, -1)}${' '.repeat((route.lines ? 2 ** 20 : 2 ** 16) + 1 - rest.length)}}`,
      '413 PAYLOAD_TOO_LARGE',
    ],
    ['half a body', rest.slice(0, -1), '400 INVALID_REQUEST'],
    ['a list', `[${rest}]`, '400 INVALID_REQUEST'],
    ['no body', '', '400 INVALID_REQUEST'],
  ] as const)
    cases.push({ name: what, request: toRequest(route, { values, body, headers: device }), answers: [answer] })
  return cases
}

function twice(route: Route, values: Values, name: string, inQuery: readonly string[], headers: Device): Request {
  const value = values[name] ?? 'x'
  const request = toRequest(route, { values: { ...values, [name]: value }, headers })
  if (inQuery.includes(name)) {
    const url = `${request.url}&${name}=${encodeURIComponent(textOf(value))}`
    return route.method === 'GET' ? new Request(url, { headers }) : new Request(url, request)
  }
  const rest = Object.fromEntries(
    Object.entries({ ...values, [name]: value }).filter(([key]) => !inQuery.includes(key)),
  )
  return toRequest(route, {
    values,
    headers,
    body: `{${JSON.stringify(name)}:${JSON.stringify(value)},${JSON.stringify(rest).slice(1)}`,
  })
}

async function clientCases(rig: Rig, route: Route): Promise<JsonCases> {
  const { app, apps, disconnected, foreignUser } = rig
  const values = await goodValues(rig, route)
  const asApp = (who: Partial<Credentials>, changes: Values = {}) =>
    toRequest(route, { values: { ...values, clientId: undefined, clientSecret: undefined, ...who, ...changes } })
  const cases: Case[] = []
  const wrong = (name: string, request: Request) => cases.push({ name, request, answers: ['401 INVALID_CLIENT'] })
  wrong('no credentials', asApp({}))
  wrong('no secret', asApp({ clientId: app.clientId }))
  wrong('no clientId', asApp({ clientSecret: app.clientSecret }))
  wrong('a wrong secret', asApp({ ...app, clientSecret: `${app.clientSecret}x` }))
  wrong('an unknown app', asApp({ ...app, clientId: 'app_00000000000000000000' }))
  wrong('the secret of another app', asApp({ ...app, clientSecret: apps.other.clientSecret }))
  wrong('an inactive app', asApp(apps.inactive))
  wrong('a revoked secret', asApp(apps.revoked))
  wrong('an expired secret', asApp(apps.expired))
  const basic = `Basic ${btoa(`${app.clientId}:${app.clientSecret}`)}`
  const headers = { authorization: basic, 'x-client-id': app.clientId, 'x-client-secret': app.clientSecret }
  const anonymous = { ...values, clientId: undefined, clientSecret: undefined }
  wrong('credentials in headers', toRequest(route, { values: anonymous, headers }))
  if (route.method === 'POST') {
    const inBody = toRequest(route, { values: anonymous })
    wrong('credentials in the query', new Request(`${inBody.url}?${new URLSearchParams(app)}`, inBody))
  }
  for (const from of elsewhere)
    cases.push({
      name: `the secret from a browser, ${JSON.stringify(from)}`,
      request: toRequest(route, { values, headers: from }),
      answers: ['403 BROWSER_CALL_REFUSED'],
    })
  if (!withoutScope.has(route.path)) {
    // Each app has its own link to the same user, so that the scope is the only mistake.
    for (const [name, who] of Object.entries({ unscoped: apps.unscoped, half: halfScoped(route, rig) }))
      cases.push({
        name: `an app with too few scopes, ${name}`,
        request: asApp(who, { serviceUserId: await rig.linkedTo(who) }),
        answers: ['403 INSUFFICIENT_SCOPE'],
      })
  }
  const unknown = [`${route.method === 'GET' ? 401 : 404} USER_NOT_FOUND`]
  if ('serviceUserId' in values) {
    for (const [name, serviceUserId] of Object.entries({
      'a user of another app': foreignUser.serviceUserId,
      'a disconnected user': disconnected.serviceUserId,
      'a user who is none': 'su_00000000000000000000000000000000',
    }))
      cases.push({ name, request: asApp(app, { serviceUserId }), answers: unknown })
    cases.push({ name: 'another app for this user', request: asApp(apps.other), answers: unknown })
  } else {
    // A list is answered with 200, and each operation in it is refused separately.
    const answers = route.lines ? ['200'] : ofTheApp.has(route.path) ? ['403 EVENTS_OFF'] : ['400*', '401*', '404*']
    cases.push({ name: 'another app', request: asApp(apps.other), answers })
  }
  return {
    cases: [...cases, ...shapeCases(route, values)],
    // A debit refused for an empty wallet has passed every check before the ledger.
    good: { request: toRequest(route, { values }), answers: ['200', '202', '400 INSUFFICIENT_BALANCE'] },
  }
}

/** The app that has only the scope which this route does not need. */
function halfScoped({ method, path }: Route, { apps }: Rig): Credentials {
  return method === 'GET' || readByPost.has(path) ? apps.writeOnly : apps.readOnly
}

const crossSite = (route: Route, values: Values, device: Device = {}): Case[] =>
  elsewhere.map((from) => ({
    name: `from another site, ${JSON.stringify(from)}`,
    request: toRequest(route, { values, headers: { ...device, ...from } }),
    answers: ['403 CROSS_SITE_REFUSED'],
  }))

async function sessionCases(rig: Rig, route: Route): Promise<JsonCases> {
  const user = await rig.newUser()
  const values = await goodValues(rig, route, user)
  const device = await rig.deviceOf(user)
  const owned = { ...values, session: await rig.sessionOf(rig.owner.serviceUserId) }
  const withSession = (session: unknown) => toRequest(route, { values: { ...values, session }, headers: device })
  const { expired, ...ended } = rig.endedSessions
  const invalid = Object.entries({
    'no session': undefined,
    'an empty session': '',
    'a session of another form': 'ws_',
    'a session that is none': `ws_${crypto.randomUUID()}`,
    'a clientSecret for a session': rig.app.clientSecret,
    ...ended,
  }).map(([name, session]): Case => ({ name, request: withSession(session), answers: ['401 INVALID_SESSION'] }))
  const elsewhereGiven = toRequest(route, {
    values: { ...values, session: undefined },
    headers: { authorization: `Bearer ${String(values['session'])}`, cookie: `session=${String(values['session'])}` },
  })
  return {
    cases: [
      ...invalid,
      { name: 'an expired session', request: withSession(expired), answers: ['401 SESSION_EXPIRED'] },
      { name: 'the session in headers', request: elsewhereGiven, answers: ['401 INVALID_SESSION'] },
      ...crossSite(route, owned, await rig.deviceOf(rig.owner)),
      ...shapeCases(route, values, device),
    ],
    good: {
      request: toRequest(route, { values, headers: device }),
      // The test user has no password and received no code: the service checks both after all other checks.
      answers: ['200', '202', '400 INVALID_CODE', '401 INVALID_CREDENTIALS', '404 PAYMENT_INTENT_NOT_FOUND'],
    },
  }
}

async function pageCases(rig: Rig, route: Route): Promise<JsonCases> {
  const values = await goodValues(rig, route)
  const withApp = (clientId: unknown) => toRequest(route, { values: { ...values, clientId } })
  return {
    cases: [
      { name: 'no app', request: withApp(undefined), answers: ['400 INVALID_REQUEST'] },
      { name: 'an unknown app', request: withApp('app_00000000000000000000'), answers: ['401 INVALID_CLIENT'] },
      { name: 'an inactive app', request: withApp(rig.apps.inactive.clientId), answers: ['401 INVALID_CLIENT'] },
      ...crossSite(route, values),
      ...shapeCases(route, values),
    ],
    good: {
      request: toRequest(route, { values }),
      answers: ['202', '400 INVALID_CODE', '401 INVALID_CREDENTIALS'],
    },
  }
}

async function webhookCases(_rig: Rig, route: Route, sign: Signer): Promise<JsonCases> {
  const body = JSON.stringify({
    id: 'evt_routes',
    object: 'event',
    type: 'nothing.ours',
    paymentIntentId: 'pi_none',
    data: { object: {} },
  })
  const request = (headers: Record<string, string>, text = body) =>
    new Request(`${base}${route.path}`, { method: 'POST', headers, body: text })
  const unsigned = Object.entries({
    'no signature': {},
    'a signature that is none': Object.fromEntries(Object.keys(sign(body)).map((name) => [name, 'x'])),
    'a signature with another key': sign(body, 'forged'),
    'a signature of last week': sign(body, 'late'),
    'the signature of another body': sign(`${body} `),
  }).map(([name, headers]): Case => ({ name, request: request(headers), answers: ['400 INVALID_REQUEST'] }))
  const huge = 'x'.repeat(1024 * 1024 + 1)
  return {
    cases: [
      ...unsigned,
      { name: 'a body of 1 MiB and a byte', request: request(sign(huge), huge), answers: ['413 PAYLOAD_TOO_LARGE'] },
    ],
    good: { request: request(sign(body)), answers: ['200'] },
  }
}

async function openCases(_rig: Rig, route: Route): Promise<JsonCases> {
  return { cases: [], good: { request: toRequest(route, { values: {} }), answers: ['200'] } }
}
