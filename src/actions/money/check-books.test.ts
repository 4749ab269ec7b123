import { afterEach, beforeEach, expect, test } from 'bun:test'
import { getBooksState } from '../../store/verify/books-check.ts'
import { newApp, newUser, openTestService, type TestService } from '../../../test/service.ts'
import { checkBooks, problemsOf } from './check-books.ts'
import { postForApp } from './post.ts'

let rig: TestService
let skippedMs: number
let walletIds: string[]

beforeEach(async () => {
  skippedMs = 0
  rig = await openTestService({}, () => new Date(Date.now() + skippedMs))
  const credentials = await newApp(rig.service)
  const app = (await rig.service.apps.find(credentials.clientId))!
  walletIds = []
  for (let i = 0; i < 5; i++) {
    const { serviceUserId, userId } = await newUser(rig.service, credentials)
    walletIds.push(userId)
    for (const direction of ['credit', 'debit'] as const)
      await postForApp(rig.service, app, {
        direction,
        serviceUserId,
        amountMinor: direction === 'credit' ? 500n : 120n,
        referenceType: 'T',
        referenceId: `${direction}-${i}`,
        description: null,
      })
  }
})
afterEach(() => rig.close())

const state = () => getBooksState(rig.service.db.pool)
const metric = async () =>
  (await rig.service.metrics.registry.getSingleMetricAsString('billfold_books_problems')).match(
    /^billfold\S+ (\d+)$/m,
  )?.[1]

/** Time enough for whatever comes next. */
async function wholeRound(): Promise<void> {
  const before = (await state()).lastRoundAt?.getTime() ?? 0
  do {
    skippedMs += 120_000
    await checkBooks(rig.service)
  } while (((await state()).lastRoundAt?.getTime() ?? 0) <= before)
}

test('a whole round over right books is green, and says what it went through', async () => {
  await wholeRound()
  const { lastWallets, lastTransfers, lastProblems, walletsMinor, positionsMinor } = await state()
  expect({ lastWallets, lastTransfers, lastProblems }).toEqual({ lastWallets: 5, lastTransfers: 10, lastProblems: [] })
  expect(walletsMinor).toBe(1900n)
  expect(walletsMinor! + positionsMinor!).toBe(0n)
  expect(await metric()).toBe('0')
})

test('a balance that was changed by hand turns the check red, raises the metric and writes a line', async () => {
  await rig.service.db.pool.query('update wallets set balance = balance + 1 where id = $1', [walletIds[2]])
  await wholeRound()
  const problems = problemsOf(await state())
  expect(problems.map(({ check }) => check).sort()).toEqual(['books-unbalanced', 'wallet-balance', 'wallet-last-entry'])
  expect(problems.find(({ check }) => check === 'wallet-balance')!.walletId).toBe(walletIds[2]!)
  expect(await metric()).toBe('3')
  const lines = rig.logged.filter((line) => line.includes('the books are wrong'))
  expect(lines).toHaveLength(3)
  await wholeRound()
  expect(rig.logged.filter((line) => line.includes('the books are wrong'))).toHaveLength(3)
  await rig.service.db.pool.query('update wallets set balance = balance - 1 where id = $1', [walletIds[2]])
  await wholeRound()
  expect(problemsOf(await state())).toEqual([])
  expect(await metric()).toBe('0')
  expect(rig.logged.some((line) => line.includes('the books are right again'))).toBe(true)
})

test('many processes at once do one slice, and before its time none', async () => {
  skippedMs += 120_000
  await Promise.all(Array.from({ length: 6 }, () => checkBooks(rig.service)))
  const first = await state()
  expect(first.lastWallets).toBe(5)
  await checkBooks(rig.service)
  expect((await state()).lastRoundAt).toEqual(first.lastRoundAt)
})
