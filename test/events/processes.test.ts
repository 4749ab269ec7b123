/** Events of two real processes on one database: one numbers them, both answer with all of them, and a drain ends what waits. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { newClient } from '../client.ts'
import { eventually } from '../eventually.ts'
import { startProcess, type ServiceProcess } from '../process.ts'
import { newUsers, openTestService, type Credentials, type TestService } from '../service.ts'
import { newAppWithEvents } from './rig.ts'

setDefaultTimeout(180_000)

let opened: TestService
let processes: ServiceProcess[]
let app: Credentials
beforeAll(async () => {
  opened = await openTestService()
  app = await newAppWithEvents(opened.service)
  const environment = { DATABASE_URL: opened.databaseUrl }
  processes = await Promise.all([startProcess(environment), startProcess(environment)])
})
afterAll(async () => {
  await Promise.all(processes.map((one) => one.stop()))
  await opened.close()
})

type Event = { number: number; data: { sequence: number; serviceUserId: string } }

test('debits through both are numbered without gaps, in the order of each wallet, and a call waiting at one wakes for a debit at the other', async () => {
  const clients = processes.map((one) => newClient(one.send, app, one.url))
  const [one, two] = clients as [(typeof clients)[0], (typeof clients)[0]]
  const users = await newUsers(opened.service, app, 4)
  const read = async (client: typeof one, query: Record<string, string> = {}) =>
    (await client.get('/api/server/events', { limit: '1000', types: 'wallet.credited', ...query })).body
  const sends = Array.from({ length: 200 }, (_, i) => clients[i % 2]!.credit(users[i % 4]!.serviceUserId, 1))
  for (const { status } of await Promise.all(sends)) expect(status).toBe(200)
  await eventually(async () => ((await read(one))['events'] as Event[]).length, 200)
  const body = await read(two)
  expect(body).toEqual(await read(one))
  const events = body['events'] as Event[]
  expect(events.map(({ number }) => number)).toEqual(Array.from({ length: 200 }, (_, i) => i + 6))
  for (const { serviceUserId } of users) {
    const own = events.filter(({ data }) => data.serviceUserId === serviceUserId)
    expect(own.map(({ data }) => data.sequence)).toEqual(Array.from({ length: 50 }, (_, i) => i + 1))
  }
  const after = String(body['last'])
  const waiting = read(two, { after, wait: '20' })
  await one.credit(users[0]!.serviceUserId, 1)
  expect(((await waiting)['events'] as Event[]).map(({ number }) => number)).toEqual([206])
})

test('a process that drains answers its waiting calls', async () => {
  const [, leaving] = processes
  const client = newClient(leaving!.send, app, leaving!.url)
  const { body } = await client.get('/api/server/events', { limit: '1000' })
  const waiting = client.get('/api/server/events', { after: String(body['last']), wait: '20' })
  const code = leaving!.stop()
  expect(await waiting).toMatchObject({ status: 200, body: { events: [], last: body['last'] } })
  expect(await code).toBe(0)
})
