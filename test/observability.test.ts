/** What operators see from outside. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { newClient, type Client } from './client.ts'
import { openForwarder } from './forwarder.ts'
import { newApp, newUser, openTestService, type TestService } from './service.ts'

let opened: TestService
let client: Client
let su: string

beforeAll(async () => {
  opened = await openTestService()
  const app = await newApp(opened.service)
  client = newClient(opened.app.fetch, app)
  su = (await newUser(opened.service, app)).serviceUserId
})
afterAll(() => opened.close())

const metric = async (name: string) => {
  const text = await (await opened.app.fetch(new Request('http://billfold.test/metrics'))).text()
  return Number(
    text
      .split('\n')
      .find((line) => line.startsWith(name))
      ?.split(' ')
      .at(-1) ?? Number.NaN,
  )
}

test('operations are counted by what they came to', async () => {
  await client.credit(su, 10, 'once')
  await client.credit(su, 10, 'once')
  await client.debit(su, 1)
  await client.debit(su, 100)
  expect(await metric('billfold_operations_total{direction="credit",result="posted"}')).toBe(1)
  expect(await metric('billfold_operations_total{direction="credit",result="replayed"}')).toBe(1)
  expect(await metric('billfold_operations_total{direction="debit",result="posted"}')).toBe(1)
  expect(await metric('billfold_operations_total{direction="debit",result="INSUFFICIENT_BALANCE"}')).toBe(1)
  // One batch each; the repeat and the refusal too are answered by the one statement.
  expect(await metric('billfold_batch_operations_count')).toBe(4)
  expect(await metric('billfold_careful_batches_total')).toBe(0)
  expect(await metric('billfold_batch_seconds_count')).toBe(4)
  expect(await metric('billfold_writer_queue_depth')).toBe(0)
  expect(await metric('billfold_pool_connections')).toBeGreaterThan(0)
  expect(await metric('billfold_memory_bytes')).toBeGreaterThan(1_000_000)
})

test('requests are counted by pattern and status', async () => {
  const name = 'billfold_http_request_seconds_count{route="/api/server/wallet",method="GET",status="401"}'
  await client.wallet('su_nobody')
  const before = await metric(name)
  await client.wallet('su_nobody')
  expect(await metric(name)).toBe(before + 1)
  await opened.app.fetch(new Request('http://billfold.test/anything/at/all'))
  expect(await metric('billfold_http_request_seconds_count{route="none",method="GET",status="404"}')).toBe(1)
})

test('the log has one JSON object a line, and the id that the answer names', async () => {
  const reply = await client.wallet('su_nobody')
  const lines = opened.logged.map((line) => JSON.parse(line) as Record<string, unknown>)
  const entry = lines.find((line) => line['requestId'] === reply.body['requestId'])
  expect(entry).toMatchObject({ level: 'info', method: 'GET', route: '/api/server/wallet', status: 401 })
  expect(reply.headers.get('x-request-id')).toBe(reply.body['requestId'] as string)
  for (const line of opened.logged) expect(line.endsWith('}\n')).toBeTrue()
})

test('a method nobody heard of is no label of its own', async () => {
  await opened.app.fetch(new Request('http://billfold.test/healthz', { method: 'EVIL' }))
  const text = await opened.service.metrics.render()
  expect(text).not.toContain('EVIL')
})

test('a database that is away is 503 at /readyz and on every route, never 500, and all is well when it is back', async () => {
  let wire: Awaited<ReturnType<typeof openForwarder>>
  const away = await openTestService({}, undefined, async (connection) => {
    wire = await openForwarder(connection)
    return wire.connection
  })
  const app = await newApp(away.service)
  const { serviceUserId } = await newUser(away.service, app)
  const other = newClient(away.app.fetch, app)
  const readiness = async () => (await away.app.fetch(new Request('http://billfold.test/readyz'))).status
  expect([(await other.credit(serviceUserId, 5)).status, await readiness()]).toEqual([200, 200])
  wire!.cut()
  const replies = await Promise.all([
    other.debit(serviceUserId, 1, 'while-away'),
    other.wallet(serviceUserId),
    other.checkBalance(serviceUserId, '1'),
  ])
  for (const { status, body, headers } of replies) {
    expect([status, body['code']]).toEqual([503, 'UNAVAILABLE'])
    expect(Number(headers.get('retry-after'))).toBeGreaterThan(0)
  }
  expect(await readiness()).toBe(503)
  wire!.mend()
  expect((await other.debit(serviceUserId, 1, 'while-away')).body['balance']).toBe(4)
  expect(await readiness()).toBe(200)
  await away.close()
  wire!.close()
})
