/** The secret of an app and those of an endpoint are shown once: afterwards they are nowhere. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { findEndpoint, listAttempts } from '../../src/store/events/endpoints.ts'
import { adminRoutes } from '../../src/admin/pages.tsx'
import { callCommand } from '../command.ts'
import { eventually } from '../eventually.ts'
import { newOperator, type TestOperator } from '../operator.ts'
import { startProcess, type ServiceProcess } from '../process.ts'
import { startReceiver, type WebhookReceiver } from '../receiver.ts'
import { newUser, openTestService, secretsKey, type TestService } from '../service.ts'
import { newClient } from '../client.ts'

setDefaultTimeout(180_000)

let folder: string
let opened: TestService
let process: ServiceProcess
let receiver: WebhookReceiver
let admin: TestOperator
const environment = () => ({ DATABASE_URL: opened.databaseUrl, SECRETS_KEY: secretsKey })

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'billfold-sentinel-'))
  opened = await openTestService({ WEBHOOK_ALLOWED_NETS: '127.0.0.0/8' })
  process = await startProcess({ ...environment(), LOG_LEVEL: 'debug', WEBHOOK_ALLOWED_NETS: '127.0.0.0/8' })
  receiver = startReceiver()
  admin = await newOperator(opened)
})
afterAll(async () => {
  await process.stop()
  await receiver.stop()
  await opened.close()
  await rm(folder, { recursive: true })
})

const cli = (...args: string[]) => callCommand(args, environment())

/** The one code block of the page that shows it. */
async function shownIn(response: Response, pattern: RegExp): Promise<string> {
  const found = pattern.exec(await response.text())?.[0]
  if (found === undefined) throw new Error(`status ${response.status}, and no secret`)
  return found
}

/** In every form in which it could be written. */
function formsOf(secret: string): string[] {
  const bare = secret.replace(/^(whsec|bfs)_/, '')
  const bytes = Buffer.from(bare, secret.startsWith('whsec_') ? 'base64' : 'utf8')
  return [bare, encodeURIComponent(bare), bytes.toString('hex'), bytes.toString('base64'), bytes.toString('base64url')]
}

async function everyRow(): Promise<string> {
  const { pool } = opened.service.db
  const { rows: tables } = await pool.query<{ name: string }>(
    `select table_name as name from information_schema.tables where table_schema = 'public' and table_type = 'BASE TABLE'`,
  )
  const texts = tables.map(async ({ name }) => {
    const { rows } = await pool.query<{ all: string | null }>(`select string_agg(t::text, ' ') as all from "${name}" t`)
    return rows[0]?.all ?? ''
  })
  return (await Promise.all(texts)).join('\n')
}

test('the secrets of an app and of its endpoint are in no log, page, row, attempt, export, command or error', async () => {
  const named = { name: 'Sentinel', scopes: ['wallet:read', 'wallet:write'], form: crypto.randomUUID() }
  const registered = await admin.post('/admin/client-apps', named)
  const page = await registered.text()
  const clientId = /app_[0-9a-f]+/.exec(page)![0]
  const clientSecret = /bfs_[\w-]+/.exec(page)![0]
  const path = `/admin/client-apps/${clientId}`
  await admin.post(`${path}/events`, { to: 'on' })
  const addFields = { url: receiver.url, form: crypto.randomUUID() }
  const first = await shownIn(await admin.post(`${path}/endpoints`, addFields), /whsec_[\w+/=]+/)
  const { rows } = await opened.service.db.pool.query<{ id: string }>('select id from endpoints')
  const { id } = rows[0]!
  const rotation = { overlap: '24h', form: crypto.randomUUID() }
  const second = await shownIn(await admin.post(`${path}/endpoints/${id}/rotate`, rotation), /whsec_[\w+/=]+/)
  const next = await shownIn(
    await admin.post(`${path}/secrets`, { overlap: '1h', form: crypto.randomUUID() }),
    /bfs_[\w-]+/,
  )
  const secrets = [clientSecret, next, first, second]
  expect(new Set(secrets).size).toBe(4)

  // What can go wrong with them: a receiver that refuses, calls that are refused or cannot be read, forms sent again.
  receiver.secrets = [first, second]
  receiver.answer = () => new Response('broken', { status: 500 })
  const { serviceUserId } = await newUser(opened.service, { clientId })
  const client = newClient(process.send, { clientId, clientSecret: next }, process.url)
  expect((await client.credit(serviceUserId, 5)).status).toBe(200)
  await eventually(async () => (await listAttempts(opened.service.db.pool, id, 10)).length > 0, true)
  const errors: string[] = []
  const keep = async (response: Response) => void errors.push(await response.text())
  const events = `${process.url}/api/server/events?clientId=${clientId}&clientSecret=${next}`
  for (const query of ['&after=999999', '&limit=0', '&types=nonsense', '&clientSecret=twice'])
    await keep(await fetch(events + query))
  await keep(await fetch(events, { headers: { origin: 'https://shop.example', 'sec-fetch-site': 'cross-site' } }))
  const debit = `${process.url}/api/server/wallet/debit`
  const json = { 'content-type': 'application/json' }
  for (const body of [
    `{"clientId":"${clientId}","clientSecret":"${next}",`,
    JSON.stringify({ clientId, clientSecret: next, amount: { clientSecret: next } }),
  ])
    await keep(await fetch(debit, { method: 'POST', headers: json, body }))
  await keep(await admin.post(`${path}/endpoints`, addFields))
  await keep(await admin.post(`${path}/endpoints/${id}/rotate`, rotation))
  await eventually(async () => (await findEndpoint(opened.service.db.pool, id))!.failingSince !== null, true)

  const pages = adminRoutes
    .filter(
      ({ method, path: route }) => method === 'GET' && !/:(?!clientId|id\b)/.test(route) && !route.includes('sign-in'),
    )
    .map(({ path: route }) => route.replace(':clientId', clientId).replace('endpoints/:id', `endpoints/${id}`))
    .filter((route) => !route.includes(':'))
  expect(pages.length).toBeGreaterThan(20)
  const shown = await Promise.all(pages.map(async (route) => await (await admin.get(route)).text()))
  const file = join(folder, 'sentinel.billfold')
  const said = [
    await cli('export', file),
    await cli('endpoint', 'list', clientId, '--json'),
    await cli('app', 'show', clientId, '--json'),
    await cli('doctor'),
  ]
  const places: Record<string, string> = {
    log: process.output() + opened.logged.join('\n'),
    pages: shown.join('\n'),
    rows: await everyRow(),
    export: gunzipSync(await readFile(file)).toString(),
    commands: said.map(({ stdout, stderr }) => stdout + stderr).join('\n'),
    errors: errors.join('\n'),
    requests: receiver.received.map((each) => JSON.stringify(each)).join('\n'),
    metrics: await (await fetch(`${process.url}/metrics`)).text(),
  }
  for (const [place, text] of Object.entries(places)) {
    expect([place, text.length > 100]).toEqual([place, true])
    const found = secrets.flatMap((secret) => formsOf(secret).filter((form) => text.includes(form)))
    expect([place, found]).toEqual([place, []])
  }
  // The rows are those of this app, so the search above had something to find.
  expect([places['rows']!.includes(id), places['export']!.includes(id), places['pages']!.includes(id)]).toEqual([
    true,
    true,
    true,
  ])
})
