/** Periods are closed by the command line beside two real processes: every reference counts once, whichever period it is in. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { listClosings } from '../src/store/closing/closings.ts'
import { verifyBooks } from '../src/store/verify/verify.ts'
import { expectBalancedBooks } from './books.ts'
import { newClient, type Client, type Reply } from './client.ts'
import { runCommand } from './command.ts'
import { holdClient, holdOf } from './holds.ts'
import { startProcess, type ServiceProcess } from './process.ts'
import { newApp, newUsers, openTestService, type Credentials, type TestService } from './service.ts'

setDefaultTimeout(180_000)

let opened: TestService
let processes: ServiceProcess[]
let credentials: Credentials
let clients: Client[]

beforeAll(async () => {
  opened = await openTestService()
  credentials = await newApp(opened.service)
  const environment = { DATABASE_URL: opened.databaseUrl }
  processes = await Promise.all([startProcess(environment), startProcess(environment)])
  clients = processes.map((one) => newClient(one.send, credentials, one.url))
})
afterAll(async () => {
  await Promise.all(processes.map((one) => one.stop()))
  await expectBalancedBooks(opened.service)
  await opened.close()
})

const period = async (...args: string[]) => {
  const ended = await runCommand(['period', ...args, '--json'], { DATABASE_URL: opened.databaseUrl })
  return { ...ended, json: JSON.parse(ended.stdout || '{}') as Record<string, unknown> }
}

test('three closings beside repeated debits, holds and captures leave each of them counted once', async () => {
  const users = await newUsers(opened.service, credentials, 6)
  const balances = new Map(users.map(({ serviceUserId }) => [serviceUserId, 0]))
  for (const [i, { serviceUserId }] of users.entries()) {
    expect((await clients[i % 2]!.credit(serviceUserId, 10_000)).status).toBe(200)
    balances.set(serviceUserId, 10_000)
  }
  const firsts = new Map<string, number>()
  const answers = new Map<string, string>()
  const count = (reference: string, reply: Reply) => {
    // A 503 says that it is safe to send it again: it is sent once more at the end.
    if (reply.status === 503) return
    expect([reference, reply.status]).toEqual([reference, 200])
    if (reply.body['replayed'] === undefined) firsts.set(reference, (firsts.get(reference) ?? 0) + 1)
    const known = answers.get(reference) ?? (reply.body['transactionId'] as string)
    expect(reply.body['transactionId']).toBe(known)
    answers.set(reference, known)
  }
  const references: { readonly id: string; readonly su: string }[] = []
  const state = { isClosing: true }
  let next = 0
  const holders = clients.map((client) => holdClient(client, credentials))
  const work = async (side: number) => {
    while (state.isClosing) {
      const fresh = Array.from({ length: 12 }, () => {
        const su = users[next % users.length]!.serviceUserId
        return { id: `period-${next++}`, su }
      })
      references.push(...fresh)
      // Old ones too, from any period, by both processes.
      const old = Array.from({ length: 4 }, () => references[Math.floor(Math.random() * references.length)]!)
      await Promise.all([
        ...[...fresh, ...old].map(async ({ id, su }) => count(id, await clients[side]!.debit(su, 1, id))),
        ...fresh.slice(0, 2).map(async ({ id, su }) => count(id, await clients[1 - side]!.debit(su, 1, id))),
      ])
      const { su } = fresh[0]!
      const place = () => holders[side]!.place(su, 2, { referenceId: `${fresh[0]!.id}-hold` })
      let placed = await place()
      // It may have been placed although its answer was lost.
      while (placed.status === 503) placed = await place()
      const { id } = holdOf(placed)
      const captures = await Promise.all(holders.map((holder) => holder.capture(id)))
      for (const capture of captures) count(`${fresh[0]!.id}-hold`, capture)
      let isCaptured = captures.some(({ status }) => status === 200)
      while (!isCaptured) isCaptured = (await holders[side]!.capture(id)).status === 200
      balances.set(su, balances.get(su)! - 2)
    }
  }
  const working = [work(0), work(1)]
  for (let i = 1; i <= 3; i++) {
    const { exitCode, json, stderr } = await period('close')
    expect([exitCode, stderr]).toEqual([0, ''])
    expect(json['closed']).toMatchObject({ id: i })
    // The next one closes what was posted after this one. References are listed before they are posted, 12 of a process at a time.
    const listed = references.length
    while (references.length < listed + 100) await Bun.sleep(20)
  }
  state.isClosing = false
  await Promise.all(working)
  for (const [i, { id, su }] of references.entries()) count(id, await clients[i % 2]!.debit(su, 1, id))
  // An answer may have been lost with a 503, so that every later one is a repeat; none is counted twice.
  expect([...firsts].filter(([, times]) => times > 1)).toEqual([])
  for (const { su } of references) balances.set(su, balances.get(su)! - 1)
  for (const [su, balance] of balances) expect(await clients[0]!.balance(su)).toBe(balance)
  expect(await verifyBooks(opened.service.db.connection)).toMatchObject({ faults: 0 })
  expect((await listClosings(opened.service.db.pool)).map(({ isIndexed }) => isIndexed)).toEqual([true, true, true])
})

test('the command line lists periods, and closes none that is empty', async () => {
  const { json } = await period('list')
  const listed = json['periods'] as { id: number; references: number; isIndexed: boolean }[]
  expect(listed.map(({ id, isIndexed }) => [id, isIndexed])).toEqual([
    [1, true],
    [2, true],
    [3, true],
  ])
  expect((await period('close')).exitCode).toBe(0)
  const refused = await runCommand(['period', 'close'], { DATABASE_URL: opened.databaseUrl })
  expect([refused.exitCode, refused.stderr]).toEqual([1, expect.stringContaining('There is nothing to close')])
  expect((await period('index')).json).toEqual({ indexed: [] })
})
