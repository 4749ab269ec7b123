/** With a synchronous standby, what was acknowledged is there after a failover, even if the wait for the standby was cancelled. */
import { afterEach, beforeEach, expect, test } from 'bun:test'
import { startJobs } from '../src/actions/jobs.ts'
import { buildApp } from '../src/app.ts'
import { kindsOf } from '../src/work/kinds.ts'
import { startWork } from '../src/work/runner.ts'
import { closeService, openService, type Service } from '../src/actions/service.ts'
import { parseConfig } from '../src/config.ts'
import { openLog } from '../src/platform/log.ts'
import { openMetrics } from '../src/platform/metrics.ts'
import { openDatabase } from '../src/store/connection/database.ts'
import { expectBalancedBooks } from './books.ts'
import { newClient } from './client.ts'
import { eventually } from './eventually.ts'
import { newApp, newUsers } from './service.ts'
import { onServer, startPair, type Pair } from './standby.ts'
import { wantsAll } from './wants-all.ts'

let pair: Pair
let service: Service

beforeEach(async () => {
  pair = await startPair()
  const config = parseConfig({ DEMO: '0', LOG_LEVEL: 'silent' })
  const log = openLog(config.logLevel, () => {})
  service = openService({ config, db: openDatabase(pair.primary), log, metrics: openMetrics(), now: () => new Date() })
}, 180_000)

afterEach(async () => {
  await pair.close()
  await closeService(service)
  await service.db.pool.end()
}, 180_000)

/** A stream of debits, half of them sent a second time, and the references that were answered with 200. */
async function startLoad() {
  const app = buildApp(service)
  const credentials = await newApp(service)
  const client = newClient(app.fetch, credentials)
  const users = await newUsers(service, credentials, 20)
  await Promise.all(users.map((user) => client.credit(user.serviceUserId, 1_000)))
  const acknowledged = new Set<string>()
  const asked: string[] = []
  const refused: { readonly status: number; readonly retryAfter: number }[] = []
  const state = { isOn: true }
  const ask = async (reference: string) => {
    const user = users[Number(reference.split('-')[1]) % users.length]!
    const { status, headers } = await client.debit(user.serviceUserId, 0.01, reference)
    if (status === 200) acknowledged.add(reference)
    else {
      refused.push({ status, retryAfter: Number(headers.get('retry-after')) })
      await Bun.sleep(20)
    }
  }
  const worker = async (_: unknown, number: number) => {
    while (state.isOn) {
      const reference = `debit-${asked.length}`
      asked.push(reference)
      await ask(reference)
      // A repeat is answered from what was read: it must not report what a failover would lose.
      if (number % 2) await ask(asked[Math.floor(Math.random() * asked.length)]!)
    }
  }
  const workers = Array.from({ length: 24 }, worker)
  const stop = async () => {
    state.isOn = false
    await Promise.all(workers)
  }
  const until = async (count: number) => {
    while (acknowledged.size < count) await Bun.sleep(10)
  }
  return { acknowledged, refused, asked, ask, until, stop }
}

/** What is done to every backend that waits for the standby, until there has been enough of it. */
const interfere = async (act: 'pg_cancel_backend' | 'pg_terminate_backend', times: number) =>
  await onServer(pair.asAdmin, async (admin) => {
    const sql = `select ${act}(pid) from pg_stat_activity where wait_event = 'SyncRep' and pid <> pg_backend_pid()`
    for (let done = 0; done < times; await Bun.sleep(20)) done += (await admin.query(sql)).rowCount ?? 0
  })

const missingAfterFailover = async (acknowledged: ReadonlySet<string>) => {
  await pair.failOver()
  return await onServer(pair.standby, async (client) => {
    const { rows } = await client.query<{ reference_id: string }>(`select reference_id from transfers`)
    const there = new Set(rows.map((row) => row.reference_id))
    return [...acknowledged].filter((reference) => !there.has(reference))
  })
}

/** References that the primary alone has: their commits were not waited for to the end. */
const unconfirmed = async (acknowledged: ReadonlySet<string>) =>
  await onServer(pair.asAdmin, async (admin) => {
    const { rows } = await admin.query<{ reference_id: string }>('select reference_id from transfers where amount < 0')
    return rows.map((row) => row.reference_id).filter((reference) => !acknowledged.has(reference))
  })

test('after a failover, waits cancelled and backends terminated before it, nothing acknowledged is missing', async () => {
  const load = await startLoad()
  await load.until(200)
  pair.separate()
  await interfere('pg_cancel_backend', 8)
  await interfere('pg_terminate_backend', 8)
  await load.stop()
  const doubtful = await unconfirmed(load.acknowledged)
  expect(doubtful.length).toBeGreaterThan(0)
  // They are on the primary, and a repeat reads them there; that must not count as an answer either.
  await Promise.all(doubtful.map(load.ask))
  expect(await missingAfterFailover(load.acknowledged)).toEqual([])
}, 240_000)

test('after a primary was lost under load, nothing is missing that was acknowledged', async () => {
  const load = await startLoad()
  await load.until(200)
  expect(await missingAfterFailover(load.acknowledged)).toEqual([])
  await load.stop()
}, 180_000)

/** Server processes that wait for the standby, asked by a role that sees them all. */
const waiting = async () =>
  await onServer(pair.asAdmin, async (admin) => {
    const sql = `select 1 from pg_stat_activity where wait_event = 'SyncRep' and application_name like 'billfold%'`
    return (await admin.query(sql)).rowCount ?? 0
  })

test('while no standby confirms, debits are refused without leaving a commit waiting, and go on when it is back', async () => {
  const load = await startLoad()
  const stops = [startJobs(service), startWork(service, kindsOf(service))]
  await load.until(200)
  pair.separate()
  const { fetch } = buildApp(service)
  const readiness = async () => await (await fetch(new Request('http://localhost/readyz'))).json()
  await eventually(readiness, { status: 'unavailable', database: 'no standby', draining: false })
  // What was under way when the standby was lost: at most one commit for each connection.
  await Bun.sleep(8_000)
  const left = await waiting()
  const before = load.refused.length
  // Jobs and requests go on trying to write.
  while (load.refused.length < before + (wantsAll ? 2_000 : 400)) await Bun.sleep(50)
  expect(await waiting()).toBeLessThanOrEqual(left)
  expect(left).toBeLessThanOrEqual(8)
  expect(load.refused.filter(({ status, retryAfter }) => status !== 503 || !(retryAfter > 0))).toEqual([])
  expect(await readiness()).toEqual({ status: 'unavailable', database: 'no standby', draining: false })
  await load.stop()
  pair.reunite()
  while ((await waiting()) > 0) await Bun.sleep(5)
  // The standby has confirmed what waited. A caller from now on is answered after a question that began after it.
  const asked = Array.from({ length: 24 }, (_, i) => `debit-${1_000_000 + i}`)
  await Promise.all(asked.map(load.ask))
  expect(asked.filter((reference) => !load.acknowledged.has(reference))).toEqual([])
  await eventually(readiness, { status: 'ok', database: 'ok', draining: false })
  await Promise.all(stops.map((stop) => stop()))
  await expectBalancedBooks(service)
  expect(await missingAfterFailover(load.acknowledged)).toEqual([])
}, 300_000)
