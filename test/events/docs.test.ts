/** docs/events.md, run: its request and its answer. Its programs run in receivers.test.ts and readers.test.ts. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { setAppEvents } from '../../src/actions/apps/manage-apps.ts'
import { addEndpoint } from '../../src/actions/webhooks/manage-endpoints.ts'
import { journalPing } from '../../src/store/events/journal.ts'
import { newClient } from '../client.ts'
import { newApp, newUser, openTestService, operator, type Credentials, type TestService } from '../service.ts'
import { programs, snippets } from './guide-programs.ts'
import { newAppWithEvents, numberAll } from './rig.ts'

setDefaultTimeout(120_000)

let opened: TestService
let app: Credentials
let server: ReturnType<typeof Bun.serve>

beforeAll(async () => {
  opened = await openTestService()
  app = await newApp(opened.service)
  server = Bun.serve({ port: 0, hostname: '127.0.0.1', idleTimeout: 60, fetch: (request) => opened.app.fetch(request) })
})
afterAll(async () => {
  await server.stop(true)
  await opened.close()
})

test('the request in curl gets the answer of the page', async () => {
  const { serviceUserId } = await newUser(opened.service, app)
  await setAppEvents(opened.service, operator, app.clientId, true)
  const client = newClient(opened.app.fetch, app)
  const refund = { serviceUserId, amount: 25, referenceType: 'ORDER_REFUND', referenceId: 'order-7' }
  await client.post('/api/server/wallet/credit', { ...app, ...refund })
  await numberAll(opened.service)
  const env = {
    PATH: process.env['PATH'] ?? '',
    BILLFOLD_URL: server.url.origin,
    BILLFOLD_CLIENT_ID: app.clientId,
    BILLFOLD_CLIENT_SECRET: app.clientSecret,
  }
  const child = Bun.spawn(['bash', '-c', snippets.get('read-events')!], { env, stdout: 'pipe' })
  const answer = await new Response(child.stdout).text()
  const masked = answer.replaceAll(/(evt|su|txn)_[0-9a-f]{32}/g, '$1_…').replaceAll(/"\d{4}-\d\d-\d\dT[^"]*Z"/g, '"…"')
  expect(JSON.parse(masked)).toEqual(JSON.parse(snippets.get('an-event')!))
})

test('the replay in curl sends the events of the page again', async () => {
  const { service } = opened
  const sender = await newAppWithEvents(service)
  const added = await addEndpoint(service, operator, sender.clientId, { url: 'http://127.0.0.1:9/', types: null })
  if (added.kind !== 'added') throw new Error(added.kind)
  for (let i = 0; i < 40; i++) await journalPing(service.db.pool, sender.clientId)
  await numberAll(service)
  await service.db.pool.query(
    `update endpoints set delivered_up_to = 40, disabled_at = now(), disabled_for = 'operator' where id = $1`,
    [added.id],
  )
  const env = {
    PATH: process.env['PATH'] ?? '',
    BILLFOLD_URL: server.url.origin,
    BILLFOLD_CLIENT_ID: sender.clientId,
    BILLFOLD_CLIENT_SECRET: sender.clientSecret,
    BILLFOLD_ENDPOINT: added.id,
  }
  const child = Bun.spawn(['bash', '-c', snippets.get('replay-events')!], { env, stdout: 'pipe' })
  const answer = (await new Response(child.stdout).text()).replace(added.id, 'we_…')
  expect(JSON.parse(answer)).toEqual({ ...JSON.parse(snippets.get('replay-answer')!), disabled: true })
})

test('every program of the page is run', () => {
  const code = [...snippets.keys()].filter((name) => name.startsWith('events.') && name !== 'events.sql')
  expect(programs.map(({ file }) => file).sort()).toEqual(code.sort())
})
