/** The sweep: closes what has expired, of all apps in turn, once, and is not stopped by a wallet that cannot be changed. */
import { afterAll, afterEach, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { beginPatiently } from '../../../test/lock-waits.ts'
import { expectBalancedBooks } from '../../../test/books.ts'
import { newClient } from '../../../test/client.ts'
import { holdClient, holdOf, letHoldsAge } from '../../../test/holds.ts'
import { newApp, newUsers, openTestService, type Credentials, type TestService } from '../../../test/service.ts'
import { letPass } from '../../../test/time.ts'
import { expireHolds } from '../../work/expire-holds.ts'
import { runDue } from '../../work/runner.ts'
import { longRunning } from '../../store/connection/database.ts'
import { locks } from '../../store/locks.ts'
import { listFailedWork } from '../../store/work/work-report.ts'
import { sweepHolds } from './sweep-holds.ts'

setDefaultTimeout(180_000)

let opened: TestService
beforeAll(async () => void (opened = await openTestService()))
afterEach(() => expectBalancedBooks(opened.service))
afterAll(() => opened.close())

const query = async (sql: string, values: unknown[] = []) => (await opened.service.db.pool.query(sql, values)).rows
const sweep = () => sweepHolds(longRunning(opened.service))
const countOpen = async ({ clientId }: Credentials) =>
  Number((await query('select count(*) from holds where closed_at is null and client_id = $1', [clientId]))[0].count)

/** Users of a new app, each with that many holds of a minute. */
async function placed(users: number, perUser: number) {
  const app = await newApp(opened.service)
  const client = newClient(opened.app.fetch, app)
  const holders = await newUsers(opened.service, app, users)
  const ids: string[] = []
  for (const { serviceUserId } of holders) {
    await client.credit(serviceUserId, 100)
    const place = () => holdClient(client, app).place(serviceUserId, 1, { expiresIn: 60 })
    ids.push(...(await Promise.all(Array.from({ length: perUser }, place))).map((reply) => holdOf(reply).id))
  }
  return { app, client, walletIds: holders.map(({ userId }) => userId), ids }
}

const failing = async () =>
  (await listFailedWork(opened.service.db.pool, 10)).map(({ kind, key, failures }) => ({ kind, key, failures }))

test('it closes every hold that has expired, and no other', async () => {
  const { app, walletIds } = await placed(3, 2)
  await sweep()
  expect(await countOpen(app)).toBe(6)
  await letHoldsAge(opened, 61)
  await placed(1, 1)
  await sweep()
  expect(await countOpen(app)).toBe(0)
  expect(await query('select distinct held, open_holds from wallets where id = any($1)', [walletIds])).toEqual([
    { held: 0n, open_holds: 0 },
  ])
  expect(await query('select 1 from holds where closed_at is null')).toHaveLength(1)
  expect(await query(`select 1 from work where kind = 'expire-holds'`)).toEqual([])
})

test('an app with many of them does not keep the others waiting', async () => {
  const many = await placed(12, 100)
  const few = await placed(1, 1)
  await letHoldsAge(opened, 61)
  await sweep()
  expect([await countOpen(many.app), await countOpen(few.app)]).toEqual([0, 0])
  const lastSql = `select max(s.at) as at from hold_steps s join holds h on h.wallet_id = s.wallet_id and h.id = s.hold_id where h.client_id = $1`
  const [[ofMany], [ofFew]] = [await query(lastSql, [many.app.clientId]), await query(lastSql, [few.app.clientId])]
  expect(ofFew.at.getTime()).toBeLessThan(ofMany.at.getTime())
})

test('a wallet that cannot be changed gets a piece of work, which closes its holds when it can be', async () => {
  const broken = await placed(1, 2)
  const others = await placed(3, 1)
  const [walletId] = broken.walletIds
  await query('update wallets set held = 150 where id = $1', [walletId])
  await letHoldsAge(opened, 61)
  await sweep()
  expect([await countOpen(broken.app), await countOpen(others.app)]).toEqual([2, 0])
  expect(await failing()).toEqual([{ kind: 'expire-holds', key: walletId!, failures: 1 }])
  // It is left out from now on, and the queue retries it.
  await sweep()
  expect(await failing()).toEqual([{ kind: 'expire-holds', key: walletId!, failures: 1 }])
  const retry = async () => {
    await letPass(opened.service.db.pool, 60_000, ['work'])
    await runDue(opened.service, expireHolds)
  }
  await retry()
  expect(await failing()).toEqual([{ kind: 'expire-holds', key: walletId!, failures: 2 }])
  await query('update wallets set held = 200 where id = $1', [walletId])
  await retry()
  expect(await countOpen(broken.app)).toBe(0)
  expect(await failing()).toEqual([])
})

test('a wallet that another transaction has locked is left to the queue, and the others are closed', async () => {
  const locked = await placed(1, 1)
  const others = await placed(2, 1)
  await letHoldsAge(opened, 61)
  const stranger = await opened.service.db.pool.connect()
  await beginPatiently(stranger)
  await stranger.query('select 1 from wallets where id = $1 for update', [locked.walletIds[0]])
  await sweep()
  await stranger.query('rollback')
  stranger.release()
  expect([await countOpen(locked.app), await countOpen(others.app)]).toEqual([1, 0])
  expect(await failing()).toEqual([{ kind: 'expire-holds', key: locked.walletIds[0]!, failures: 1 }])
  await letPass(opened.service.db.pool, 60_000, ['work'])
  await runDue(opened.service, expireHolds)
  expect([await countOpen(locked.app), await failing()]).toEqual([0, []])
})

test('one process at a time closes them', async () => {
  const { app } = await placed(1, 1)
  await letHoldsAge(opened, 61)
  const other = await opened.service.db.pool.connect()
  await beginPatiently(other)
  await other.query('select pg_advisory_xact_lock($1)', [locks.sweepHolds])
  await sweep()
  expect(await countOpen(app)).toBe(1)
  await other.query('rollback')
  other.release()
  await Promise.all([sweep(), sweep()])
  expect(await countOpen(app)).toBe(0)
})
