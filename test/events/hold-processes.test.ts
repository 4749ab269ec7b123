/** Events of holds of two real processes, one of which is killed: every step once, in the order of its wallet, the same for all readers. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import type { BillfoldEvent, Hold } from '../../sdk/contract.ts'
import { expectBalancedBooks } from '../books.ts'
import { newClient } from '../client.ts'
import { eventually } from '../eventually.ts'
import { holdClient, holdOf } from '../holds.ts'
import { startProcess, type ServiceProcess } from '../process.ts'
import { newUsers, openTestService, type Credentials, type TestService, type TestUser } from '../service.ts'
import { newAppWithEvents } from './rig.ts'

setDefaultTimeout(180_000)

let opened: TestService
let staying: ServiceProcess
let victim: ServiceProcess
let app: Credentials
let users: TestUser[]
beforeAll(async () => {
  opened = await openTestService()
  app = await newAppWithEvents(opened.service)
  users = await newUsers(opened.service, app, 6)
  const environment = { DATABASE_URL: opened.databaseUrl }
  ;[staying, victim] = await Promise.all([startProcess(environment), startProcess(environment)])
})
afterAll(async () => {
  await Promise.all([staying.stop(), victim.kill()])
  await expectBalancedBooks(opened.service)
  await opened.close()
})

type HoldEvent = Extract<BillfoldEvent, { data: Hold }>
type Step = { hold_id: string; number: number; kind: string }

const types: Record<string, string> = {
  capture: 'hold.captured',
  void: 'hold.voided',
  expiry: 'hold.expired',
  extend: 'hold.extended',
}

test('what committed before and after a kill -9 is reported once, and nothing else', async () => {
  const clients = [staying, victim].map((one) => newClient(one.send, app, one.url))
  const holders = clients.map((client) => holdClient(client, app))
  await Promise.all(users.map(({ serviceUserId }) => clients[0]!.credit(serviceUserId, 1_000)))
  let answered = 0
  /** One order of each kind; what the killed process did not answer is left as it is. */
  const order = async (i: number) => {
    const user = users[i % users.length]!
    const [first, second] = i % 2 === 0 ? holders : holders.toReversed()
    const { id } = holdOf(await first!.place(user.serviceUserId, 5, { expiresIn: 3_600 }))
    if (i % 3 === 0) await second!.extend(id, 7_200)
    if (i % 4 === 0) await second!.void(id)
    else {
      const reference = { referenceType: 'PART', referenceId: `part ${i}` }
      await second!.capture(id, { amount: 2, final: false, ...reference })
      if (i % 4 === 1) await first!.capture(id)
    }
    answered++
  }
  const orders = Promise.allSettled(Array.from({ length: 240 }, (_, i) => order(i)))
  await eventually(() => answered > 30, true)
  await victim.kill()
  const results = await orders
  expect(results.some(({ status }) => status === 'rejected')).toBe(true)

  const another = await startProcess({ DATABASE_URL: opened.databaseUrl })
  const later = newClient(another.send, app, another.url)
  const { pool } = opened.service.db
  const readSteps = () =>
    pool.query<Step>(
      `select replace(hold_id::text, '-', '') as hold_id, number, kind from hold_steps union all
       select replace(id::text, '-', ''), 0, null from holds order by 1, 2`,
    )
  const countEntries = () => pool.query<{ count: number }>('select count(*)::int as count from transfers')
  const read = async (client: typeof later) =>
    (await client.get('/api/server/events', { limit: '1000', after: String(1 + users.length) })).body as unknown as {
      events: BillfoldEvent[]
    }
  // What the killed process had sent may still commit, and whichever process is left numbers it.
  await eventually(async () => {
    const written = (await readSteps()).rows.length + (await countEntries()).rows[0]!.count
    return written - (await read(later)).events.length
  }, 0)
  const { events } = await read(later)
  const { rows: steps } = await readSteps()
  expect(await read(clients[0]!)).toEqual(await read(later))
  await another.stop()

  const ofHolds = events.filter((event): event is HoldEvent => event.type.startsWith('hold.'))
  for (const { serviceUserId } of users) {
    const own = events.filter(({ data }) => 'serviceUserId' in data && data.serviceUserId === serviceUserId)
    const sequences = own.flatMap(({ data }) => ('sequence' in data ? [data.sequence] : []))
    expect(sequences).toEqual(sequences.map((_, i) => i + 1))
    const times = own.filter(({ type }) => type.startsWith('hold.')).map(({ timestamp }) => Date.parse(timestamp))
    expect(times).toEqual(times.toSorted((a, b) => a - b))
  }
  const told = Map.groupBy(ofHolds, ({ data }) => data.id.slice('hold_'.length))
  const written = Map.groupBy(steps, (step) => step.hold_id)
  expect(told.size).toBe(written.size)
  for (const [id, ofHold] of written) {
    const own = told.get(id) ?? []
    expect<string[]>(own.map(({ type }) => type)).toEqual(ofHold.map(({ kind }) => types[kind] ?? 'hold.created'))
    expect(own.at(-1)!.data).toMatchObject(holdOf(await holders[0]!.read(`hold_${id}`)))
  }
})
