/** Every admin route requested with every role. The expected rights are listed here by hand, independent of the code. */
import { readFile } from 'node:fs/promises'
import { afterAll, beforeEach, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { rights } from '../actions/operators/rights.ts'
import { roles, type Role } from '../store/operators.ts'
import { adminForms } from '../../test/admin-forms.ts'
import { newOperator, type TestOperator } from '../../test/operator.ts'
import { openBench } from '../../test/topup/rig.ts'
import { adminRoutes } from './pages.tsx'

setDefaultTimeout(180_000)

/** Routes without a full session. */
const outside = /^(GET|POST) \/admin\/(sign-in|second-factor|welcome)/

const everybody = [
  'GET /admin',
  'GET /admin/overview',
  'GET /admin/search',
  'GET /admin/client-apps',
  'GET /admin/client-apps/:clientId',
  'GET /admin/client-apps/:clientId/settings',
  'GET /admin/client-apps/:clientId/secrets',
  'GET /admin/client-apps/:clientId/calls',
  'GET /admin/client-apps/:clientId/events',
  'GET /admin/client-apps/:clientId/endpoints/:id',
  'GET /admin/client-apps/:clientId/settlements',
  'GET /admin/wallets',
  'GET /admin/client-apps.csv',
  'GET /admin/client-apps/:clientId/ledger.csv',
  'GET /admin/wallets.csv',
  'GET /admin/wallets/:id',
  'GET /admin/wallets/:id/ledger.csv',
  'GET /admin/wallets/:id/statement',
  'GET /admin/topups',
  'GET /admin/topups.csv',
  'GET /admin/topups/:id',
  'GET /admin/holds',
  'GET /admin/holds.csv',
  'GET /admin/holds/:id',
  'GET /admin/references',
  'GET /admin/corrections',
  'GET /admin/corrections.csv',
  'GET /admin/settlements',
  'GET /admin/settlements.csv',
  'GET /admin/notes',
  'GET /admin/notes.csv',
  'GET /admin/deletions',
  'GET /admin/deletions.csv',
  'GET /admin/reconciliation/days',
  'GET /admin/reconciliation/days.csv',
  'GET /admin/reconciliation/differences',
  'GET /admin/reconciliation/differences.csv',
  'GET /admin/reconciliation/contradictions',
  'GET /admin/reconciliation/contradictions.csv',
  'GET /admin/operators/changes',
  'GET /admin/operators/changes.csv',
  'GET /admin/operators/invites',
  'GET /admin/operators/invites.csv',
  'GET /admin/operators/grants',
  'GET /admin/operators/grants.csv',
  'GET /admin/corrections/:id',
  'GET /admin/books',
  'GET /admin/books/settlement.csv',
  'GET /admin/books/checkpoint',
  'GET /admin/reconciliation',
  'GET /admin/work',
  'GET /admin/reconciliation/difference',
  'GET /admin/reconciliation/contradiction',
  'GET /admin/audit',
  'GET /admin/audit.csv',
  'GET /admin/origin-doctor',
  'GET /admin/operators',
  'GET /admin/account',
  'POST /admin/sign-out',
  'POST /admin/account/password',
  'POST /admin/account/oidc',
  'POST /admin/account/oidc/disconnect',
  'POST /admin/account/recovery-codes',
  'POST /admin/account/second-factor',
  'POST /admin/account/sessions/end',
  'POST /admin/account/sessions/end-all',
]
const support = [
  'POST /admin/wallets/:id/notes',
  'POST /admin/wallets/:id/mails',
  'POST /admin/wallets/:id/freeze',
  'POST /admin/wallets/:id/unfreeze',
  'POST /admin/wallets/:id/data',
  'POST /admin/wallets/:id/deletion',
  'POST /admin/wallets/:id/deletion/approve',
  'POST /admin/wallets/:id/deletion/decline',
  'POST /admin/wallets/:id/deletion/withdraw',
  'POST /admin/work/again',
]
const finance = [
  'POST /admin/client-apps/:clientId/settlements',
  'POST /admin/client-apps/:clientId/settlements/:id/reverse',
  'GET /admin/wallets/:id/correct',
  'POST /admin/wallets/:id/correct',
  'POST /admin/wallets/:id/correct/order',
  'POST /admin/corrections/:id/approve',
  'POST /admin/corrections/:id/decline',
  'POST /admin/corrections/:id/withdraw',
  'POST /admin/wallets/:id/bonus',
  'POST /admin/wallets/:id/bonus/grant',
  'POST /admin/topups/:id/refund',
  'POST /admin/topups/:id/refund/order',
  'POST /admin/holds/:id/void',
  'POST /admin/reconciliation/day',
  'POST /admin/reconciliation/difference',
  'POST /admin/reconciliation/contradiction',
  'POST /admin/reconciliation/file',
]
const adminAlone = [
  'GET /admin/client-apps/new',
  'GET /admin/client-apps/:clientId/endpoints/:id/replay',
  'POST /admin/client-apps',
  'POST /admin/client-apps/:clientId',
  'POST /admin/client-apps/:clientId/active',
  'POST /admin/client-apps/:clientId/events',
  'POST /admin/client-apps/:clientId/events/test',
  'POST /admin/client-apps/:clientId/endpoints',
  'POST /admin/client-apps/:clientId/endpoints/:id/rotate',
  'POST /admin/client-apps/:clientId/endpoints/:id/state',
  'POST /admin/client-apps/:clientId/endpoints/:id/replay',
  'POST /admin/client-apps/:clientId/endpoints/:id/remove',
  'POST /admin/client-apps/:clientId/secrets',
  'POST /admin/client-apps/:clientId/secrets/:id/revoke',
  'POST /admin/operators/invite',
  'POST /admin/operators/invites/:id/resend',
  'POST /admin/operators/invites/:id/revoke',
  'POST /admin/operators/changes/:id/approve',
  'POST /admin/operators/changes/:id/decline',
  'POST /admin/operators/changes/:id/withdraw',
  'POST /admin/operators/:id/suspend',
  'POST /admin/operators/:id/access',
  'POST /admin/operators/:id/reset',
  'POST /admin/operators/:id/sign-out',
]

function whoMay(route: string): readonly Role[] {
  if (everybody.includes(route)) return roles
  if (support.includes(route)) return ['support', 'admin']
  if (finance.includes(route)) return ['finance', 'admin']
  if (adminAlone.includes(route)) return ['admin']
  throw new Error(`No rights are listed for ${route}: add it to the lists of this test.`)
}

const bench = await openBench({}, 20_000)
const operators = Object.fromEntries(
  await Promise.all(roles.map(async (role) => [role, await newOperator(bench.opened, role)] as const)),
) as Record<Role, TestOperator>
const { endpoint, forms, openHold, waitingCorrection } = adminForms(bench, operators.admin)
const contradictionId = (await forms['/admin/reconciliation/contradiction']!.make()).fields!['id']!
const topupId = (await forms['/admin/topups/:id/refund']!.make()).path!['id']!
const { userId } = await bench.newPayer()
const holdId = await openHold()
const correctionId = await waitingCorrection('operator:somebody')
const shownEndpoint = await endpoint()
afterAll(() => bench.close())

const routes = adminRoutes
  .map((route) => ({ ...route, name: `${route.method} ${route.path}` }))
  .filter(({ name }) => !outside.test(name))

/** An existing page, with the query parameters that some pages need. */
const asked = `month=2026-01&from=2026-01-01&until=2026-01-31&payment=pi_differs&kind=charge&id=${contradictionId}`
// A comparison of a day would close the difference.
beforeEach(() =>
  bench.service.db.pool.query(
    `insert into reconciliation_differences (payment_intent_id, kind, day, processor_amount, ledger_amount, found_at)
     values ('pi_differs', 'charge', '2026-01-05', 100, 0, now()) on conflict (payment_intent_id, kind) do update set resolved_at = null`,
  ),
)

function pageAt(path: string): string {
  if (path.includes('/endpoints/:id'))
    return `${path.replace(':clientId', shownEndpoint.clientId).replace(':id', shownEndpoint.id)}?from=1`
  const ids = { '/admin/topups': topupId, '/admin/corrections': correctionId, '/admin/holds': holdId }
  const id = Object.entries(ids).find(([start]) => path.startsWith(start))?.[1] ?? userId
  return `${path.replace(':clientId', bench.credentials.clientId).replace(':id', id)}?${asked}`
}

async function ask(method: string, path: string, role: Role): Promise<Response> {
  if (method === 'GET') return await operators[role].get(pageAt(path))
  const { path: parameters = {}, fields, by = operators[role] } = await forms[path]!.make(role)
  return await by.post(
    path.replace(/:(\w+)/g, (_, name: string) => parameters[name]!),
    fields,
  )
}

describe.each(routes.map(({ name, method, path }) => [name, method, path] as const))('%s', (name, method, path) => {
  test.each([...roles])('asked by %s', async (role) => {
    const response = await ask(method, path, role)
    if (whoMay(name).includes(role)) return expect([200, 303]).toContain(response.status)
    expect(response.status).toBe(403)
    expect(await response.text()).toContain(`Your role is ${role}.`)
  })
})

test('the lists of this test name only routes that exist', () => {
  const there = routes.map(({ name }) => name)
  expect([...everybody, ...support, ...finance, ...adminAlone].filter((name) => !there.includes(name))).toEqual([])
})

/** The routes that the page's forms and buttons post to. */
async function formsOf(page: string, role: Role): Promise<string[]> {
  const html = await (await operators[role].get(page)).text()
  const actions = [...html.matchAll(/ (?:form)?action="([^"]+)"/g)].map(([, action]) => action!)
  const gets = [...html.matchAll(/<form[^>]*method="get"[^>]*action="([^"]+)"/g)].map(([, action]) => action!)
  return [...new Set(actions.filter((action) => !gets.includes(action)).map(routeOf))].sort()
}

function routeOf(action: string): string {
  const isAt = (path: string) => new RegExp(`^${path.replace(/:\w+/g, '[^/]+')}$`).test(action)
  return `POST ${adminRoutes.find(({ method, path }) => method === 'POST' && isAt(path))?.path ?? action}`
}

const pages = routes.filter(({ name, method }) => method === 'GET' && everybody.includes(name))

test.each(pages.map(({ path }) => path))('%s offers each role the forms it may send, and no other', async (path) => {
  const offered = await formsOf(pageAt(path), 'admin')
  for (const role of roles)
    expect([role, ...(await formsOf(pageAt(path), role))]).toEqual([
      role,
      ...offered.filter((route) => whoMay(route).includes(role)),
    ])
})

test('every right is required by a route', () => {
  const asked = new Set<string>(adminRoutes.map(({ access }) => access))
  expect(rights.filter(({ right }) => !asked.has(right))).toEqual([])
})

test('the operators’ page shows every right, and the admin has them all', async () => {
  const html = await (await operators.viewer.get('/admin/operators')).text()
  for (const { about, roles: holders } of rights) {
    expect(holders).toContain('admin')
    const row = html.split(`>${about}</td>`)[1]!.split('</tr>')[0]!
    expect([...row.matchAll(/yes|no/g)].map(String)).toEqual(
      roles.map((role) => (holders.includes(role) ? 'yes' : 'no')),
    )
  }
})

test('docs/operators.md has the same table', async () => {
  const text = await readFile(new URL('../../docs/operators.md', import.meta.url), 'utf8')
  const lines = text.split('\n').filter((line) => / (yes|no) +\|$/.test(line))
  const shown = lines.map((line) =>
    line
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim()),
  )
  expect(shown).toEqual(
    rights.map(({ about, roles: holders }) => [about, ...roles.map((role) => (holders.includes(role) ? 'yes' : 'no'))]),
  )
})

test('the audit log records the role an operator had at the time', async () => {
  const { rows } = await bench.service.db.pool.query(
    `select distinct detail->>'byRole' as role from audit where action = 'wallet.frozen' and actor = $1`,
    [`operator:${operators.support.id}`],
  )
  expect(rows).toEqual([{ role: 'support' }])
})
