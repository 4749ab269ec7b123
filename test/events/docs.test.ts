/** docs/events.md, run: its request, its answer, and its receiver through kill -9 and an outage of the service. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { mkdtemp, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client } from 'pg'
import { buildPackage } from '../../sdk/build.ts'
import { newWebhookSecret, webhookHeaders } from '../../src/actions/webhooks/webhook-signature.ts'
import { newClient } from '../client.ts'
import { eventually } from '../eventually.ts'
import { readGuides, snippetsOf } from '../example/snippets.ts'
import { testDatabase, type TestDatabase } from '../postgres.ts'
import { newUser, openTestService, type Credentials, type TestService } from '../service.ts'
import { newAppWithEvents, numberAll } from './rig.ts'

setDefaultTimeout(120_000)

const root = new URL('../..', import.meta.url).pathname
const snippets = snippetsOf((await readGuides()).filter(({ name }) => name === 'events.md'))

let opened: TestService
let app: Credentials
let shop: TestDatabase
let db: Client
let server: ReturnType<typeof Bun.serve>
let folder = ''
/** While it is false, the service does not answer. */
let isUp = true

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'billfold-events-'))
  opened = await openTestService()
  app = await newAppWithEvents(opened.service)
  server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    idleTimeout: 60,
    fetch: (request) => (isUp ? opened.app.fetch(request) : new Response('down', { status: 503 })),
  })
  shop = await testDatabase()
  db = new Client(shop.connection)
  await db.connect()
  await db.query(snippets.get('events.sql')!)
  for (const [path, bytes] of await buildPackage())
    await Bun.write(join(folder, 'node_modules/@billfold/sdk', path), bytes)
  await symlink(join(root, 'node_modules/pg'), join(folder, 'node_modules/pg'))
  await Bun.write(join(folder, 'follow-events.mjs'), snippets.get('follow-events.mjs')!)
})
afterAll(async () => {
  await db.end()
  await shop.drop()
  await server.stop(true)
  await opened.close()
  await rm(folder, { recursive: true })
})

const environment = () => ({
  PATH: process.env['PATH'] ?? '',
  BILLFOLD_URL: String(server.url).replace(/\/$/, ''),
  BILLFOLD_CLIENT_ID: app.clientId,
  BILLFOLD_CLIENT_SECRET: app.clientSecret,
  DATABASE_URL: shop.url,
})

test('the request in curl gets the answer of the page', async () => {
  const { serviceUserId } = await newUser(opened.service, app)
  const client = newClient(opened.app.fetch, app)
  const refund = { serviceUserId, amount: 25, referenceType: 'ORDER_REFUND', referenceId: 'order-7' }
  await client.post('/api/server/wallet/credit', { ...app, ...refund })
  await numberAll(opened.service)
  const child = Bun.spawn(['bash', '-c', snippets.get('read-events')!], { env: environment(), stdout: 'pipe' })
  const answer = await new Response(child.stdout).text()
  const masked = answer.replaceAll(/(evt|su|txn)_[0-9a-f]{32}/g, '$1_…').replaceAll(/"\d{4}-\d\d-\d\dT[^"]*Z"/g, '"…"')
  expect(JSON.parse(masked)).toEqual(JSON.parse(snippets.get('an-event')!))
})

test('the check of a webhook accepts what an endpoint gets, and refuses every other body and secret', async () => {
  await Bun.write(join(folder, 'check-webhook.mjs'), snippets.get('check-webhook.mjs')!)
  await Bun.write(
    join(folder, 'run-check.mjs'),
    `import { readWebhook } from './check-webhook.mjs'
     const { body, headers, secrets } = JSON.parse(process.argv[2])
     const event = await readWebhook(new Request('http://shop.test/', { method: 'POST', body, headers }), secrets)
     process.stdout.write(event ? String(event.number) : 'refused')`,
  )
  const body = JSON.stringify({
    id: 'evt_1',
    number: 7,
    type: 'test.ping',
    timestamp: '2026-01-01T00:00:00Z',
    data: {},
  })
  const secret = newWebhookSecret()
  const headers = webhookHeaders('evt_1', body, [secret], new Date())
  const check = async (request: { body: string; headers: object; secrets: string[] }) => {
    const child = Bun.spawn(['node', 'run-check.mjs', JSON.stringify(request)], { cwd: folder, stdout: 'pipe' })
    return await new Response(child.stdout).text()
  }
  expect(await check({ body, headers, secrets: [newWebhookSecret(), secret] })).toBe('7')
  expect(await check({ body, headers, secrets: [newWebhookSecret()] })).toBe('refused')
  expect(await check({ body: `${body} `, headers, secrets: [secret] })).toBe('refused')
  expect(await check({ body, headers: {}, secrets: [secret] })).toBe('refused')
})

const start = () => Bun.spawn(['node', 'follow-events.mjs'], { cwd: folder, env: environment(), stdout: 'ignore' })
const paid = (count: number) => Array.from({ length: count }, (_, i) => `order-${i} paid 1`)

test('the receiver acts once on each event, though it is killed, runs twice and loses the service', async () => {
  const { serviceUserId } = await newUser(opened.service, app)
  const client = newClient(opened.app.fetch, app)
  await client.credit(serviceUserId, 100)
  // Each payment counts what is done to it.
  await db.query(`alter table orders add column times integer not null default 0;
    create function count_times() returns trigger language plpgsql as 'begin new.times := old.times + 1; return new; end';
    create trigger counted before update on orders for each row execute function count_times()`)
  const pay = async (id: string) => {
    await db.query(`insert into orders values ($1, 'open')`, [id])
    expect((await client.debit(serviceUserId, 1, id)).status).toBe(200)
  }
  const done = async () =>
    (
      await db.query<{ text: string }>(
        `select reference_id || ' ' || status || ' ' || times as text from orders order by 1`,
      )
    ).rows.map(({ text }) => text)
  await pay('order-0')
  const first = start()
  await eventually(done, paid(1))
  await pay('order-1')
  first.kill('SIGKILL')
  await first.exited
  await pay('order-2')
  const two = [start(), start()]
  await eventually(done, paid(3))
  isUp = false
  await pay('order-3')
  isUp = true
  await pay('order-4')
  await eventually(done, paid(5))
  for (const child of two) child.kill('SIGKILL')
  await Promise.all(two.map(({ exited }) => exited))
})
