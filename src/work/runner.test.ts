import { afterAll, beforeAll, beforeEach, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { eventually } from '../../test/eventually.ts'
import { openTestService, type TestService } from '../../test/service.ts'
import { letPass } from '../../test/time.ts'
import { addWork, type Piece } from '../store/work/work.ts'
import { done, single, usual, type Kind } from './kind.ts'
import { runDue, startWork } from './runner.ts'

setDefaultTimeout(30_000)

let opened: TestService
const pool = () => opened.service.db.pool

beforeAll(async () => void (opened = await openTestService()))
afterAll(() => opened.close())
beforeEach(async () => void (await pool().query('delete from work')))

const kindOf = (run: (piece: Piece) => Promise<void>, changes: Partial<Kind> = {}): Kind => ({
  ...usual,
  ...single(async (_, piece) => {
    await run(piece)
    return done
  }),
  name: 'resolve-topup',
  concurrency: 4,
  pollMs: 20,
  retryAfterMs: () => 0,
  ...changes,
})
const add = async (count: number, kind: Kind['name'] = 'resolve-topup') => {
  for (let i = 0; i < count; i++) await addWork(pool(), { kind, key: `piece ${i}` })
}
const left = async () => (await pool().query('select key, attempts, failures, last_error from work order by key')).rows

test('two runners run every piece once, and never one piece at once', async () => {
  await add(60)
  const ran: string[] = []
  const running = new Set<string>()
  const kind = kindOf(async ({ key }) => {
    expect(running.has(key)).toBeFalse()
    running.add(key)
    ran.push(key)
    await Bun.sleep(5)
    running.delete(key)
  })
  await Promise.all([runDue(opened.service, kind), runDue(opened.service, kind)])
  expect(ran.length).toBe(60)
  expect(new Set(ran).size).toBe(60)
  expect(await left()).toEqual([])
})

test('no more run at once than the kind allows', async () => {
  await add(20)
  let running = 0
  let most = 0
  const kind = kindOf(async () => {
    most = Math.max(most, ++running)
    // The first ones end once four run: on a slow machine a piece would end before the next one is claimed.
    await eventually(() => most >= 4, true)
    await Bun.sleep(10)
    running--
  })
  await runDue(opened.service, kind)
  expect([most, await left()]).toEqual([4, []])
})

test('a piece that hangs delays neither the others of its kind nor another kind, nor the end', async () => {
  await add(10)
  await add(10, 'send-mail')
  const ran = { topups: 0, mails: 0 }
  // Longer than this test: nothing but its own limit ends the stop.
  const withinMs = 3_600_000
  const slow = kindOf(
    async ({ key }) => {
      if (key === 'piece 0') await new Promise(() => {})
      ran.topups++
    },
    { withinMs },
  )
  const stuck = kindOf(() => new Promise(() => {}), { name: 'reconcile-day', withinMs })
  const other = kindOf(async () => void ran.mails++, { name: 'send-mail' })
  await add(3, 'reconcile-day')
  const stop = startWork(opened.service, [slow, stuck, other])
  await eventually(() => [ran.topups, ran.mails], [9, 10])
  await stop()
})

test('one statement asks for all kinds with the same interval, and only a kind with due work is claimed', async () => {
  const ran: string[] = []
  const kinds = (['resolve-topup', 'send-mail', 'reconcile-day'] as const).map((name) =>
    kindOf(async () => void ran.push(name), { name }),
  )
  await addWork(pool(), { kind: 'send-mail', key: 'later', afterMs: 3_600_000 })
  const { service, asked } = recordAsked()
  const stop = startWork(service, kinds)
  await add(1, 'reconcile-day')
  await eventually(() => ran, ['reconcile-day'])
  await stop()
  const valuesOf = (part: string) => asked.filter(({ text }) => text.includes(part)).map(({ values }) => values[0])
  expect(new Set(valuesOf('as k(kind)').map(String))).toEqual(new Set(['resolve-topup,send-mail,reconcile-day']))
  expect(new Set(valuesOf('set lease = gen_random_uuid()'))).toEqual(new Set(['reconcile-day']))
})

/** The service, and the statements that it sends outside of transactions. */
function recordAsked() {
  const { db } = opened.service
  const { longRunning } = db
  const ask = longRunning.pool.query as (...sent: unknown[]) => unknown
  const asked: { readonly text: string; readonly values: readonly unknown[] }[] = []
  const query = ((...sent: [string | { text: string; values: unknown[] }, unknown[]?]) => {
    const [first, values = []] = sent
    asked.push(typeof first === 'string' ? { text: first, values } : first)
    return ask(...sent)
  }) as typeof longRunning.pool.query
  const recorded = { ...longRunning, pool: { ...longRunning.pool, query } }
  return { service: { ...opened.service, db: { ...db, longRunning: recorded } }, asked }
}

test('work that is added while a lane is busy starts at once when it is woken', async () => {
  const release = Promise.withResolvers<void>()
  const ran: string[] = []
  const kind = kindOf(async ({ key }) => {
    ran.push(key)
    if (key === 'piece 0') await release.promise
  })
  const stop = startWork(opened.service, [kind], { isPolling: false })
  await add(1)
  opened.service.wakeUps.wake('resolve-topup')
  await eventually(() => ran, ['piece 0'])
  await addWork(pool(), { kind: 'resolve-topup', key: 'next' })
  opened.service.wakeUps.wake('resolve-topup')
  await eventually(() => ran, ['piece 0', 'next'])
  release.resolve()
  await stop()
})

describe('a run that fails', () => {
  test('is tried again after its back-off, with the reason kept; and the others go on', async () => {
    await add(3)
    const kind = kindOf(
      async ({ key }) => {
        if (key === 'piece 1') throw new RangeError('secret of a user')
      },
      { retryAfterMs: (attempts) => attempts * 60_000 },
    )
    await runDue(opened.service, kind)
    expect(await left()).toEqual([
      { key: 'piece 1', attempts: 1, failures: 1, last_error: expect.stringContaining('RangeError') },
    ])
    expect(JSON.stringify(await left())).not.toContain('secret of a user')
    await letPass(pool(), 61_000, ['work'])
    await runDue(opened.service, kind)
    expect(await left()).toMatchObject([{ attempts: 2, failures: 2 }])
  })

  test('of at most once is not tried again, and waits for a person', async () => {
    await add(1)
    let ran = 0
    const kind = kindOf(
      () => {
        ran++
        return Promise.reject(new Error('on purpose'))
      },
      { isAtMostOnce: true },
    )
    await runDue(opened.service, kind)
    await letPass(pool(), 86_400_000, ['work'])
    await runDue(opened.service, kind)
    expect(ran).toBe(1)
    expect(await left()).toMatchObject([{ failures: 1 }])
  })

  test('because what it needs is away stops the kind until it is polled or woken again', async () => {
    await add(40)
    let ran = 0
    const kind = kindOf(async () => {}, {
      run: async () => [{ kind: 'again', afterMs: 60_000, error: `${ran++} away`, isAway: true }],
    })
    await runDue(opened.service, kind)
    expect(ran).toBeLessThanOrEqual(4)
  })

  test('because it took too long counts as failed', async () => {
    await add(1)
    await runDue(
      opened.service,
      kindOf(() => new Promise(() => {}), { withinMs: 50, retryAfterMs: () => 60_000 }),
    )
    expect(await left()).toMatchObject([{ failures: 1, last_error: expect.stringContaining('TimedOut') }])
  })
})
