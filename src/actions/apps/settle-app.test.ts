import { afterAll, beforeAll, beforeEach, expect, setDefaultTimeout, test } from 'bun:test'
import { newClient } from '../../../test/client.ts'
import { complaintOf } from '../../../test/embedded-process.ts'
import { newApp, newUser, openTestService, type Credentials, type TestService } from '../../../test/service.ts'
import { openLog } from '../../platform/log.ts'
import { openMetrics } from '../../platform/metrics.ts'
import { listSettlements } from '../../store/books/settlements.ts'
import { openDatabase } from '../../store/connection/database.ts'
import type { Actor } from '../audit.ts'
import { askCorrection } from '../money/correct-wallet.ts'
import { closeService, openService, type Service } from '../service.ts'
import { newId } from '../tokens.ts'
import { readOwed, reverseSettlement, settleApp, type Settled } from './settle-app.ts'

setDefaultTimeout(180_000)

let opened: TestService
/** Another process, from the database's point of view. */
let other: Service
let shop: Credentials

const ada: Actor = { name: 'operator:ada', address: null, role: 'finance' }
const bob: Actor = { name: 'operator:bob', address: null, role: 'finance' }

beforeAll(async () => {
  opened = await openTestService()
  const { config, db } = opened.service
  const parts = { config, db: openDatabase(db.connection), log: openLog('silent', () => {}), metrics: openMetrics() }
  other = openService({ ...parts, now: () => new Date() })
})
beforeEach(async () => {
  shop = await newApp(opened.service)
})
afterAll(async () => {
  await closeService(other)
  await other.db.pool.end()
  await opened.close()
})

/** Writes the app's debits and credits of the day into two writers' rows. */
async function moved(day: string, debited: number, credited = 0): Promise<void> {
  await opened.service.db.pool.query(`insert into positions values ($1, $2, 1, $3, 0, 1), ($1, $2, 2, 0, $4, 1)`, [
    `app:${shop.clientId}`,
    day,
    debited,
    credited,
  ])
}

const owed = async (through?: string) => (await readOwed(opened.service.db.pool, shop.clientId, through)).owedMinor
const settle = (throughDay: string, changes: object = {}, service = opened.service, actor = ada) =>
  settleApp(service, actor, { id: newId(), clientId: shop.clientId, throughDay, reference: 'SEPA 1', ...changes })
const problemOf = async (settled: Promise<Settled>) => {
  const result = await settled
  return 'problem' in result ? result.problem : `paid ${result.amountMinor}`
}

const takeBack = (reverses: string, service = opened.service) =>
  reverseSettlement(service, bob, { id: newId(), clientId: shop.clientId, reverses, reason: 'came back' })

test('what is owed is the position less what was paid out, and periods follow each other', async () => {
  await moved('2026-01-10', 1_000, 300)
  await moved('2026-01-20', 500)
  expect([await owed('2026-01-15'), await owed()]).toEqual([700n, 1_200n])
  expect(await settle('2026-01-15')).toMatchObject({ number: 1, fromDay: null, amountMinor: 700n, madeBy: ada.name })
  expect([await owed('2026-01-15'), await owed()]).toEqual([0n, 500n])
  expect(await settle('2026-01-31')).toMatchObject({ number: 2, fromDay: '2026-01-16', amountMinor: 500n })
  expect(await owed()).toBe(0n)
  await moved('2026-02-02', 0, 80)
  expect(await settle('2026-02-03')).toMatchObject({ number: 3, fromDay: '2026-02-01', amountMinor: -80n })
})

test('a day that is not over, one that is paid out, and a period of nothing are refused', async () => {
  // Today, even just before midnight.
  const today = new Date(Date.now() + 60_000).toISOString().slice(0, 10)
  expect(await problemOf(settle('2026-01-31'))).toBe('nothing')
  await moved('2026-01-10', 1_000)
  expect(await problemOf(settle(today))).toBe('not-closed')
  expect(await problemOf(settle('2026-01-31', { amountMinor: 999n }))).toBe('changed')
  expect(await problemOf(settle('2026-01-31', { amountMinor: 1_000n }))).toBe('paid 1000')
  for (const day of ['2026-01-31', '2026-01-30']) expect(await problemOf(settle(day))).toBe('settled')
  expect(await problemOf(settle('2026-01-31', { clientId: 'app_none' }))).toBe('unknown-app')
})

test('of many who settle one period at once in two processes one does, and a form that is sent twice is one', async () => {
  await moved('2026-01-10', 1_000)
  const id = newId()
  const tries = Array.from({ length: 12 }, (_, i) =>
    settle('2026-01-31', i < 4 ? { id } : {}, i % 2 ? other : opened.service, i % 3 ? ada : bob),
  )
  const results = await Promise.all(tries)
  const made = new Set(results.flatMap((each) => ('problem' in each ? [] : [each.id])))
  expect(made.size).toBe(1)
  const all = await listSettlements(opened.service.db.pool, shop.clientId, { limit: 10 })
  expect(await settle('2026-01-31', { id: all[0]!.id })).toEqual(all[0]!)
  expect(all.map(({ number, amountMinor }) => [number, amountMinor])).toEqual([[1, 1_000n]])
  const { rows } = await opened.service.db.pool.query(`select actor from audit where subject = $1 and action = $2`, [
    `app:${shop.clientId}`,
    'settlement.made',
  ])
  expect(rows).toEqual([{ actor: all[0]!.madeBy }])
})

test('a form that was sent before is refused with other content, and for another app', async () => {
  await moved('2026-01-10', 1_000)
  const id = newId()
  expect(await problemOf(settle('2026-01-31', { id, amountMinor: 1_000n }))).toBe('paid 1000')
  expect(await problemOf(settle('2026-01-31', { id }))).toBe('paid 1000')
  const another = await newApp(opened.service)
  for (const changes of [{ reference: 'SEPA 2' }, { amountMinor: 999n }, { clientId: another.clientId }])
    expect(await problemOf(settle('2026-01-31', { id, ...changes }))).toBe('reused')
  expect(await problemOf(settle('2026-01-30', { id }))).toBe('reused')
})

test('a mark is taken back by an entry of its own, the newest alone, once, and the amount is owed again', async () => {
  await moved('2026-01-10', 1_000)
  await moved('2026-01-20', 200)
  const first = (await settle('2026-01-15')) as { id: string }
  const second = (await settle('2026-01-31')) as { id: string }
  expect(await takeBack(first.id)).toEqual({ problem: 'none' })
  const tries = await Promise.all([takeBack(second.id), takeBack(second.id, other), takeBack(second.id)])
  expect(tries.filter((each) => !('problem' in each))).toMatchObject([{ amountMinor: -200n, reverses: second.id }])
  expect(await owed()).toBe(200n)
  expect(await settle('2026-02-10')).toMatchObject({ number: 4, fromDay: '2026-01-16', amountMinor: 200n })
})

test('the database keeps what was marked', async () => {
  await moved('2026-01-10', 1_000)
  const { id } = (await settle('2026-01-15')) as { id: string }
  for (const sql of ['update settlements set amount = 1 where id = $1', 'delete from settlements where id = $1'])
    expect(await complaintOf(opened.service.db.pool.query(sql, [id]))).toContain('append-only')
})

test('a debit of today, and a correction on the app’s account, are owed now and not yet to be paid out', async () => {
  const user = await newUser(opened.service, shop)
  const client = newClient(opened.app.fetch, shop)
  await client.credit(user.serviceUserId, 10)
  await client.debit(user.serviceUserId, 3)
  const order = { id: newId(), walletId: user.userId, amountMinor: -2_00n, reason: 'x', corrects: null }
  await askCorrection(opened.service, ada, { ...order, counterAccount: `app:${shop.clientId}` })
  const found = await readOwed(opened.service.db.pool, shop.clientId)
  expect([found.owedMinor, found.owedNowMinor]).toEqual([0n, -5_00n])
})
