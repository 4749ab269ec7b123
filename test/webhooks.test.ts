/** Webhooks of real processes: one is killed while it delivers, and a good endpoint works beside a hundred silent ones. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net'
import { setAppEvents } from '../src/actions/apps/manage-apps.ts'
import { startDeliverer } from '../src/actions/webhooks/deliverer.ts'
import { addEndpoint } from '../src/actions/webhooks/manage-endpoints.ts'
import { findEndpoint } from '../src/store/events/endpoints.ts'
import { numberEvents } from '../src/store/events/number-events.ts'
import { newClient } from './client.ts'
import { creditOf, newAppWithEvents, numberAll, openLane, postBatch, readAll } from './events/rig.ts'
import { eventually } from './eventually.ts'
import { startProcess, type ServiceProcess } from './process.ts'
import { startReceiver } from './receiver.ts'
import { newApp, newUsers, openTestService, operator, secretsKey, type TestService } from './service.ts'

setDefaultTimeout(180_000)

let opened: TestService
beforeAll(async () => void (opened = await openTestService()))
afterAll(() => opened.close())

async function add(clientId: string, url: string): Promise<{ id: string; secret: string }> {
  const added = await addEndpoint(opened.service, operator, clientId, { url, types: null })
  if (added.kind !== 'added') throw new Error(added.kind)
  return added
}

test('of three processes two are killed while they deliver: every event arrives, each time with the same id and bytes', async () => {
  const { service } = opened
  const credentials = await newApp(service)
  const users = await newUsers(service, credentials, 6)
  await setAppEvents(service, operator, credentials.clientId, true)
  await numberEvents(service.db)
  const before = (await readAll(service, credentials.clientId)).length
  const receiver = startReceiver()
  const { id, secret } = await add(credentials.clientId, receiver.url)
  receiver.secrets = [secret]
  const environment = { DATABASE_URL: opened.databaseUrl, SECRETS_KEY: secretsKey }
  const start = () => startProcess(environment)
  let processes: ServiceProcess[] = [await start(), await start()]
  receiver.answer = async () => {
    await Bun.sleep(5)
    return new Response(null, { status: 204 })
  }
  let sent = 0
  const credit = async (through: ServiceProcess, count: number) => {
    const client = newClient(through.send, credentials, through.url)
    const of = Array.from({ length: count }, () => users[sent++ % users.length]!.serviceUserId)
    for (const reply of await Promise.all(of.map((su) => client.credit(su, 1)))) expect(reply.status).toBe(200)
  }
  for (let round = 0; round < 2; round++) {
    const [first, second] = processes as [ServiceProcess, ServiceProcess]
    await Promise.all([credit(first, 60), credit(second, 60)])
    // One of the two holds the lease.
    await eventually(() => receiver.received.length > round * 120 + 20, true)
    await first.kill()
    // As if the lease of the dead process had run out.
    await service.db.pool.query(`update endpoints set leased_until = now() where id = $1`, [id])
    processes = [second, await start()]
  }
  // The processes number events in the background.
  await numberAll(service)
  const all = await readAll(service, credentials.clientId)
  expect(all.length - before).toBe(240)
  await eventually(async () => (await findEndpoint(service.db.pool, id))!.deliveredUpTo, all.length)
  const accepted = new Set(receiver.accepted)
  expect(all.slice(before).every(({ number }) => accepted.has(number))).toBe(true)
  const forms = new Set(receiver.received.map(({ event, id, body }) => `${event.number} ${id} ${body}`))
  expect(forms.size).toBe(240)
  for (const each of processes) expect(await each.stop()).toBe(0)
  await receiver.stop()
})

/** Takes connections and requests, and never answers. */
async function startSilent(): Promise<{ server: Server; url: string; asked: () => number; stop: () => void }> {
  const sockets = new Set<Socket>()
  let asked = 0
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => {}).once('data', () => asked++)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const stop = () => {
    for (const socket of sockets) socket.destroy()
    server.close()
  }
  return { server, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`, asked: () => asked, stop }
}

test('a hundred silent endpoints hold their attempts, and a good one beside them gets all its events', async () => {
  const { service } = opened
  const silent = await startSilent()
  const lane = await openLane(service)
  const good = await newAppWithEvents(service)
  const dead = await Promise.all(Array.from({ length: 20 }, () => newAppWithEvents(service)))
  const [user] = await newUsers(service, good, 1)
  for (const each of dead) {
    for (let i = 0; i < 5; i++) await add(each.clientId, silent.url)
    const [theirs] = await newUsers(service, each, 1)
    await postBatch(lane, [creditOf(each, theirs!)])
  }
  await numberEvents(service.db)
  const receiver = startReceiver()
  const { secret } = await add(good.clientId, receiver.url)
  receiver.secrets = [secret]
  const deliverer = startDeliverer(service, {}, { everyMs: 50 })
  await eventually(() => silent.asked() >= 100, true)
  for (let i = 0; i < 20; i++) await postBatch(lane, [creditOf(good, user!)])
  await numberEvents(service.db)
  await eventually(() => receiver.accepted.length, 20)
  await deliverer.stop()
  silent.stop()
  await receiver.stop()
  await lane.client.end()
})
