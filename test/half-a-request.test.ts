/** Callers that stop in the middle, disconnect, or do not wait for their answer, over real connections. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { newClient, type Client } from './client.ts'
import { openConnection, postText } from './keep-alive.ts'
import { startProcess, type ServiceProcess } from './process.ts'
import { newApp, newUser, openTestService, type Credentials, type TestService, type TestUser } from './service.ts'

setDefaultTimeout(180_000)

let opened: TestService
let service: ServiceProcess
let app: Credentials
let user: TestUser
let client: Client

beforeAll(async () => {
  opened = await openTestService()
  app = await newApp(opened.service)
  user = await newUser(opened.service, app)
  service = await startProcess({ DATABASE_URL: opened.databaseUrl, LOG_LEVEL: 'info' })
  client = newClient(service.send, app, service.url)
  await client.credit(user.serviceUserId, 100)
})
afterAll(async () => {
  await service.stop()
  await opened.close()
})

function debitText(referenceId: string): string {
  const { serviceUserId } = user
  const body = { ...app, serviceUserId, amount: 1, referenceType: 'ORDER', referenceId }
  return postText({ path: '/api/server/wallet/debit', body })
}

/** Waits until the log has this many requests with the status. */
async function waitForStatus(status: number, times: number): Promise<void> {
  const line = new RegExp(`"message":"request".*"status":${status},`, 'g')
  for (let waited = 0; (service.output().match(line) ?? []).length < times; waited += 20) {
    if (waited > 30_000) throw new Error(`no status ${status} in ${service.output().slice(-1_000)}`)
    await Bun.sleep(20)
  }
}

const chunked = (text: string) => text.replace(/content-length: \d+/, 'transfer-encoding: chunked')

test.each([
  ['with a length', (text: string) => text.slice(0, -10)],
  ['in chunks', (text: string) => chunked(text).replace(/\r\n\r\n.*$/, '\r\n\r\n5\r\n{"cli\r\n')],
])(
  'half a body %s is answered 408 in JSON before the connection is closed, and its neighbours do not wait',
  async (_, half) => {
    const [connection, neighbour] = await Promise.all([openConnection(service.url), openConnection(service.url)])
    let isAnswered = false
    const late = connection.exchange(half(debitText(`half-${Math.random()}`))).finally(() => (isAnswered = true))
    late.catch(() => {})
    const before = await client.balance(user.serviceUserId)
    expect((await neighbour.exchange(debitText(`whole-${Math.random()}`))).status).toBe(200)
    expect(isAnswered).toBe(false)
    const answer = await Promise.race([late, Bun.sleep(45_000)])
    expect(answer).toMatchObject({ status: 408, isLast: true })
    expect(JSON.parse(answer!.body)).toMatchObject({ code: 'REQUEST_TIMEOUT' })
    expect(await client.balance(user.serviceUserId)).toBe(Number(before) - 1)
    neighbour.close()
  },
)

test('disconnecting in the middle of a body is a 499 in the log, no fault, and no warning', async () => {
  for (const half of [
    debitText('gone').slice(0, -10),
    chunked(debitText('gone')).replace(/\r\n\r\n.*$/, '\r\n\r\n5\r\n{"cli\r\n'),
  ]) {
    const connection = await openConnection(service.url)
    connection.socket.write(half)
    await Bun.sleep(200)
    connection.close()
  }
  await waitForStatus(499, 2)
  expect(service.output()).not.toContain('a request failed')
  expect(service.output()).not.toContain('"status":503')
})

test('of two requests sent at once on one connection none is booked without an answer', async () => {
  const before = Number(await client.balance(user.serviceUserId))
  const connection = await openConnection(service.url)
  // The runtime closes a connection when a request arrives before the last one is answered.
  const first = connection.exchange(debitText('pipelined-1') + debitText('pipelined-2'))
  expect(
    await first.then(
      (answer) => answer.status,
      (error: Error) => error.message,
    ),
  ).toStartWith('closed unanswered')
  await Bun.sleep(300)
  expect(await client.balance(user.serviceUserId)).toBe(before)
  // Both references are unused: sent again, one after the other, both are booked.
  for (const reference of ['pipelined-1', 'pipelined-2'])
    expect((await client.debit(user.serviceUserId, 1, reference)).body['replayed']).toBeUndefined()
  expect(await client.balance(user.serviceUserId)).toBe(before - 2)
})
