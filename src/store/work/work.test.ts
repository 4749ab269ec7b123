import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { beginPatiently } from '../../../test/lock-waits.ts'
import { testDatabase, type TestDatabase } from '../../../test/postgres.ts'
import { letPass } from '../../../test/time.ts'
import { openDatabase, transact, type Database } from '../connection/database.ts'
import { getWorkLevels, listFailedWork, listFailingWork, restartWork } from './work-report.ts'
import {
  addWork,
  claimWork,
  dropWork,
  finishWork,
  getAttempts,
  giveUpWork,
  rescheduleWork,
  retryWork,
  type Piece,
} from './work.ts'

let database: TestDatabase
let db: Database

beforeAll(async () => {
  database = await testDatabase()
  db = openDatabase(database.connection)
})
afterAll(async () => {
  await db.pool.end()
  await database.drop()
})
beforeEach(async () => void (await db.pool.query('delete from work')))

const kind = 'resolve-topup'
const leaseMs = 60_000
const add = (key = 'one', afterMs = 0) => addWork(db.pool, { kind, key, afterMs })
const claim = (limit = 10, isAtMostOnce = false) => claimWork(db.pool, { kind, limit, leaseMs, isAtMostOnce })
const claimOne = async (isAtMostOnce = false) => {
  const [piece, ...others] = await claim(1, isAtMostOnce)
  expect(others).toEqual([])
  return piece!
}
const keys = (pieces: readonly Piece[]) => pieces.map(({ key }) => key)
const pass = (ms: number) => letPass(db.pool, ms, ['work'])
const rows = async () => (await db.pool.query('select * from work')).rows as Record<string, unknown>[]

describe('adding', () => {
  test('is part of the transaction of its cause', async () => {
    await transact(db, async (tx) => {
      await addWork(tx, { kind, key: 'rolled back' })
      throw new Error('on purpose')
    }).catch(() => {})
    expect(await claim()).toEqual([])
  })

  test('again pulls the due time earlier and never later', async () => {
    await add('one', 60_000)
    await add('one', 10_000)
    await add('one', 90_000)
    await pass(9_000)
    expect(await claim()).toEqual([])
    await pass(2_000)
    expect(keys(await claim())).toEqual(['one'])
  })

  test('while the piece runs makes it run once more, and no second run begins beside the first', async () => {
    await add()
    const first = await claimOne()
    await addWork(db.pool, { kind, key: 'one', payload: { newer: true } })
    expect(await claim()).toEqual([])
    await finishWork(db.pool, [first])
    const second = await claimOne()
    expect(second.payload).toEqual({ newer: true })
    await finishWork(db.pool, [second])
    expect(await rows()).toEqual([])
  })

  test('while a run fails is not put off by its back-off', async () => {
    await add()
    const piece = await claimOne()
    await add()
    await retryWork(db.pool, [{ piece, afterMs: 3_600_000, error: 'on purpose' }])
    expect(keys(await claim())).toEqual(['one'])
  })
})

describe('claiming', () => {
  test('takes what is due, the longest first, and leaves the rest', async () => {
    await add('later', 1_000)
    for (const key of ['first', 'second', 'third']) await add(key)
    await addWork(db.pool, { kind: 'send-mail', key: 'of another kind' })
    expect(keys(await claim(2)).sort()).toEqual(['first', 'second'])
    expect(keys(await claim(5))).toEqual(['third'])
  })

  test('of twenty claims at once no two get the same piece', async () => {
    for (let i = 0; i < 50; i++) await add(`piece ${i}`)
    const claimed = await Promise.all(Array.from({ length: 20 }, () => claim(3)))
    const all = claimed.flatMap(keys)
    expect(new Set(all).size).toBe(all.length)
    expect(all.length).toBe(50)
  })

  test('does not wait for a row that another transaction holds', async () => {
    for (const key of ['held', 'free']) await add(key)
    const holder = await db.pool.connect()
    await beginPatiently(holder)
    await holder.query(`select from work where key = 'held' for update`)
    expect(keys(await claim())).toEqual(['free'])
    await holder.query('rollback')
    holder.release()
    expect(keys(await claim())).toEqual(['held'])
  })

  test('a lease that has run out gives the piece to the next, and the first can end it no more', async () => {
    await add()
    const lost = await claimOne()
    await pass(leaseMs - 1_000)
    expect(await claim()).toEqual([])
    await pass(2_000)
    const next = await claimOne()
    expect(next.attempts).toBe(2)
    await finishWork(db.pool, [lost])
    await retryWork(db.pool, [{ piece: lost, afterMs: 0, error: 'late' }])
    await giveUpWork(db.pool, lost, 'late')
    expect(await rows()).toMatchObject([{ lease: next.lease, failures: 0, given_up_at: null }])
    await finishWork(db.pool, [next])
    expect(await rows()).toEqual([])
  })

  test('for good is never repeated, however long ago its process died; a person may ask for it again', async () => {
    await add()
    await claimOne(true)
    await pass(48 * 3_600_000)
    expect(await claim(1, true)).toEqual([])
    expect(await listFailingWork(db.pool, 10)).toMatchObject([{ key: 'one', lastError: null, dueAt: null }])
    await add()
    expect(await claimOne(true)).toMatchObject({ key: 'one', attempts: 1 })
  })
})

describe('ending', () => {
  test('a retry waits, counts and keeps its reason, until a run succeeds', async () => {
    await add()
    await retryWork(db.pool, [{ piece: await claimOne(), afterMs: 10_000, error: 'first' }])
    expect(await claim()).toEqual([])
    await pass(11_000)
    await retryWork(db.pool, [{ piece: await claimOne(), afterMs: 0, error: 'second' }])
    expect(await listFailedWork(db.pool, 10)).toMatchObject([
      { key: 'one', failures: 2, attempts: 2, lastError: 'second' },
    ])
    await retryWork(db.pool, [{ piece: await claimOne(), afterMs: 0, error: 'third' }])
    expect(await listFailingWork(db.pool, 10)).toMatchObject([{ failures: 3, lastError: 'third' }])
    await retryWork(db.pool, [{ piece: await claimOne(), afterMs: 0 }])
    expect(await listFailedWork(db.pool, 10)).toEqual([])
  })

  test('an attempt that does not count leaves the back-off as it was', async () => {
    await add()
    await retryWork(db.pool, [{ piece: await claimOne(), afterMs: 0, error: 'away', isCounted: false }])
    expect(await getAttempts(db.pool, kind, 'one')).toBe(0)
  })

  test('what is given up waits for a person', async () => {
    await add()
    await giveUpWork(db.pool, await claimOne(), 'too old')
    await pass(48 * 3_600_000)
    expect(await claim()).toEqual([])
    const restart = () => transact(db, (tx) => restartWork(tx, kind, 'one'))
    expect(await restart()).toBeTrue()
    expect(keys(await claim())).toEqual(['one'])
    expect(await restart()).toBeFalse()
  })

  test('rescheduling from within a run keeps the piece, due exactly then', async () => {
    await add()
    const piece = await claimOne()
    const dueAt = new Date(Date.now() + 3_600_000)
    await transact(db, async (tx) => rescheduleWork(tx, { kind, key: 'one', dueAt, isReset: false }))
    await finishWork(db.pool, [piece])
    expect(await rows()).toMatchObject([{ due_at: dueAt, attempts: 1, lease: null }])
  })

  test('dropping from within a run ends with the run', async () => {
    await add()
    const piece = await claimOne()
    await add()
    await transact(db, async (tx) => dropWork(tx, kind, 'one'))
    expect(await claim()).toEqual([])
    await finishWork(db.pool, [piece])
    expect(await rows()).toEqual([])
  })
})

test('the levels say what waits, runs, is late and fails', async () => {
  for (const key of ['runs', 'waits', 'fails']) await add(key)
  const pieces = await claim()
  await finishWork(db.pool, [])
  await retryWork(db.pool, [{ piece: pieces.find(({ key }) => key === 'waits')!, afterMs: -120_000 }])
  await giveUpWork(
    db.pool,
    pieces.find(({ key }) => key === 'fails')!,
    'on purpose',
  )
  const levels = await getWorkLevels(db.pool)
  expect(levels[kind]).toMatchObject({ waiting: 1, running: 1, failing: 1 })
  expect(levels[kind].lateSeconds).toBeWithin(120, 180)
  expect(levels['send-mail']).toEqual({ waiting: 0, running: 0, lateSeconds: 0, oldestSeconds: 0, failing: 0 })
})
