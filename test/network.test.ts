/** The wire between the service and its database, in every way it can fail, and everybody who is on it. */
import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { Client as Postgres } from 'pg'
import { startJobs } from '../src/actions/jobs.ts'
import { kindsOf } from '../src/work/kinds.ts'
import { startWork } from '../src/work/runner.ts'
import { isUnavailable, sqlState, transact } from '../src/store/connection/database.ts'
import { DatabaseUnavailable } from '../src/store/connection/database-unavailable.ts'
import { expectBalancedBooks } from './books.ts'
import { newClient, type Client, type Reply } from './client.ts'
import { eventually, expectWithin } from './eventually.ts'
import { openForwarder } from './forwarder.ts'
import { newApp, newUser, openTestService, type TestService } from './service.ts'

let opened: TestService
let wire: Awaited<ReturnType<typeof openForwarder>>
let client: Client
let users: string[]

beforeEach(async () => {
  opened = await openTestService(
    {},
    {
      limits: 'own',
      through: async (connection) => {
        wire = await openForwarder(connection)
        return wire.connection
      },
    },
  )
  const app = await newApp(opened.service)
  client = newClient(opened.app.fetch, app)
  users = []
  for (let i = 0; i < 4; i++) users.push((await newUser(opened.service, app)).serviceUserId)
  // As a client does: after a 503 it sends the request again.
  for (const user of users) await eventually(async () => (await client.credit(user, 1_000, user)).status, 200)
})
afterEach(async () => {
  wire.mend()
  await opened.close()
  wire.close()
}, 180_000)

const readyz = () => opened.app.fetch(new Request('http://billfold.test/readyz'))

type Timed = { readonly what: string; readonly status: number; readonly ms: number; readonly headers: Headers }

/** 401 is the answer to an unknown caller. */
const isNotFine = ({ status }: Timed) => status !== 200 && status !== 401

async function timed(what: string, asked: Promise<Reply | Response>): Promise<Timed> {
  const startedAt = performance.now()
  const { status, headers } = await asked
  return { what, status, headers, ms: performance.now() - startedAt }
}

/** What a service is asked at once: reads, writes, a new session, and the question whether it can work. */
function askEverything(): Promise<Timed>[] {
  const [one, two, three, four] = users as [string, string, string, string]
  return [
    timed('wallet', client.wallet(one)),
    timed('check-balance', client.checkBalance(two, '1')),
    timed('debit', client.debit(three, 1)),
    timed('credit', client.credit(four, 1)),
    timed('unknown user', client.wallet('su_00000000000000000000000000000000')),
    timed('readyz', readyz()),
  ]
}

/** Nothing passes for three seconds, in which much is asked; and again five seconds later. */
async function standSilence() {
  // Every connection of the pool is open and idle, so that all of them are forgotten.
  await Promise.all(Array.from({ length: 10 }, () => opened.service.db.pool.query('select pg_sleep(0.1)')))
  wire.goSilent()
  const asked: Promise<Timed>[] = []
  for (const until = performance.now() + 3_000; performance.now() < until; await Bun.sleep(250))
    asked.push(...askEverything())
  wire.mend()
  await Bun.sleep(5_000)
  const after = await Promise.all(Array.from({ length: 10 }, askEverything).flat())
  const during = await Promise.all(asked)
  return { during, tooLate: during.filter(({ ms }) => ms > 8_000), notOver: after.filter(isNotFine) }
}

/** Every connection is open: those of the pools, of the directory, of the fast lane and of the careful lane. */
async function openEverything(): Promise<void> {
  await Promise.all(Array.from({ length: 10 }, () => opened.service.db.pool.query('select pg_sleep(0.1)')))
  await Promise.all(Array.from({ length: 3 }, () => opened.service.db.longRunning.pool.query('select pg_sleep(0.1)')))
  // Of two debits in one batch of which one is refused, the careful lane decides.
  const user = users[3]!
  const replies = await Promise.all([client.debit(user, 600), client.debit(user, 600)])
  expect(replies.map(({ status }) => status).sort((a, b) => a - b)).toEqual([200, 400])
  expect((await client.credit(user, 600)).status).toBe(200)
}

const refusedAfterHeal = async () =>
  (await Promise.all(Array.from({ length: 10 }, askEverything).flat()))
    .filter(isNotFine)
    .filter(({ what }) => what !== 'readyz')
    .map(({ what, status }) => `${what} ${status}`)

/** Opens plain connections over the wire, one after the other and without the service. Returns how long the slowest took. */
function watchMachine(): () => Promise<number> {
  const state = { isOver: false, slowestMs: 0 }
  const watching = (async () => {
    while (!state.isOver) {
      const startedAt = performance.now()
      const plain = new Postgres(wire.connection)
      await plain.connect()
      await plain.query('select 1')
      await plain.end()
      state.slowestMs = Math.max(state.slowestMs, performance.now() - startedAt)
      await Bun.sleep(20)
    }
  })()
  return async () => {
    state.isOver = true
    await watching
    return state.slowestMs
  }
}

/**
 * What is refused after the fault. A read has two seconds for its answer: a refusal on a machine that needs a quarter of them for a plain
 * connection says nothing about the service, and the fault is made again.
 */
async function refusedAfter(fault: () => Promise<unknown>, ask: () => Promise<string[]>): Promise<string[]> {
  for (let tries = 1; ; tries++) {
    await fault()
    wire.mend()
    const watched = watchMachine()
    const refused = await ask()
    const slowestMs = await watched()
    if (refused.length === 0 || slowestMs < 500 || tries === 10) return refused
  }
}

async function standSilently(): Promise<void> {
  await openEverything()
  wire.goSilent()
  await Bun.sleep(3_000)
}

describe('a network that drops connections without closing them', () => {
  test('for three seconds costs no caller more than eight, and is over within five', async () => {
    const stopJobs = startJobs(opened.service)
    const stopWork = startWork(opened.service, kindsOf(opened.service))
    let stood = await standSilence()
    // A machine that pauses in the middle makes any of them late. What is always late is so each time.
    for (let tries = 1; tries < 4 && stood.tooLate.length + stood.notOver.length > 0; tries++)
      stood = await standSilence()
    const { during } = stood
    expect([stood.tooLate, stood.notOver]).toEqual([[], []])
    const away = during.filter(({ status, what }) => status === 503 && what !== 'readyz')
    expect(away.length).toBeGreaterThan(0)
    expect(away.filter(({ headers }) => !(Number(headers.get('retry-after')) > 0))).toEqual([])
    expect(during.filter(({ status }) => ![200, 401, 503].includes(status))).toEqual([])
    // Callers get 503 while nothing passes; the first may get what was true a second ago.
    expect(during.filter(({ what, status }) => what === 'readyz' && status === 503).length).toBeGreaterThan(0)
    await stopJobs()
    await stopWork()
    await expectBalancedBooks(opened.service)
  }, 180_000)

  test('for three seconds in which nothing is asked refuses no caller after it is healed', async () => {
    expect(await refusedAfter(standSilently, refusedAfterHeal)).toEqual([])
    await expectBalancedBooks(opened.service)
  }, 180_000)

  test('for three seconds in which much is asked refuses no caller after it is healed', async () => {
    const during: Promise<Timed>[] = []
    const silence = async () => {
      await openEverything()
      wire.goSilent()
      for (const until = performance.now() + 3_000; performance.now() < until; await Bun.sleep(250))
        during.push(...askEverything())
    }
    expect(await refusedAfter(silence, refusedAfterHeal)).toEqual([])
    await Promise.all(during)
    await expectBalancedBooks(opened.service)
  }, 180_000)

  test('ends the long statements whose connections are dead, and not one that the server executes', async () => {
    await openEverything()
    const { pool } = opened.service.db.longRunning
    const ended: string[] = []
    const run = async (name: string, sql: string) => {
      await pool.query(sql).catch((error: unknown) => expect(error).toBeInstanceOf(DatabaseUnavailable))
      ended.push(name)
    }
    const dead = [run('dead', 'select pg_sleep(0.5)'), run('dead', 'select pg_sleep(0.5)')]
    await Bun.sleep(100)
    wire.goSilent()
    await Bun.sleep(1_000)
    wire.mend()
    pool.dropIdle()
    const live = run('executed', 'select pg_sleep(15)')
    await Bun.sleep(700)
    expect(await refusedAfterHeal()).toEqual([])
    await Promise.all([...dead, live])
    expect(ended).toEqual(['dead', 'dead', 'executed'])
  }, 180_000)

  test('says at /readyz within three seconds that it cannot work', async () => {
    await expectWithin(3_000, async () => {
      wire.mend()
      await eventually(async () => (await readyz()).status, 200)
      await Bun.sleep(1_100)
      wire.goSilent()
      const startedAt = performance.now()
      const answers = await Promise.all(Array.from({ length: 20 }, readyz))
      const tookMs = performance.now() - startedAt
      expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 503))
      return tookMs
    })
  }, 180_000)

  test('once turns no reader away: what was asked is asked again on another connection', async () => {
    for (let round = 0; round < 3; round++) {
      await Promise.all(Array.from({ length: 10 }, () => opened.service.db.pool.query('select pg_sleep(0.1)')))
      // The apps' directory is read again as well.
      await Bun.sleep(600)
      wire.silence()
      const replies = await Promise.all(Array.from({ length: 40 }, (_, i) => client.checkBalance(users[i % 4]!, '1')))
      expect(replies.map(({ status }) => status)).toEqual(replies.map(() => 200))
    }
  }, 180_000)

  test('does not keep a transaction waiting, and its connection is not used again', async () => {
    const { db } = opened.service
    const pidSql = 'select pg_backend_pid() as pid'
    let silent: number | undefined
    const failed = await transact(db, async (tx) => {
      silent = (await tx.query<{ pid: number }>(pidSql)).rows[0]!.pid
      wire.silence()
      await tx.query('select 1')
    }).catch((error: unknown) => error)
    expect(failed).toBeInstanceOf(DatabaseUnavailable)
    const next = [1, 2, 3].map(() => db.pool.query<{ pid: number }>(pidSql))
    const pids = (await Promise.all(next)).map(({ rows }) => rows[0]!.pid)
    expect(pids).not.toContain(silent)
  }, 180_000)
})

describe('a pool', () => {
  test('whose connections are all in use turns the next one away in time, and serves the one after', async () => {
    const { pool } = opened.service.db
    const held = await Promise.all(Array.from({ length: 7 }, () => pool.connect()))
    await expectWithin(8_000, async () => {
      const startedAt = performance.now()
      const failed = await pool.query('select 1').catch((error: unknown) => error)
      expect(failed).toBeInstanceOf(DatabaseUnavailable)
      return performance.now() - startedAt
    })
    for (const one of held) one.release()
    expect((await pool.query('select 1 as one')).rows).toEqual([{ one: 1 }])
    expect(pool.totalCount).toBe(7)
  }, 180_000)

  test('gives a statement to the server with a limit that ends before its own, so that none is left behind', async () => {
    const { db } = opened.service
    const stopped = async () => sqlState(await db.pool.query('select pg_sleep(20)').catch((error: unknown) => error))
    // The server has half a second to answer; one that pauses for that long is asked again.
    await eventually(stopped, '57014')
    await eventually(async () => {
      const { rows } = await db.pool.query(`select 1 from pg_stat_activity where query like '%pg_sleep(20)%'
        and state = 'active' and pid <> pg_backend_pid() and datname = current_database()`)
      return rows
    }, [])
    // Work that may take long has longer.
    expect((await db.longRunning.pool.query('select pg_sleep(4) is null as done')).rows).toEqual([{ done: false }])
  }, 180_000)

  test('forgets a statement that was refused, and keeps its connection', async () => {
    const { pool } = opened.service.db
    const connected = async () => {
      const sql = `select pid from pg_stat_activity where datname = current_database() and backend_type = 'client backend'`
      return (await pool.query<{ pid: number }>(sql)).rows.map(({ pid }) => pid)
    }
    const before = await connected()
    const failed = await pool.query('select 1/0').catch((error: unknown) => error)
    expect([sqlState(failed), isUnavailable(failed)]).toEqual(['22012', false])
    // The service itself may have opened another one meanwhile.
    expect(await connected()).toEqual(expect.arrayContaining(before))
  })

  test('never hands out a connection that was given back in the middle of a transaction', async () => {
    const { pool } = opened.service.db
    const one = await pool.connect()
    await one.query('begin')
    one.release()
    const { rows } = await pool.query<{ now: Date; same: boolean }>('select now() = statement_timestamp() as same')
    expect(rows[0]!.same).toBeTrue()
    // Its server process ends when it notices that the connection is closed.
    const left = `select 1 from pg_stat_activity where state = 'idle in transaction' and datname = current_database()`
    await eventually(async () => (await pool.query(left)).rows, [])
  })
})

describe('an open transaction', () => {
  test('that is idle is ended by the server, and the row it held is free', async () => {
    const { db } = opened.service
    const holder = await db.pool.connect()
    const { rows } = await holder.query<{ idle: string }>(
      `select current_setting('idle_in_transaction_session_timeout') as idle`,
    )
    expect(rows[0]!.idle).toBe('10s')
    await holder.query(`set idle_in_transaction_session_timeout = '300ms'`)
    // In one message: the server would end the transaction between two that this process sends slowly.
    await holder.query('begin; update apps_version set version = version')
    await Bun.sleep(1_000)
    expect((await db.pool.query('update apps_version set version = version')).rowCount).toBe(1)
    const late = await holder.query('select 1').catch((error: unknown) => error)
    expect(isUnavailable(late)).toBeTrue()
    holder.release(late)
  })
})

async function reset(): Promise<void> {
  wire.cut()
  const during = await Promise.all(askEverything())
  expect(during.map(({ status }) => status)).toEqual(during.map(() => 503))
}

const notFine = async () => (await Promise.all(askEverything())).filter(isNotFine).map(({ what }) => what)

describe('connections that are reset', () => {
  test('and refused are 503 for all, and all is well as soon as they are accepted again', async () => {
    expect(await refusedAfter(reset, notFine)).toEqual([])
  }, 180_000)

  test('after the commit, before its answer, leave a transaction that is known to be unknown', async () => {
    const { db } = opened.service
    wire.cutCommits()
    const failed = await transact(db, (tx) => tx.query('update apps_version set version = version + 1')).catch(
      (error: unknown) => error,
    )
    expect(failed).toBeInstanceOf(DatabaseUnavailable)
    wire.mend()
  }, 180_000)
})

test('a slow wire is slow, and nothing else', async () => {
  wire.slowDown(60)
  const replies = await Promise.all(askEverything())
  expect(replies.filter(isNotFine)).toEqual([])
}, 180_000)

describe('what counts as the database being away', () => {
  test.each([
    ['a request whose sender hung up', new Error('The connection was closed')],
    ['a socket of somebody else', Object.assign(new Error('socket hang up'), { code: 'ECONNRESET' })],
    ['a processor that took too long', new Error('timeout')],
    ['a sentence about a connection', new Error('connection terminated')],
  ])('%s does not', (_, error) => {
    expect(isUnavailable(error)).toBeFalse()
  })

  test('a refused, a reset and a silent connection do', async () => {
    const { pool } = opened.service.db
    const faultOf = () => pool.query('select 1').catch((error: unknown) => error)
    wire.cut()
    expect(isUnavailable(await faultOf())).toBeTrue()
    wire.mend()
    await pool.query('select 1')
    const cut = pool.query('select pg_sleep(5)').catch((error: unknown) => error)
    await Bun.sleep(200)
    wire.cut()
    expect(isUnavailable(await cut)).toBeTrue()
    wire.mend()
    await pool.query('select 1')
    wire.goSilent()
    expect(isUnavailable(await faultOf())).toBeTrue()
  }, 180_000)
})

describe('a job', () => {
  test('that hangs is given up and runs again, stops no other, and is not waited for at the end', async () => {
    const ran = { hanging: 0, other: 0 }
    const stop = startJobs(
      opened.service,
      [
        { name: 'hanging', everyMs: 20, run: () => (ran.hanging++, new Promise(() => {})) },
        { name: 'other', everyMs: 20, run: async () => void ran.other++ },
      ],
      200,
    )
    const isGivenUp = () => opened.logged.some((line) => /a job failed.*"job":"hanging"/.test(line))
    await eventually(() => [ran.hanging > 1, ran.other > 5, isGivenUp()], [true, true, true])
    await stop()
  }, 180_000)
})
