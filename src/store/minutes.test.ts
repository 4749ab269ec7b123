/** Minutes that are long over become one row for each quarter of an hour, and every step of the overview stays what it was. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { openTestService, type TestService } from '../../test/service.ts'
import { openDatabase } from './connection/database.ts'
import { listMinutes, mergeMinutes, upsertMinute } from './minutes.ts'

let opened: TestService
const minuteMs = 60_000
/** Fixed, so that the test reads the same minutes however long it takes. */
const startedAt = Date.now()
const pool = () => opened.service.db.pool

/** Ten hours of three processes, of which one was there for a part only, and counted in fewer buckets. */
beforeAll(async () => {
  opened = await openTestService()
  await pool().query(
    `insert into minutes (minute, process, requests, faults, debits, credits, refusals, took, widgets)
     select date_trunc('minute', now()) - n * interval '1 minute', ('00000000-0000-4000-8000-00000000000' || process)::uuid,
       n % 17 * process, n % 3, n % 11, n % 7, n % 5,
       case process when 3 then array[n % 4, n % 9] else array[n % 4, n % 9, 1, 0, 0, 0, 0, 0, 0, 0, 0, n % 2] end,
       (n * process) % 13
     from generate_series(0, 599) n, generate_series(1, 3) process where process < 3 or n % 40 < 20`,
  )
})
afterAll(() => opened.close())

/** What the overview reads, whole steps of each size. */
async function shown(): Promise<unknown> {
  const from = Math.ceil((startedAt - 9 * 60 * minuteMs) / (30 * minuteMs)) * 30 * minuteMs
  return [
    await listMinutes(pool(), new Date(from), 30),
    await listMinutes(pool(), new Date(from), 15),
    await listMinutes(pool(), new Date(startedAt - 60 * minuteMs)),
  ]
}

/** The quarters of an hour, of those long enough over, that have more than a row. */
async function countUnmerged(): Promise<number> {
  const { rows } = await pool().query<{ count: number }>(
    `select count(*)::int as count from (select from minutes where minute < now() - interval '3 hours'
     group by date_bin('15 minutes', minute, 'epoch') having count(*) > 1) q`,
  )
  return rows[0]!.count
}

test('merged by several processes at once, minutes add up to the same in every step, and what comes late is added', async () => {
  const before = await shown()
  expect(await countUnmerged()).toBeGreaterThan(20)
  const other = openDatabase(opened.service.db.connection)
  const merged = await Promise.all([mergeMinutes(opened.service.db), mergeMinutes(other)])
  await other.pool.end()
  expect(merged[0] + merged[1]).toBeGreaterThan(20)
  expect(await countUnmerged()).toBe(0)
  expect(await shown()).toEqual(before)

  const quarter = Math.floor((startedAt - 6 * 60 * minuteMs) / (15 * minuteMs)) * 15 * minuteMs
  const [had] = await listMinutes(pool(), new Date(quarter), 15)
  const late = { requests: 5, faults: 1, debits: 2, credits: 3, refusals: 4, took: [1, 2], widgets: 1_000 }
  await upsertMinute(pool(), new Date(quarter + 7 * minuteMs), crypto.randomUUID(), late)
  await mergeMinutes(opened.service.db)
  expect(await countUnmerged()).toBe(0)
  expect((await listMinutes(pool(), new Date(quarter), 15))[0]).toEqual({
    minute: new Date(quarter),
    processes: had!.processes,
    requests: had!.requests + 5,
    faults: had!.faults + 1,
    debits: had!.debits + 2,
    credits: had!.credits + 3,
    refusals: had!.refusals + 4,
    took: had!.took.map((count, i) => count + (late.took[i] ?? 0)),
    widgets: 1_000,
  })
})
