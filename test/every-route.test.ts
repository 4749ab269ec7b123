/**
 * Every route of the app, with wrong requests: no credentials, wrong ones, another user's, ended sessions, wrong methods and
 * content types, other sites, oversized bodies, NUL, unpaired surrogates, repeated fields. Each request is refused with the
 * expected answer and changes no money and no right; the same request without the mistake is accepted. A new route fails
 * here until it has a kind in test/routes.
 */
import { afterAll, expect, setDefaultTimeout, test } from 'bun:test'
import { signatureHeader, signBody } from '../sandbox/signature.ts'
import { callbackPath } from '../src/actions/operators/oidc/provider.ts'
import { sealBooks } from '../src/actions/proofs/seal-books.ts'
import { adminRoutes } from '../src/admin/pages.tsx'
import { adminForms } from './admin-forms.ts'
import { formCases, openOperators, pageCases as adminPageCases, readForm, sessionFor } from './routes/admin-cases.ts'
import { jsonCases, type Signer } from './routes/json-cases.ts'
import { pageCases, type Payment } from './routes/page-cases.ts'
import { isAmong, mark, openRig, send, tryCases, type Case } from './routes/rig.ts'
import { newOperator } from './operator.ts'
import { newClient } from './client.ts'
import { openTestService, type TestService } from './service.ts'
import { openBench } from './topup/rig.ts'

setDefaultTimeout(180_000)

// A service has one card processor: every route runs with Stripe's, and the sandbox's own routes with the sandbox.
const bench = await openBench({}, 20_000)
const { opened, standIn } = bench
const sandboxed = await openTestService()
const rig = await openRig(opened)
const sandboxRig = await openRig(sandboxed)
const admin = await newOperator(opened)
const operators = await openOperators(bench, admin)
const forms = adminForms(bench, admin)
// Signs a checkpoint, which a page offers for download.
await sealBooks(opened.service)
const payments = [await newPayment(), await newPayment()] as const
afterAll(async () => {
  await bench.close()
  await sandboxed.close()
})

let tried = 0

async function newPayment(): Promise<Payment> {
  const { serviceUserId } = await sandboxRig.newUser()
  const session = await sandboxRig.sessionOf(serviceUserId)
  const client = newClient(sandboxed.app.fetch, sandboxRig.app)
  const { body } = await client.post(`/api/widget/topup/create-intent?session=${session}`, { amount: 25 })
  return { id: String(body['paymentIntentId']), secret: String(body['clientSecret']) }
}

const lateMs = 7 * 24 * 3_600_000
const signers: Record<string, Signer> = {
  stripe: (body, how) => ({
    'stripe-signature': standIn.sign(body, {
      ...(how === 'forged' && { secret: 'whsec_forged' }),
      ...(how === 'late' && { timestamp: Math.floor((Date.now() - lateMs) / 1000) }),
    }),
  }),
  sandbox: (body, how) => {
    const secret = how === 'forged' ? 'whsec_forged' : 'whsec_sandbox'
    return { [signatureHeader]: signBody(body, secret, new Date(Date.now() - (how === 'late' ? lateMs : 0))) }
  },
}

async function expectRefused(where: TestService, cases: readonly Case[]): Promise<void> {
  const { count, faults } = await tryCases(where, cases)
  tried += count
  expect(faults).toEqual([])
}

async function expectAccepted(where: TestService, request: Request, answers: readonly string[], address?: string) {
  const { answer } = await send(where, request, address)
  expect(isAmong(answer, answers), `${request.method} ${request.url} answered ${answer}`).toBeTrue()
}

type Named = { readonly method: string; readonly path: string }

const named = ({ method, path }: Named) => `${method} ${path}`
const isAt = (path: string) => (route: Named) =>
  !route.path.endsWith('*') && new RegExp(`^${route.path.replace(/:\w+/g, '[^/]+')}$`).test(path)
/** A path can match several routes: one by name and one with a parameter. */
const methodsAt = (routes: readonly Named[], path: string) =>
  [...new Set(routes.filter(isAt(path)).map((route) => route.method))].sort()

const json = opened.app.routes.map((route) => {
  const isSandbox = route.path === '/api/processor/sandbox'
  return { route, where: isSandbox ? sandboxRig : rig, sign: signers[isSandbox ? 'sandbox' : 'stripe']! }
})

test.each(json.map((each) => [named(each.route), each] as const))('%s refuses', async (_, { route, where, sign }) => {
  const { cases, good } = await jsonCases(where, route, sign, methodsAt(opened.app.routes, route.path))
  await expectRefused(where.opened, cases)
  await expectAccepted(where.opened, good.request, good.answers)
})

test.each(
  json.filter(({ route }) => named(route).startsWith('GET /api/widget/')).map(({ route }) => [named(route), route]),
)('%s shows another user nothing of the owner', async (_, route) => {
  const url = `http://billfold.test${route.path}?session=`
  const headers = await rig.deviceOf(rig.stranger)
  const foreign = await send(opened, new Request(url + (await rig.strangerSession()), { headers }))
  expect([foreign.answer, foreign.text.includes(mark), foreign.text.includes('123.45')]).toEqual(['200', false, false])
})

// Leaves out middleware, which the router lists as ALL routes that end in *.
const pages = (service: TestService) =>
  service.app.pages.filter(({ method, path }) => method !== 'ALL' || !path.endsWith('*'))
const pagePaths = pages(opened)
const isAdmin = ({ method, path }: Named) => adminRoutes.some((route) => route.method === method && route.path === path)

test.each(adminRoutes.map((route) => [named(route), route] as const))('%s refuses', async (_, route) => {
  if (route.method === 'POST') {
    const form = await readForm(route, forms, admin)
    const has = methodsAt(adminRoutes, form.path)
    const { cases, good } = formCases(route, { path: form.path, has }, form, operators)
    await expectRefused(opened, cases)
    await expectAccepted(opened, good, ['200', '303*'])
    return
  }
  const session = await sessionFor(route, forms, admin)
  const path = await filled(route.path)
  const has = methodsAt(adminRoutes, path.split('?')[0]!)
  const { cases, good } = adminPageCases(route, { path, has }, session, operators)
  await expectRefused(opened, cases)
  // The page that a mailed link opens is requested without that link, and the provider's answer without a start.
  const without: Record<string, string> = { '/admin/welcome': '404', [callbackPath]: '403' }
  await expectAccepted(opened, good, [without[path] ?? '200'])
})

/** Replaces the parameter by an existing id, and adds the month, days or difference that some pages require. */
async function filled(path: string): Promise<string> {
  if (path.includes('/endpoints/:id')) {
    const { clientId, id } = await forms.endpoint()
    return `${path.replace(':clientId', clientId).replace(':id', id)}${path.endsWith('/replay') ? '?from=1' : ''}`
  }
  const known: Record<string, () => Promise<string> | string> = {
    '/admin/client-apps/:clientId': () => rig.app.clientId,
    '/admin/wallets/:id': () => rig.owner.userId,
    '/admin/corrections/:id': () => forms.waitingCorrection('test'),
    '/admin/holds/:id': () => forms.openHold(),
    '/admin/topups/:id': async () => (await forms.forms['/admin/topups/:id/refund']!.make()).path!['id']!,
  }
  const [prefix, of] = Object.entries(known).find(([start]) => path.startsWith(start)) ?? []
  const month = /statement|settlement/.test(path) ? '?month=2026-01' : ''
  const days = path.endsWith('/:clientId/ledger.csv') ? '?from=2026-01-01&until=2026-01-31' : ''
  const difference = /\/(difference|contradiction)$/.test(path) ? await openDifference(path) : ''
  return `${prefix && of ? path.replace(/:\w+/, await of()) : path}${month}${days}${difference}`
}

async function openDifference(path: string): Promise<string> {
  const { fields = {} } = await forms.forms[path]!.make()
  return `?${new URLSearchParams(fields)}`
}

const others = [
  ...pagePaths.filter((page) => !isAdmin(page)).map((page) => ({ page, where: opened })),
  ...pages(sandboxed)
    .filter((page) => !isAdmin(page) && !pagePaths.some((known) => named(known) === named(page)))
    .map((page) => ({ page, where: sandboxed })),
]

test.each(others.map((each) => [named(each.page), each] as const))('%s refuses', async (_, { page, where }) => {
  const tested = pageCases({ ...page, has: methodsAt(where.app.pages, page.path) }, ...payments)
  if (!tested) throw new Error(`No cases are defined for ${named(page)}: give it a kind in test/routes.`)
  await expectRefused(where, tested.cases)
  const answers = ['200', '303*', '400*', '404*', '422']
  await expectAccepted(where, tested.good, page.path === '/metrics' ? ['200'] : answers, tested.goodAddress)
})

test('the suite covers many routes with many calls', () => {
  expect(json.length + adminRoutes.length + others.length).toBeGreaterThan(90)
  expect(tried).toBeGreaterThan(2_000)
})
