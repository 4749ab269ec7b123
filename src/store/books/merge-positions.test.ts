/** Positions of days that are over become one row each: beside debits of two real processes, and a third that is killed. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { expectBalancedBooks } from '../../../test/books.ts'
import { newClient, type Client } from '../../../test/client.ts'
import { lockWaitsSql } from '../../../test/lock-waits.ts'
import { startProcess, type ServiceProcess } from '../../../test/process.ts'
import { newApp, newUsers, openTestService, type Credentials, type TestService } from '../../../test/service.ts'
import { beginDayThatStays } from '../../../test/time.ts'
import { openDatabase, transact } from '../connection/database.ts'
import { locks, tryLock } from '../locks.ts'
import { verifyBooks } from '../verify/verify.ts'
import { mergedWriter, mergePositions } from './merge-positions.ts'

setDefaultTimeout(240_000)

let opened: TestService
let credentials: Credentials
let users: string[]
const daysBack = [40, 3, 2]
/** As long as it takes: a request would have three seconds for thousands of rows. */
const pool = () => opened.service.db.longRunning.pool

/** Three days of the past, each by several writers, and the positions as they are before anything was merged. */
beforeAll(async () => {
  await beginDayThatStays()
  opened = await openTestService({ WRITER_LANES: '4' })
  await pool().query('grant all on transfers, outcomes to current_user')
  for (const table of ['transfers', 'outcomes']) await pool().query(`alter table ${table} disable trigger user`)
  credentials = await newApp(opened.service)
  users = (await newUsers(opened.service, credentials, 12)).map((user) => user.serviceUserId)
  const client = newClient(opened.app.fetch, credentials)
  for (const days of daysBack)
    for (let writers = 0; writers < 3; writers++) {
      await Promise.all(users.flatMap((user) => [client.credit(user, 100), client.debit(user, 7)]))
      await moveBack(days, 1_000 * days + 10 * writers)
    }
})
afterAll(async () => {
  for (const table of ['transfers', 'outcomes']) await pool().query(`alter table ${table} enable trigger user`)
  await opened.close()
})

/** What was entered today was entered that many days ago, and by other writers. */
async function moveBack(days: number, byWriter: number): Promise<void> {
  const isToday = `>= date_trunc('day', now(), 'UTC')`
  for (const table of ['transfers', 'outcomes'])
    await pool().query(
      `update ${table} set created_at = (created_at at time zone 'UTC' - $1 * interval '1 day') at time zone 'UTC' where created_at ${isToday}`,
      [days],
    )
  await pool().query(
    `update positions set day = day - $1::integer, writer = writer + $2::integer where day >= (now() at time zone 'UTC')::date`,
    [days, byWriter],
  )
}

const isOver = `day < (now() at time zone 'UTC')::date - 1`

/** The sums of past days, which never change. */
async function sums(): Promise<unknown> {
  const { rows } = await pool().query(
    `select counter_account, day, sum(debited) as debited, sum(credited) as credited, sum(transfers) as transfers
     from positions where ${isOver} group by 1, 2 order by 1, 2`,
  )
  return rows
}

async function countRows(): Promise<{ merged: number; unmerged: number }> {
  const { rows } = await pool().query(
    `select count(*) filter (where writer = ${mergedWriter})::int as merged, count(*) filter (where writer <> ${mergedWriter})::int as unmerged
     from positions where ${isOver}`,
  )
  return rows[0]
}

/** Debits and credits without a pause, until it is stopped; how many were answered, each with 200. */
function keepPosting(client: Client): () => Promise<number> {
  const stop = new AbortController()
  let done = 0
  const work = users.map(async (user, i) => {
    while (!stop.signal.aborted) {
      // Small amounts, so that no wallet runs out of money.
      const post = i % 2 ? client.debit : client.credit
      const referenceId = crypto.randomUUID()
      // Asked again when the service was too busy, as by any backend: it moves once.
      let status = 503
      while (status === 503) ({ status } = await post(user, 0.01, referenceId))
      expect(status).toBe(200)
      done++
    }
  })
  return async () => {
    stop.abort()
    await Promise.all(work)
    return done
  }
}

test('a process killed right before its commit has changed nothing, no reader saw a partial merge, and no debit waited', async () => {
  const before = await sums()
  const client = newClient(opened.app.fetch, credentials)
  const post = () => Promise.all(users.flatMap((user) => [client.debit(user, 1), client.credit(user, 1)]))
  // Today's rows are there before, for the merging to hold them if it would.
  await post()
  const rows = await countRows()
  expect(rows.merged).toBe(0)
  // Several writers for each of the three days, or there would be nothing to merge.
  expect(rows.unmerged).toBeGreaterThan(2 * daysBack.length)
  const child = Bun.spawn([process.execPath, 'test/merge-process.ts', opened.databaseUrl], { stdout: 'pipe' })
  const { value } = await child.stdout.getReader().read()
  expect(Number(new TextDecoder().decode(value))).toBe(rows.unmerged)
  // Now it holds its rows.
  const loggedBefore = opened.logged.length
  const replies = await post()
  expect(replies.map(({ status }) => status)).toEqual(replies.map(() => 200))
  const { rows: waits } = await pool().query(lockWaitsSql)
  expect(waits).toEqual([])
  const loggedSince = opened.logged.slice(loggedBefore)
  expect(loggedSince.filter((line) => line.includes('a batch of the writer failed'))).toEqual([])
  expect(await mergePositions(opened.service.db)).toBe(0)
  expect(await sums()).toEqual(before)
  child.kill('SIGKILL')
  await child.exited
  // Its server process ends shortly after, and releases the lock.
  while (!(await transact(opened.service.db, (tx) => tryLock(tx, locks.mergePositions)))) await Bun.sleep(10)
  expect(await countRows()).toEqual(rows)
  expect(await sums()).toEqual(before)
})

test('a row that a writer has not committed yet is left alone, and merged later with what it added', async () => {
  const before = await sums()
  const { rows } = await pool().query(`select * from positions where ${isOver} order by writer limit 1`)
  const late = rows[0]
  const other = openDatabase(opened.service.db.connection)
  const writer = await other.pool.connect()
  await writer.query('set idle_in_transaction_session_timeout = 0')
  await writer.query('begin')
  const add = (by: number) =>
    writer.query(
      `update positions set debited = debited + $4 where counter_account = $1 and day = $2 and writer = $3`,
      [late.counter_account, late.day, late.writer, by],
    )
  await add(5)
  const { unmerged } = await countRows()
  const half = Promise.all([mergePositions(opened.service.db), mergePositions(other.longRunning)])
  expect((await half).reduce((sum, merged) => sum + merged)).toBe(unmerged - 1)
  expect(await countRows()).toEqual({ merged: daysBack.length, unmerged: 1 })
  await writer.query('commit')
  await writer.query('begin')
  await add(-5)
  await writer.query('commit')
  writer.release()
  // A writer whose clock shows a day of the past creates a new row, which is merged later.
  await pool().query(`insert into positions values ($1, $2, 77, 11, 4, 0), ($1, $2, 78, 0, 7, 0)`, [
    late.counter_account,
    late.day,
  ])
  expect(await mergePositions(opened.service.db)).toBe(3)
  expect(await countRows()).toEqual({ merged: daysBack.length, unmerged: 0 })
  await pool().query(
    `update positions set debited = debited - 11, credited = credited - 11 where counter_account = $1 and day = $2`,
    [late.counter_account, late.day],
  )
  expect(await sums()).toEqual(before)
  await other.pool.end()
})

test('processes do it by themselves beside their debits; every look at the books finds them exact', async () => {
  // As many rows again, for the processes to find: they belong to no entry, so that together they come to nothing.
  await pool().query(
    `insert into positions select counter_account, day, n, m, m, 0
     from positions, generate_series(1, 1200) n, lateral (select case when n % 2 = 0 then n else -n - 1 end as m) as made
     where ${isOver}`,
  )
  const before = await sums()
  const entered = Number((await pool().query('select count(*) as count from transfers')).rows[0].count)
  const processes: ServiceProcess[] = await Promise.all(
    [1, 2].map(() => startProcess({ DATABASE_URL: opened.databaseUrl })),
  )
  const stops = processes.map((one) => keepPosting(newClient(one.send, credentials, one.url)))
  const faults: string[] = []
  for (let looks = 0; looks < 2 || (await countRows()).unmerged > 0; looks++) {
    expect(await sums()).toEqual(before)
    await verifyBooks(opened.service.db.connection, { onFault: ({ message }) => void faults.push(message) })
  }
  const posted = await Promise.all(stops.map((stop) => stop()))
  await Promise.all(processes.map((one) => one.stop()))
  for (const one of processes) expect(one.output()).not.toMatch(/the books are wrong|"job":"merge-positions"/)
  expect(faults).toEqual([])
  expect(await sums()).toEqual(before)
  expect(await countRows()).toEqual({ merged: daysBack.length, unmerged: 0 })
  const { rows } = await pool().query('select count(*) as count from transfers')
  expect(Number(rows[0].count)).toBe(entered + posted.reduce((sum, each) => sum + each))
  await expectBalancedBooks(opened.service)
  expect((await verifyBooks(opened.service.db.connection)).faults).toBe(0)
})
