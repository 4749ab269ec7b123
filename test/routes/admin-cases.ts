/** Requests that each page and form of the admin area must refuse, and one that it must accept. */
import { endSessions, formTokenOf, startSession } from '../../src/actions/operators/manage-sessions.ts'
import { hasRight } from '../../src/actions/operators/rights.ts'
import type { AdminRoute } from '../../src/admin/kit/route.ts'
import { roles, type Role } from '../../src/store/operators.ts'
import type { Stage } from '../../src/store/operator-access/operator-sessions.ts'
import type { AdminForms } from '../admin-forms.ts'
import { host, newOperator, type TestOperator, type Visitor } from '../operator.ts'
import { operator as testActor } from '../service.ts'
import type { Bench } from '../topup/rig.ts'
import { wrongMethods, type Case } from './rig.ts'

export type Operators = Awaited<ReturnType<typeof openOperators>>

/** Operators with sessions in every state that a page must refuse. */
export async function openOperators({ opened, service }: Bench, admin: TestOperator) {
  const { pool } = service.db
  const device = { address: '127.0.0.1', browser: 'Test' }
  const tokenOf = async (stage: Stage) => {
    const { id } = await newOperator(opened)
    return { id, token: await startSession(service, pool, id, stage, device) }
  }
  const [expired, idle, signedOut, removed] = [
    await tokenOf('full'),
    await tokenOf('full'),
    await tokenOf('full'),
    await tokenOf('full'),
  ]
  await pool.query(`update operator_sessions set ends_at = now() - interval '1 second' where operator_id = $1`, [
    expired.id,
  ])
  await pool.query(`update operator_sessions set seen_at = now() - interval '31 minutes' where operator_id = $1`, [
    idle.id,
  ])
  await endSessions(service, testActor, signedOut.id)
  await pool.query('update operators set is_active = false where id = $1', [removed.id])
  return {
    admin: admin.token,
    viewer: (await newOperator(opened, 'viewer')).token,
    roles: Object.fromEntries(
      await Promise.all(roles.map(async (role) => [role, (await newOperator(opened, role)).token] as const)),
    ) as Record<Role, string>,
    stages: { code: (await tokenOf('code')).token, enrol: (await tokenOf('enrol')).token },
    ended: {
      'no session': '',
      'a token that is none': 'x'.repeat(43),
      'a token of another form': '../../etc/passwd',
      'an expired session': expired.token,
      'an idle session': idle.token,
      'a session that was signed out': signedOut.token,
      'a session of an operator without access': removed.token,
    },
  }
}

export type AdminCases = { readonly cases: readonly Case[]; readonly good: Request }

type Sent = { readonly path: string; readonly session: string; readonly fields?: Readonly<Record<string, string>> }

const cookieOf = (session: string, name = 'billfold-session') => ({ cookie: `${name}=${session}` })
const own = { origin: host, host: new URL(host).host, 'sec-fetch-site': 'same-origin' }
const formType = { 'content-type': 'application/x-www-form-urlencoded' }

function get({ path, session }: Sent): Request {
  return new Request(host + path, { headers: cookieOf(session) })
}

type Form = Sent & { readonly cookie?: Record<string, string>; readonly token?: string | undefined }

function post(form: Form, headers: Record<string, string | undefined> = {}, more = ''): Request {
  const { path, session, fields = {}, cookie = cookieOf(session), token = formTokenOf(session) } = form
  const body = `${new URLSearchParams({ _token: token, ...fields })}${more}`
  const all: Record<string, string | undefined> = { ...own, ...formType, ...cookie, ...headers }
  const given = Object.entries(all).filter((entry): entry is [string, string] => entry[1] !== undefined)
  return new Request(host + path, { method: 'POST', headers: given, body })
}

type Endpoint = { readonly path: string; readonly has: readonly string[] }

/** GET is left out: on a path with only forms it redirects to the sign-in, as any unknown admin path does. */
const methodsOf = ({ path, has }: Endpoint) => wrongMethods(host + path, has, ['GET'])

/** The redirect for a session at a stage that the page is not for. */
const homes = { code: '303 /admin/sign-in/code', enrol: '303 /admin/second-factor', full: '303 /admin' } as const

function wrongStages(
  route: AdminRoute,
  { stages, admin }: Operators,
): [name: string, session: string, answer: string][] {
  const wanted = route.access === 'code' || route.access === 'enrol' ? route.access : 'full'
  const all = { ...stages, full: admin }
  return (['code', 'enrol', 'full'] as const)
    .filter((stage) => stage !== wanted)
    .map((stage) => [`a session at the stage ${stage}`, all[stage], homes[stage]])
}

function withoutRight({ access }: AdminRoute, operators: Operators): [role: Role, session: string][] {
  if (access === 'public' || access === 'code' || access === 'enrol') return []
  return roles.filter((role) => !hasRight(role, access)).map((role) => [role, operators.roles[role]])
}

export function pageCases(route: AdminRoute, endpoint: Endpoint, session: string, operators: Operators): AdminCases {
  const { path } = endpoint
  const cases = methodsOf(endpoint)
  const good = get({ path, session })
  if (route.access === 'public') return { cases, good }
  for (const [name, token] of Object.entries(operators.ended))
    cases.push({ name, request: get({ path, session: token }), answers: ['303 /admin/sign-in*'] })
  const two = { cookie: `billfold-session=${session}; billfold-session=${operators.viewer}` }
  cases.push({
    name: 'two sessions at once',
    request: new Request(host + path, { headers: two }),
    answers: ['303 /admin/sign-in*'],
  })
  for (const [name, token, answer] of wrongStages(route, operators))
    cases.push({ name, request: get({ path, session: token }), answers: [answer] })
  for (const [role, token] of withoutRight(route, operators))
    cases.push({ name: role, request: get({ path, session: token }), answers: ['403'] })
  return { cases, good }
}

export function formCases(route: AdminRoute, endpoint: Endpoint, form: Form, operators: Operators): AdminCases {
  const cases = methodsOf(endpoint)
  const refused = (name: string, request: Request, ...answers: string[]) => cases.push({ name, request, answers })
  const good = post(form)
  if (route.access !== 'public') {
    for (const [name, session] of Object.entries(operators.ended)) refused(name, post({ ...form, session }), '401')
    for (const [name, session, answer] of wrongStages(route, operators))
      refused(name, post({ ...form, session }), answer)
  } else refused('a form without its cookie', post(form, { cookie: undefined }), '403')
  for (const [role, session] of withoutRight(route, operators)) refused(role, post({ ...form, session }), '403')
  for (const [name, headers] of Object.entries({
    'from another site': { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' },
    'from another origin': { origin: 'https://evil.example', 'sec-fetch-site': undefined },
    'from another port': { origin: 'http://127.0.0.1:3001', 'sec-fetch-site': 'same-site' },
    'from nowhere': { origin: 'null', 'sec-fetch-site': undefined },
    'without an origin': { origin: undefined, 'sec-fetch-site': undefined },
    'from here by another site': { 'sec-fetch-site': 'cross-site' },
    'from a click elsewhere': { 'sec-fetch-site': 'none' },
  }))
    refused(name, post(form, headers), '403')
  for (const [name, token] of Object.entries({
    'no token': '',
    'a token that is none': 'x',
    'the token of another session': formTokenOf(operators.viewer),
    'the token of no session': formTokenOf(''),
  }))
    refused(name, post({ ...form, token }), '403')
  // A form with a file is refused for its token, which is its first part, before the rest is read.
  const withoutParts = route.maxFormBytes === undefined ? '415' : '403'
  for (const [type, answer] of [
    ['text/plain', '415'],
    ['application/json', '415'],
    ['multipart/form-data; boundary=x', withoutParts],
  ] as const)
    refused(`the content type ${type}`, post(form, { 'content-type': type }), answer)
  refused('a form of more than 64 KiB', post(form, {}, `&more=${'x'.repeat(65_536)}`), '413')
  for (const name of Object.keys({ _token: '', ...form.fields })) {
    // Check boxes share one name.
    if (name !== 'scopes') refused(`${name} twice`, post(form, {}, `&${name}=x`), '400')
  }
  return { cases, good }
}

/** The form with valid fields, and the session or form cookie that it is bound to. */
export async function readForm(route: AdminRoute, { forms }: AdminForms, admin: TestOperator): Promise<Form> {
  const form = forms[route.path]
  if (!form) throw new Error(`No input is known for POST ${route.path}: add it to test/admin-forms.ts.`)
  const { path = {}, fields = {}, by } = await form.make()
  const visitor: Visitor = by ?? admin
  const session = visitor.cookies.get('billfold-session')
  const bound = session ?? visitor.cookies.get('billfold-form') ?? ''
  const target = route.path.replace(/:(\w+)/g, (_, name: string) => path[name]!)
  const cookie = session === undefined ? { cookie: cookieOf(bound, 'billfold-form') } : {}
  return { path: target, session: bound, fields, ...cookie }
}

/** A session at the stage that the page is for. */
export async function sessionFor(route: AdminRoute, { signedIn }: AdminForms, admin: TestOperator): Promise<string> {
  if (route.access === 'public') return ''
  if (route.access !== 'code' && route.access !== 'enrol') return admin.token
  return (await signedIn(route.access)).cookies.get('billfold-session')!
}
