import { afterAll, afterEach, beforeAll, expect, test } from 'bun:test'
import { testDatabase, type TestDatabase } from '../../../test/postgres.ts'
import { DatabaseUnavailable } from './database-unavailable.ts'
import type { OpenClient } from './open-client.ts'
import { openClient } from './servers.ts'
import { hedgedRead, openPool, type Pool } from './pool.ts'

let database: TestDatabase
let pool: Pool
let opened: OpenClient[] = []
/** What opening a connection does, where a test wants it otherwise. */
let refusals: Error[] = []
let ready: (OpenClient | Promise<OpenClient>)[] = []

beforeAll(async () => {
  database = await testDatabase()
})
afterEach(async () => {
  await pool.end()
  opened = []
  refusals = []
})
afterAll(async () => await database.drop())

async function open(): Promise<OpenClient> {
  const refusal = refusals.shift()
  if (refusal) throw refusal
  const client = (await ready.shift()) ?? (await connectTo())
  opened.push(client)
  return client
}

const connectTo = () => openClient(database.connection, { name: 'pool test' })

function poolOf(max: number, limitMs: number): Pool {
  return (pool = openPool(open, max, limitMs))
}

const backend = async (from: Pick<Pool, 'query'>) =>
  (await from.query<{ pid: number }>('select pg_backend_pid() as pid')).rows[0]!.pid

test('a caller that waits while all connections are busy fails at the limit, and the busy connection is not harmed', async () => {
  const { connect, query, within } = poolOf(1, 30_000)
  const busy = await connect()
  const waiting = within(300).query('select 1')
  expect(pool.waitingCount).toBe(1)
  expect(await waiting.catch((error: unknown) => error)).toBeInstanceOf(DatabaseUnavailable)
  expect(pool.waitingCount).toBe(0)
  expect((await busy.query('select 1 as one')).rows).toEqual([{ one: 1 }])
  busy.release()
  expect((await query('select 2 as two')).rows).toEqual([{ two: 2 }])
  expect(opened).toHaveLength(1)
})

test('time in which this process itself stood still does not count: the answer gets one more second', async () => {
  const { query } = poolOf(1, 1_000)
  await query('select 1')
  // As on a machine that was suspended: the server was, too, and goes on where it stopped.
  const asked = query<{ done: boolean }>('select pg_sleep(1.5) is null as done')
  await Bun.sleep(100)
  Bun.sleepSync(1_200)
  expect((await asked).rows).toEqual([{ done: false }])
  expect(opened).toHaveLength(1)
})

test('a caller that came after an attempt to connect had begun gets a new attempt', async () => {
  const hanging = Promise.withResolvers<OpenClient>()
  ready = [hanging.promise]
  const { query, within } = poolOf(1, 30_000)
  expect(
    await within(50)
      .query('select 1')
      .catch((error: unknown) => error),
  ).toBeInstanceOf(DatabaseUnavailable)
  const later = query<{ two: number }>('select 2 as two')
  hanging.reject(new DatabaseUnavailable('no answer'))
  expect((await later).rows).toEqual([{ two: 2 }])
})

test.each([1, 2])(
  'of %d connections there are never more, and those who wait get them in the order they came',
  async (max) => {
    const { query } = poolOf(max, 30_000)
    const order: number[] = []
    const turns = Array.from({ length: 12 }, async (_, i) => {
      await query('select pg_sleep(0.005)')
      order.push(i)
    })
    await Promise.all(turns)
    if (max === 1) expect(order).toEqual(order.toSorted((a, b) => a - b))
    expect(opened.length).toBeLessThanOrEqual(max)
  },
)

test('an answer that does not come within the limit ends its connection, and the idle ones beside it', async () => {
  const { query, connect, within } = poolOf(3, 30_000)
  for (const client of [await connect(), await connect(), await connect()]) client.release()
  expect(pool.idleCount).toBe(3)
  const fault = await within(500)
    .query('select pg_sleep(60)')
    .catch((error: unknown) => error)
  expect(fault).toBeInstanceOf(DatabaseUnavailable)
  expect(opened.every((client) => client.isLost())).toBe(true)
  expect(pool.totalCount).toBe(0)
  expect((await query('select 1 as one')).rows).toEqual([{ one: 1 }])
})

test('a read whose connection went silent is asked beside it on a new one', async () => {
  const { connect } = poolOf(4, 30_000)
  for (const client of [await connect(), await connect()]) client.release()
  const asked: number[] = []
  const pid = await hedgedRead(pool, 2_000, async (reader) => {
    asked.push(opened.length)
    // The first never comes; nor would the other idle one, as when a network has forgotten them all.
    if (asked.length === 1) await reader.query('select pg_sleep(60)')
    return await backend(reader)
  })
  expect(asked).toEqual([2, 2])
  expect(opened).toHaveLength(3)
  expect(pid).toBe(opened[2]!.processId!)
  expect((await pool.query('select 1 as one')).rows).toEqual([{ one: 1 }])
})

test('a read that is only slow counts when it is the first to come, and one that was refused is not asked again', async () => {
  const { query } = poolOf(4, 30_000)
  await query('select 1')
  let asked = 0
  const first = await hedgedRead(pool, 2_000, async (reader) => {
    const mine = ++asked
    await reader.query(`select pg_sleep(${mine === 1 ? 1.3 : 1.9})`)
    return mine
  })
  expect([first, asked]).toEqual([1, 2])
  const refused = await hedgedRead(pool, 2_000, async (reader) => {
    asked++
    return await reader.query('select 1/0')
  }).catch((error: unknown) => error)
  expect([String(refused), asked]).toEqual(['error: division by zero', 3])
})

test('a connection that is given back in the middle of a transaction is not used again', async () => {
  const { connect } = poolOf(1, 30_000)
  const first = await connect()
  const former = await backend(first)
  await first.query('begin')
  first.release()
  expect(await backend(pool)).not.toBe(former)
})

test('a refused statement costs no connection', async () => {
  const { query } = poolOf(1, 30_000)
  const former = await backend(pool)
  expect(await query('select 1 / 0').catch((error: unknown) => error)).toMatchObject({ code: '22012' })
  expect(await backend(pool)).toBe(former)
})

test('a connection that cannot be opened fails one waiting caller, and the others get theirs', async () => {
  refusals = [new DatabaseUnavailable('no room')]
  const { query } = poolOf(2, 30_000)
  const results = await Promise.allSettled(Array.from({ length: 6 }, () => query('select 1')))
  expect(results.filter(({ status }) => status === 'rejected')).toHaveLength(1)
  expect(pool.totalCount).toBeLessThanOrEqual(2)
})

test('a server that has become read-only is left, by all of the connections, for another one', async () => {
  const { query, connect } = poolOf(2, 30_000)
  const [busy, idle] = [await connect(), await connect()]
  idle.release()
  await busy.query('set default_transaction_read_only = on')
  busy.release(await busy.query('create table never ()').catch((error: unknown) => error))
  expect(opened.map((client) => client.isLost())).toEqual([true, true])
  expect((await query('select 1 as one')).rows).toEqual([{ one: 1 }])
})

test('the end of a pool refuses those who wait, and destroys what does not come back in time', async () => {
  // Open already: the limit is for the end alone, and opening one may take longer.
  ready = [await connectTo()]
  const { connect, query } = poolOf(1, 300)
  await connect()
  const waiting = query('select 1').catch((error: unknown) => error)
  await pool.end()
  expect(await waiting).toBeInstanceOf(DatabaseUnavailable)
  expect(opened[0]!.isLost()).toBe(true)
  expect(await query('select 1').catch((error: unknown) => error)).toBeInstanceOf(DatabaseUnavailable)
})
