/** HEAD is a safe method: on no path does it change a row of the database or use up a link. */
import { afterAll, expect, setDefaultTimeout, test } from 'bun:test'
import { adminRoutes } from '../src/admin/pages.tsx'
import { listTables, quoted } from '../src/store/migrations/tables.ts'
import { adminForms } from './admin-forms.ts'
import { newClient } from './client.ts'
import { deviceOf } from './devices.ts'
import { eventually } from './eventually.ts'
import { host, newOperator } from './operator.ts'
import { newPage } from './page.ts'
import { openRig } from './routes/rig.ts'
import { openTestService, type TestService } from './service.ts'
import { openBench } from './topup/rig.ts'

setDefaultTimeout(180_000)

const bench = await openBench({}, 20_000)
const { opened } = bench
const sandboxed = await openTestService()
const rig = await openRig(opened)
const admin = await newOperator(opened)
const { forms } = adminForms(bench, admin)
const client = newClient(opened.app.fetch, rig.app)
afterAll(async () => {
  await bench.close()
  await sandboxed.close()
})

const session = await rig.sessionOf(rig.owner.serviceUserId)
const query = new URLSearchParams({
  ...rig.app,
  serviceUserId: rig.owner.serviceUserId,
  requiredAmount: '1',
  session,
  month: '2026-01',
  from: '2026-01-01',
  until: '2026-01-31',
})
const cookie = `billfold-session=${admin.token}`

async function newPaper(): Promise<string> {
  const { cookie: device } = await deviceOf(opened.service, { userId: rig.owner.userId, clientId: rig.app.clientId })
  const order = { kind: 'receipt', sequence: 1, lang: 'en', timeZone: 'UTC' }
  const page = newPage(opened.app.fetch, undefined, { cookie: device })
  const { status, body } = await page.post(`/api/widget/papers?session=${session}`, order)
  expect(status).toBe(200)
  return String(body['path'])
}

/** An existing id for the parameters of each path. */
const ids: Readonly<Record<string, string>> = {
  '/admin/client-apps/': rig.app.clientId,
  '/admin/topups/': (await forms['/admin/topups/:id/refund']!.make()).path!['id']!,
  '/admin/': rig.owner.userId,
}

function pathWithId(path: string): string {
  const [, id = 'x'] = Object.entries(ids).find(([start]) => path.startsWith(start)) ?? []
  return path.replace('/*', '/nowhere').replace(/:\w+/g, id)
}

/** A digest of all rows, by table. */
async function rowsOf({ service }: TestService): Promise<Record<string, string>> {
  const digests: Record<string, string> = {}
  for (const { name } of await listTables(service.db.pool)) {
    const text = `select count(*) || ' ' || coalesce(md5(string_agg(t::text, '' order by t::text)), '') as digest from ${quoted(name)} t`
    const { rows } = await service.db.pool.query<{ digest: string }>(text)
    digests[name] = rows[0]!.digest
  }
  return digests
}

test('HEAD on every route and page changes no row', async () => {
  const paper = await newPaper()
  // The types of the two references above are recorded in the background.
  await eventually(async () => (await rowsOf(opened))['reference_types']!.split(' ')[0], '2')
  // An operator whose last request is old: a page would record the new one.
  await opened.service.db.pool.query(`update operator_sessions set seen_at = now() - interval '5 minutes'`)
  for (const where of [opened, sandboxed]) {
    const paths = [...where.app.routes, ...where.app.pages, ...adminRoutes].map(({ path }) => pathWithId(path))
    const targets = [...new Set(paths)]
    expect(targets.length).toBeGreaterThan(100)
    const before = await rowsOf(where)
    for (const target of [...targets, paper]) {
      const request = new Request(`${host}${target}?${query}`, { method: 'HEAD', headers: { cookie } })
      const response = await where.app.fetch(request)
      expect([target, await response.text()]).toEqual([target, ''])
      expect([200, 404, 405], target).toContain(response.status)
    }
    expect(await rowsOf(where)).toEqual(before)
  }
})

test('a link that works once still works after a HEAD, such as that of a mail scanner', async () => {
  const paper = await newPaper()
  const send = async (method: string) => (await opened.app.fetch(new Request(host + paper, { method }))).status
  expect([await send('HEAD'), await send('GET'), await send('GET')]).toEqual([405, 200, 404])
})

const sendHead = (path: string) => opened.app.fetch(new Request(host + path, { method: 'HEAD' }))

test('HEAD names the methods of a page, and answers for files and health checks as GET does', async () => {
  for (const path of ['/admin/sign-in', '/widget/wallet', '/mails/stop']) {
    const { status, headers } = await sendHead(path)
    expect([path, status, headers.get('allow')]).toEqual([path, 405, expect.stringContaining('GET')])
  }
  for (const path of ['/healthz', '/docs', '/sdk/billfold.js'])
    expect([path, (await sendHead(path)).status]).toEqual([path, 200])
  expect((await sendHead('/admin/nowhere')).status).toBe(404)
  expect((await client.wallet(rig.owner.serviceUserId)).status).toBe(200)
})
