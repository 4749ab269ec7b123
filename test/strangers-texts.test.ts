/**
 * Every page of the admin area, with a character that reverses the text after it in every name, reference, description, reason and
 * note. Each occurrence is isolated, so that it reorders no other word or amount.
 */
import { afterAll, expect, setDefaultTimeout, test } from 'bun:test'
import { adminRoutes } from '../src/admin/pages.tsx'
import { adminForms } from './admin-forms.ts'
import { newClient } from './client.ts'
import { deviceOf } from './devices.ts'
import { host, newOperator } from './operator.ts'
import { newPage } from './page.ts'
import { newApp, newUser } from './service.ts'
import { openBench } from './topup/rig.ts'

setDefaultTimeout(180_000)

const reversed = '\u202eevil'
const bench = await openBench({}, 20_000)
const admin = await newOperator(bench.opened)
const { forms, waitingCorrection, waitingChange, settledApp } = adminForms(bench, admin)
afterAll(() => bench.close())

const query = async (sql: string, values: unknown[] = []) =>
  (await bench.service.db.pool.query<Record<string, string>>(sql, values)).rows

/** A stray mark of another place would hide a missing one, so each text names its place. */
const textOf = (place: string) => `${reversed} ${place}`

const app = await newApp(bench.service, { name: textOf('app') })
const user = await newUser(bench.service, app)
const client = newClient(bench.app.fetch, app)
const entry = { ...app, serviceUserId: user.serviceUserId, referenceType: 'ORDER' }
for (const [direction, amount] of [
  ['credit', 500],
  ['debit', 5],
] as const)
  await client.post(`/api/server/wallet/${direction}`, {
    ...entry,
    amount,
    referenceId: textOf(`reference ${direction}`),
    description: textOf(`description ${direction}`),
  })
const topup = (await forms['/admin/topups/:id/refund']!.make()).path!['id']!
const correction = await waitingCorrection(`operator:${admin.id}`)
await waitingChange(`operator:${admin.id}`)
const settled = await settledApp()
const wallet = `/admin/wallets/${user.userId}`
const reason = textOf('reason')
for (const [path, fields] of [
  [`${wallet}/notes`, { note: textOf('note'), form: crypto.randomUUID() }],
  [`${wallet}/freeze`, { reason }],
  [`${wallet}/bonus/grant`, { amount: '5', bonusReason: textOf('bonus'), reference: crypto.randomUUID() }],
] as const)
  await admin.post(path, fields)
const { fields: difference } = await forms['/admin/reconciliation/difference']!.make()
const { fields: contradiction } = await forms['/admin/reconciliation/contradiction']!.make()
await query(
  `insert into reconciliation_differences (payment_intent_id, kind, day, processor_amount, ledger_amount, found_at, settled_at, settled_by, settled_reason)
   values ('pi_settled', 'charge', '2026-01-05', 100, 0, now(), now(), $1, $2)`,
  [`operator:${admin.id}`, reason],
)
await query(`update report_contradictions set read_by = $1`, [`operator:${admin.id}`])
await query(`update users set first_name = $1, last_name = $2`, [textOf('first name'), textOf('last name')])
await query(`update operators set name = $1 || id::text`, [textOf('operator ')])
await query(`update corrections set reason = $1`, [reason])
await query(`update operator_sessions set browser = $1`, [textOf('browser')])
await query(`update apps set name = $1 where client_id = $2`, [textOf('settled app'), settled.clientId])
await query(
  `insert into work (kind, key, due_at, failures, given_up_at, last_error) values ('send-mail', 'x', now(), 1, now(), $1)`,
  [textOf('error')],
)
await bench.service.apps.refresh()

const ids: Readonly<Record<string, string>> = {
  '/admin/client-apps/': app.clientId,
  '/admin/topups/': topup,
  '/admin/corrections/': correction,
  '/admin/': user.userId,
}

/** Texts and attributes outside isolation in which the mark occurs. */
function exposedIn(html: string): string[] {
  const open: string[] = []
  const exposed: string[] = []
  for (const [, tag, text] of html.matchAll(/<(\/?[a-z][^>]*)>|([^<]+)/g)) {
    if (text !== undefined) {
      const isIsolated = open.includes('bdi') || open.includes('textarea') || open.includes('script')
      if (text.includes('\u202e') && !isIsolated) exposed.push(`in <${open.at(-1)}>: ${text}`)
      continue
    }
    const name = /^\/?([a-z0-9]+)/.exec(tag!)![1]!
    if (tag!.startsWith('/')) open.splice(open.lastIndexOf(name), 1)
    else if (!tag!.endsWith('/') && !['input', 'meta', 'link', 'br', 'hr', 'img'].includes(name)) open.push(name)
    for (const [, attribute, value] of tag!.matchAll(/ ([\w-]+)="([^"]*)"/g))
      if (
        value!.includes('\u202e') &&
        attribute !== 'data-copy' &&
        !(attribute === 'value' && tag!.includes('dir="auto"'))
      )
        exposed.push(`${attribute} of <${name}>: ${value}`)
  }
  return exposed
}

test('no page of the admin area shows a stranger’s text outside <bdi>', async () => {
  const asked = new URLSearchParams({
    ...difference,
    ...contradiction,
    month: new Date().toISOString().slice(0, 7),
    from: '2026-01-01',
    until: '2026-01-31',
    q: textOf('query'),
    reference: textOf('reference debit'),
    referenceId: textOf('reference debit'),
    referenceType: 'ORDER',
  })
  const places = new Set<string>()
  for (const route of adminRoutes) {
    if (route.method !== 'GET') continue
    const [, id = ''] = Object.entries(ids).find(([start]) => route.path.startsWith(start)) ?? []
    const path = route.path.replace(/:\w+/g, id)
    for (const search of [`?${asked}`, '']) {
      const response = await admin.get(path + search)
      if (!response.headers.get('content-type')?.startsWith('text/html')) continue
      const html = await response.text()
      expect([path, exposedIn(html)]).toEqual([path, []])
      for (const [, place] of html.matchAll(/\u202eevil ([a-z ]+)/g)) places.add(place!.trim())
    }
  }
  // The test is about these places: a page that stops showing one must not make it empty.
  expect([...places].sort()).toEqual(
    expect.arrayContaining([
      'app',
      'browser',
      'description credit',
      'description debit',
      'error',
      'first name',
      'last name',
      'note',
      'operator',
      'query',
      'reason',
      'reference credit',
      'reference debit',
      'settled app',
    ]),
  )
})

test('forms that come back with a problem isolate what was sent', async () => {
  const sent: [path: string, fields: Record<string, string>][] = [
    [`/admin/client-apps/${app.clientId}`, { name: textOf('form'), allowedOrigins: textOf('origins') }],
    [`${wallet}/freeze`, { reason: `${textOf('form')}${'x'.repeat(600)}` }],
    [`/admin/topups/${topup}/refund`, { amount: textOf('amount'), reason: textOf('form') }],
    ['/admin/reconciliation/day', { day: textOf('day') }],
    ['/admin/reconciliation/file', { report: `${textOf('column')},x\n1,2` }],
    [
      `/admin/client-apps/${app.clientId}/settlements`,
      { id: 'x', through: textOf('day'), amount: '1', reference: textOf('form') },
    ],
  ]
  for (const [path, fields] of sent) {
    const html = await (await admin.post(path, fields)).text()
    expect([path, exposedIn(html)]).toEqual([path, []])
  }
})

test('papers isolate names, and CSV files show the character as its code', async () => {
  const session = await client.post('/api/widget/session', { ...app, serviceUserId: user.serviceUserId })
  const { cookie } = await deviceOf(bench.service, { userId: user.userId, clientId: app.clientId })
  const order = { kind: 'receipt', sequence: 2, lang: 'en', timeZone: 'UTC' }
  const path = `/api/widget/papers?session=${String(session.body['sessionToken'])}`
  const { body } = await newPage(bench.app.fetch, undefined, { cookie }).post(path, order)
  const paper = String(body['path'])
  const html = await (await bench.app.fetch(new Request(host + paper))).text()
  expect(html).toContain(textOf('app'))
  expect(exposedIn(html)).toEqual([])
  for (const list of ['/admin/audit.csv', '/admin/topups.csv', `${wallet}/ledger.csv`, '/admin/wallets.csv']) {
    const file = await (await admin.get(list)).text()
    expect([list, file.includes('\u202e')]).toEqual([list, false])
  }
  expect(await (await admin.get(`${wallet}/ledger.csv`)).text()).toContain('\\u202eevil description debit')
})
