/** Kills the service, the database, or both, and breaks connections, while money moves. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openDatabase } from '../src/store/connection/database.ts'
import { prepareDatabase } from '../src/store/prepare.ts'
import { expectBalancedBooks } from './books.ts'
import { newClient, type Reply } from './client.ts'
import { postmasterPid } from './embedded-process.ts'
import { copyNewDatabase } from './new-database.ts'
import { startProcess, type ServiceProcess } from './process.ts'
import { newApp, newUser, newUsers, openTestService, type TestService } from './service.ts'

setDefaultTimeout(180_000)

/** A continuous stream of debits that records every reference and its answer. */
function startLoad(
  send: () => ServiceProcess,
  credentials: { clientId: string; clientSecret: string },
  users: string[],
) {
  const answers = new Map<string, Reply | undefined>()
  const userOf = (reference: string) => users[Number(reference.split('-')[1]) % users.length]!
  const state = { isOn: true }
  let count = 0
  const ask = async (reference: string) => {
    const { url, send: fetch } = send()
    return await newClient(fetch, credentials, url).debit(userOf(reference), 1, reference)
  }
  const worker = async () => {
    while (state.isOn) {
      const reference = `load-${++count}`
      answers.set(reference, undefined)
      const reply = await ask(reference).catch(() => undefined)
      if (reply && reply.status !== 503) answers.set(reference, reply)
      else await Bun.sleep(100)
    }
  }
  const workers = Array.from({ length: 32 }, worker)
  const answered = () => [...answers.values()].filter((reply) => reply !== undefined).length
  return {
    answers,
    ask,
    /** Waits until this many more are answered: the load is then in full progress. */
    more: async (count: number) => {
      const goal = answered() + count
      while (answered() < goal) await Bun.sleep(20)
    },
    stop: async () => {
      state.isOn = false
      await Promise.all(workers)
    },
  }
}

/** Sends every unanswered request again with its reference; then each must count once. */
async function expectExactlyOnce(load: ReturnType<typeof startLoad>, service: TestService['service']): Promise<void> {
  const unanswered = [...load.answers].filter(([, reply]) => reply === undefined).map(([reference]) => reference)
  const sendAgain = async () => {
    for (let reference = unanswered.pop(); reference !== undefined; reference = unanswered.pop()) {
      let reply = await load.ask(reference)
      while (reply.status === 503) reply = await load.ask(reference)
      load.answers.set(reference, reply)
    }
  }
  await Promise.all(Array.from({ length: 32 }, sendAgain))
  const replies = [...load.answers.values()]
  expect(replies.every((reply) => reply?.status === 200)).toBeTrue()
  const { rows } = await service.db.pool.query<{ reference_id: string }>(
    `select reference_id from transfers where reference_id like 'load-%'`,
  )
  expect(rows.map((row) => row.reference_id).sort()).toEqual([...load.answers.keys()].sort())
  await expectBalancedBooks(service)
}

describe('a service under load', () => {
  let opened: TestService
  beforeAll(async () => {
    opened = await openTestService()
  })
  afterAll(() => opened.close())

  test('a service killed under load and restarted has lost nothing and posted nothing twice', async () => {
    const credentials = await newApp(opened.service)
    const users = await newUsers(opened.service, credentials, 5)
    const environment = { DATABASE_URL: opened.databaseUrl }
    let process = await startProcess(environment)
    const client = newClient(process.send, credentials, process.url)
    for (const user of users) await client.credit(user.serviceUserId, 1_000_000)
    const load = startLoad(
      () => process,
      credentials,
      users.map((user) => user.serviceUserId),
    )
    for (let round = 0; round < 3; round++) {
      await load.more(100)
      await process.kill()
      process = await startProcess(environment)
    }
    await load.more(100)
    await load.stop()
    await expectExactlyOnce(load, opened.service)
    await process.stop()
  })

  test('a service that receives SIGTERM under load answers everything in flight, and accepts nothing new', async () => {
    const credentials = await newApp(opened.service)
    const { serviceUserId: su } = await newUser(opened.service, credentials)
    const process = await startProcess({ DATABASE_URL: opened.databaseUrl })
    const client = newClient(process.send, credentials, process.url)
    await client.credit(su, 1000)
    const debits = Array.from({ length: 300 }, () => client.debit(su, 1))
    // The first is answered, so the others are in flight.
    await Promise.race(debits)
    const stopped = process.stop()
    const replies = await Promise.allSettled(debits)
    expect(await stopped).toBe(0)
    const answered = replies.filter((reply) => reply.status === 'fulfilled' && reply.value.status === 200).length
    const { rows } = await opened.service.db.pool.query(
      `select count(*)::int as n from transfers t join links l on l.user_id = t.wallet_id where l.id = $1 and t.amount < 0`,
      [su],
    )
    expect(rows[0].n).toBe(answered)
    expect(answered).toBeGreaterThan(0)
  })
})

describe('broken connections', () => {
  test('connections that break in the middle of batches cost no answer and no money', async () => {
    const opened = await openTestService()
    const credentials = await newApp(opened.service)
    const { serviceUserId: su } = await newUser(opened.service, credentials)
    const client = newClient(opened.app.fetch, credentials)
    await client.credit(su, 100_000)
    let cut = 0
    const replies: Reply[] = []
    for (let round = 0; round < 60; round++) {
      const debits = Array.from({ length: 25 }, () => client.debit(su, 1))
      // Somewhere between the first statement and the last answer. Only once, so that a slow machine has time to reconnect.
      await Bun.sleep(Math.random() * 10)
      const { rowCount } = await opened.service.db.pool.query(
        `select pg_terminate_backend(pid) from pg_stat_activity
         where datname = current_database() and application_name = 'billfold writer'`,
      )
      cut += rowCount ?? 0
      replies.push(...(await Promise.all(debits)))
    }
    expect(cut).toBeGreaterThan(20)
    expect(replies.map((reply) => reply.status).filter((status) => status !== 200)).toEqual([])
    expect(await client.balance(su)).toBe(100_000 - replies.length)
    await expectBalancedBooks(opened.service)
    await opened.close()
  })

  test('a lock that is not released in time is 503 with Retry-After, and the same request later counts once', async () => {
    const opened = await openTestService()
    const credentials = await newApp(opened.service)
    const { serviceUserId: su, userId } = await newUser(opened.service, credentials)
    const client = newClient(opened.app.fetch, credentials)
    await client.credit(su, 10)
    const blocker = await opened.service.db.pool.connect()
    await blocker.query('begin')
    // The server would end it after ten seconds, and the eight seconds here can take that long on a busy machine.
    await blocker.query('set local idle_in_transaction_session_timeout = 0')
    await blocker.query('select 1 from wallets where id = $1 for update', [userId])
    const reply = await client.debit(su, 1, 'held')
    expect([reply.status, reply.body['code']]).toEqual([503, 'UNAVAILABLE'])
    expect(Number(reply.headers.get('retry-after'))).toBeGreaterThan(0)
    await blocker.query('rollback')
    blocker.release()
    expect((await client.debit(su, 1, 'held')).status).toBe(200)
    expect(await client.balance(su)).toBe(9)
    await expectBalancedBooks(opened.service)
    await opened.close()
  })
})

describe('the embedded database', () => {
  test('the embedded database, killed under load with the service and without it, loses nothing', async () => {
    const dataDir = await mkdtemp(join(tmpdir(), 'billfold faults '))
    await copyNewDatabase(dataDir)
    const environment = { DATA_DIR: dataDir }
    let process = await startProcess(environment)
    const prepared = await prepareDatabase({ databaseUrls: [], dataDir }, () => {})
    const db = openDatabase(prepared.connection)
    const opened = await openTestService()
    const service = { ...opened.service, db, apps: opened.service.apps }
    const credentials = await newApp(service)
    const users = await newUsers(service, credentials, 5)
    const client = newClient(process.send, credentials, process.url)
    for (const user of users) expect((await client.credit(user.serviceUserId, 1_000_000)).status).toBe(200)
    const load = startLoad(
      () => process,
      credentials,
      users.map((user) => user.serviceUserId),
    )
    await load.more(50)
    const gone = await killPostmaster(dataDir)
    // The next server runs, and answers come again.
    while ([gone, null].includes(await postmasterPid(dataDir))) await Bun.sleep(20)
    await load.more(50)
    await killPostmaster(dataDir)
    await process.kill()
    process = await startProcess(environment)
    await load.more(50)
    await load.stop()
    await expectExactlyOnce(load, service)
    expect(await process.stop()).toBe(0)
    await db.pool.end()
    await prepared.release()
    await opened.close()
    await rm(dataDir, { recursive: true })
  })
})

async function killPostmaster(dataDir: string): Promise<number> {
  const pid = (await postmasterPid(dataDir))!
  process.kill(pid, 'SIGKILL')
  return pid
}
