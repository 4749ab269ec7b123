/** Two real processes on one database: what could race, races here. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { setAppActive, updateApp, rotateSecret } from '../src/actions/apps/manage-apps.ts'
import { updateLinkDisconnected } from '../src/store/links.ts'
import { expectBalancedBooks } from './books.ts'
import { newClient, type Client, type Reply } from './client.ts'
import { eventually, expectWithin } from './eventually.ts'
import { startProcess, type ServiceProcess } from './process.ts'
import { newApp, newUser, newUsers, openTestService, operator, type Credentials, type TestService } from './service.ts'

let opened: TestService
let processes: ServiceProcess[]
let credentials: Credentials
let clients: [Client, Client]

beforeAll(async () => {
  opened = await openTestService()
  const environment = { DATABASE_URL: opened.databaseUrl }
  processes = await Promise.all([startProcess(environment), startProcess(environment)])
  credentials = await newApp(opened.service)
  clients = clientsOf(credentials)
}, 180_000)
afterAll(async () => {
  await Promise.all(processes.map((one) => one.stop()))
  await expectBalancedBooks(opened.service)
  await opened.close()
}, 180_000)

const clientsOf = (who: Credentials) => processes.map((one) => newClient(one.send, who, one.url)) as [Client, Client]
const withoutReplay = ({ body }: Reply) => JSON.stringify({ ...body, replayed: undefined, requestId: undefined })

test('200 references, each sent 10 times at once, are each applied once, and all answers are equal', async () => {
  const { serviceUserId: su } = await newUser(opened.service, credentials)
  await clients[0].credit(su, 1000)
  // Fifty references at once, of one wallet: a slow machine has the eight seconds of an answer for no more of them.
  for (let first = 0; first < 200; first += 50) {
    const references = Array.from({ length: 50 }, (_, i) => `ten-times-${first + i}`)
    const replies = await Promise.all(
      references.map((reference) =>
        Promise.all(Array.from({ length: 10 }, (_, i) => clients[i % 2]!.debit(su, 1, reference))),
      ),
    )
    for (const group of replies) {
      expect(group.map((reply) => reply.status)).toEqual(Array(10).fill(200))
      expect(new Set(group.map(withoutReplay)).size).toBe(1)
      expect(group.filter((reply) => reply.body['replayed'] === undefined)).toHaveLength(1)
    }
  }
  expect(await clients[0].balance(su)).toBe(800)
}, 180_000)

test('a wallet of 100 against 400 debits of 1 pays exactly 100 times', async () => {
  const { serviceUserId: su } = await newUser(opened.service, credentials)
  await clients[0].credit(su, 100)
  const replies = await Promise.all(Array.from({ length: 400 }, (_, i) => clients[i % 2]!.debit(su, 1)))
  expect(replies.filter((reply) => reply.status === 200)).toHaveLength(100)
  const refused = replies.filter((reply) => reply.status === 400)
  expect(refused).toHaveLength(300)
  for (const { body } of refused) expect(body['code']).toBe('INSUFFICIENT_BALANCE')
  expect(await clients[1].balance(su)).toBe(0)
}, 180_000)

test('one reference used for two users at once has one outcome', async () => {
  const users = await Promise.all([newUser(opened.service, credentials), newUser(opened.service, credentials)])
  for (let round = 0; round < 50; round++) {
    const reference = `two-users-${round}`
    const replies = await Promise.all(users.map((user, i) => clients[i]!.credit(user.serviceUserId, 1, reference)))
    expect(replies.map((reply) => reply.status)).toEqual([200, 200])
    expect(replies.filter((reply) => reply.body['replayed'] === undefined)).toHaveLength(1)
    const replayed = replies.find((reply) => reply.body['replayed'])!
    expect(replayed.body['mismatch']).toEqual(['user'])
  }
  const balances = await Promise.all(users.map((user) => clients[0].balance(user.serviceUserId)))
  expect(balances.reduce((sum: number, balance) => sum + Number(balance), 0)).toBe(50)
}, 180_000)

test('ten thousand random movements of few wallets end in answers, and no deadlock reaches a client', async () => {
  const users = await newUsers(opened.service, credentials, 6)
  const statuses = new Set<number>()
  const moved = new Map(users.map((user) => [user.serviceUserId, 0]))
  let sent = 0
  const worker = async (n: number) => {
    while (sent < 10_000) {
      const { serviceUserId: su } = users[Math.floor(Math.random() * users.length)]!
      const amount = 1 + Math.floor(Math.random() * 20)
      const isDebit = Math.random() < 0.6
      const client = clients[n % 2]!
      const reference = `random-${++sent}`
      const ask = () => (isDebit ? client.debit(su, amount, reference) : client.credit(su, amount, reference))
      let reply = await ask()
      // As a client does: a machine that pauses may not know in time. A deadlock would be another answer.
      while (reply.status === 503) reply = await ask()
      statuses.add(reply.status)
      if (reply.status === 200) moved.set(su, moved.get(su)! + (isDebit ? -amount : amount))
    }
  }
  await Promise.all(Array.from({ length: 40 }, (_, n) => worker(n)))
  // 400 is a debit that found too little money.
  expect([...statuses].sort((a, b) => a - b)).toEqual([200, 400])
  for (const [su, balance] of moved) expect(await clients[0].balance(su)).toBe(balance)
}, 180_000)

/** How long the other process took to know; half a minute when it does not. */
const tookToKnow = async (probe: () => Promise<boolean>): Promise<number> => {
  const startedAt = performance.now()
  while (!(await probe()) && performance.now() - startedAt < 30_000) await Bun.sleep(25)
  return performance.now() - startedAt
}

const isPageShown = async (url: string, clientId: string) =>
  !(await (await fetch(`${url}/widget/wallet?clientId=${clientId}`)).text()).includes('For developers.')

describe('changes between processes', () => {
  test('a rotated secret, changed scopes and a deactivated app are known to the other process within a second', async () => {
    await expectWithin(1_000, async () => {
      const app = await newApp(opened.service)
      const [, second] = clientsOf(app)
      const { serviceUserId: su } = await newUser(opened.service, app)
      expect((await second.credit(su, 1)).status).toBe(200)
      const { clientSecret } = (await rotateSecret(opened.service, operator, app.clientId, 'none'))!
      const rotated = await tookToKnow(async () => (await second.wallet(su)).status === 401)
      const [, renewed] = clientsOf({ ...app, clientSecret })
      expect((await renewed.wallet(su)).status).toBe(200)
      const found = (await opened.service.apps.find(app.clientId))!
      await updateApp(opened.service, operator, app.clientId, { ...found, scopes: ['wallet:read'] })
      const scoped = await tookToKnow(async () => (await renewed.credit(su, 1)).status === 403)
      await setAppActive(opened.service, operator, app.clientId, false)
      const deactivated = await tookToKnow(async () => (await renewed.wallet(su)).status === 401)
      return Math.max(rotated, scoped, deactivated)
    })
  }, 180_000)

  test('an app made, activated or given a new secret by one process is never refused by another that has an older copy', async () => {
    const seen: unknown[] = []
    const ask = async (who: Credentials) => {
      for (const client of clientsOf(who)) seen.push((await client.wallet('su_x')).body['code'])
    }
    const askPages = async (clientId: string) => {
      for (const { url } of processes) seen.push((await isPageShown(url, clientId)) ? 'shown' : 'refused')
    }
    for (let round = 0; round < 8; round++) {
      // Both copies were read just now.
      await Promise.all(clients.map((client) => client.wallet('su_x')))
      const app = await newApp(opened.service)
      if (round % 2) await ask(app)
      await askPages(app.clientId)
      const { clientSecret } = (await rotateSecret(opened.service, operator, app.clientId, 'none'))!
      await ask({ ...app, clientSecret })
      await setAppActive(opened.service, operator, app.clientId, false)
      for (const { url } of processes) await eventually(() => isPageShown(url, app.clientId), false)
      await setAppActive(opened.service, operator, app.clientId, true)
      await askPages(app.clientId)
    }
    expect(new Set(seen)).toEqual(new Set(['USER_NOT_FOUND', 'shown']))
  }, 180_000)

  test('a disconnected user is known to the other process at once', async () => {
    const { serviceUserId: su, userId } = await newUser(opened.service, credentials)
    expect((await clients[1].credit(su, 1)).status).toBe(200)
    await updateLinkDisconnected(opened.service.db.pool, userId, su)
    expect((await clients[1].credit(su, 1)).status).toBe(404)
    expect((await clients[1].checkBalance(su, '1')).status).toBe(401)
    expect((await clients[1].wallet(su)).status).toBe(401)
  })
})
