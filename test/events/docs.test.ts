/** docs/events.md, run: its request and its answer. Its programs run in receivers.test.ts and readers.test.ts. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { setAppEvents } from '../../src/actions/apps/manage-apps.ts'
import { newClient } from '../client.ts'
import { newApp, newUser, openTestService, operator, type Credentials, type TestService } from '../service.ts'
import { programs, snippets } from './guide-programs.ts'
import { numberAll } from './rig.ts'

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

test('every program of the page is run', () => {
  const code = [...snippets.keys()].filter((name) => name.startsWith('events.') && name !== 'events.sql')
  expect(programs.map(({ file }) => file).sort()).toEqual(code.sort())
})
