import { afterAll, beforeAll, beforeEach, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { findCluster } from '../../../test/postgres.ts'
import { newApp, newUser, openTestService, type TestService } from '../../../test/service.ts'
import { openMetrics } from '../../platform/metrics.ts'
import { openDatabase, longRunning } from '../../store/connection/database.ts'
import { getBooksState, type BooksState } from '../../store/verify/books-check.ts'
import type { Service } from '../service.ts'
import { checkBooks, healthOf } from './check-books.ts'
import { postForApp } from './post.ts'

setDefaultTimeout(240_000)

let rig: TestService
let credentials: { clientId: string; clientSecret: string }
let users: { userId: string; serviceUserId: string }[]
let references = 0
let client: Awaited<ReturnType<Service['db']['pool']['connect']>> | undefined

beforeAll(async () => {
  rig = await openTestService()
  // An attacker with the database's password could do this.
  for (const table of ['transfers', 'outcomes']) {
    await query(`grant all on ${table} to current_user`)
    await query(`alter table ${table} disable trigger user`)
  }
  credentials = await newApp(rig.service)
  users = []
  for (let i = 0; i < 5; i++) users.push(await newUser(rig.service, credentials))
  for (const { serviceUserId } of users) {
    await post(serviceUserId, 'credit', 500n)
    await post(serviceUserId, 'debit', 120n)
  }
  // The books are two days old, so that positions of closed days can be compared.
  for (const table of ['transfers', 'outcomes'])
    await query(
      `update ${table} set created_at = (created_at at time zone 'UTC' - interval '2 days') at time zone 'UTC'`,
    )
  await query(`update positions set day = day - 2`)
  for (const table of tables) await query(`create table good_${table} as table ${table}`)
})
afterAll(async () => {
  client?.release()
  await rig.close()
})

const tables = ['wallets', 'transfers', 'outcomes', 'positions', 'verified_wallets', 'books_check']

/** Each test begins with correct books, and a check that has not begun. */
beforeEach(async () => {
  for (const table of tables.toReversed()) await query(`delete from ${table}`)
  for (const table of tables) await query(`insert into ${table} select * from good_${table}`)
  rig.logged.length = 0
})

/** Uses one connection, so that its changes are counted at once: a late count would hurry the check of another test. */
async function query(sql: string, values: unknown[] = []) {
  client ??= await rig.service.db.longRunning.pool.connect()
  const result = await client.query(sql, values)
  await client.query('select pg_stat_force_next_flush()')
  return result
}
const state = () => getBooksState(rig.service.db.pool)

async function post(serviceUserId: string, direction: 'credit' | 'debit', amountMinor: bigint, service = rig.service) {
  const app = (await service.apps.find(credentials.clientId))!
  const reference = { referenceType: 'T', referenceId: `R-${references++}`, description: null }
  await postForApp(service, app, { direction, serviceUserId, amountMinor, ...reference })
}

/** With the job's limit of half a minute per statement. */
const onLongRunning = () => longRunning(rig.service)

type Part = 'next_sums_at' | 'next_pass_at' | 'next_slice_at'

/** Runs the job once, with only these parts of the check due. */
async function check(parts: Part[], service: Service = onLongRunning()): Promise<void> {
  const columns = (['next_sums_at', 'next_pass_at', 'next_slice_at'] as const).map(
    (part) => `${part} = ${parts.includes(part) ? `'2000-01-01'` : `'2100-01-01'`}`,
  )
  await query(`update books_check set ${columns.join(', ')}, next_log_at = 'infinity'`)
  await checkBooks(service)
}

/** The service of the job, which calls `before` with the number of each transaction before it begins. */
function countTransactions(before: (number: number) => Promise<unknown> = () => Promise.resolve()) {
  const { db } = onLongRunning()
  let begun = 0
  const connect = async () => {
    await before(++begun)
    return await db.pool.connect()
  }
  const service = { ...rig.service, db: { ...db, pool: { ...db.pool, query: db.pool.query, connect } } }
  return { service, begun: () => begun }
}

/** Runs the job to the end of the pass and of the round. */
async function wholePass(parts: Part[] = ['next_sums_at', 'next_pass_at']): Promise<void> {
  do await check(parts)
  while ((await state()).pass !== null)
}
const passAlone = () => wholePass(['next_pass_at'])
async function wholeRound(): Promise<void> {
  do await check(['next_slice_at'])
  while ((await state()).cursor !== null)
}

const found = async () =>
  (await state()).problems.map(({ check: name, walletId, sequence }) => [name, walletId, sequence].join(' ')).sort()
const metric = async (name: string) =>
  (await rig.service.metrics.registry.getSingleMetricAsString(name)).match(/^billfold\S+ (\S+)$/m)?.[1]
const lines = (text: string) => rig.logged.filter((line) => line.includes(text))

test('right books are green, and the state says what was gone through', async () => {
  expect(healthOf(await state())).toBe('first')
  await wholePass()
  await wholeRound()
  const { lastWallets, lastTransfers, lastPassWallets, lastPassEntries, walletsMinor, positionsMinor } = await state()
  expect({ lastWallets, lastTransfers }).toEqual({ lastWallets: 5, lastTransfers: 10 })
  expect({ lastPassWallets, lastPassEntries }).toEqual({ lastPassWallets: 5, lastPassEntries: 10 })
  expect([walletsMinor, positionsMinor]).toEqual([1900n, -1900n])
  expect(healthOf(await state())).toBe('right')
  expect(await metric('billfold_books_problems')).toBe('0')
  for (const age of ['sums', 'checked', 'round']) {
    const seconds = Number(await metric(`billfold_books_${age}_age_seconds`))
    expect(seconds).toBeGreaterThanOrEqual(0)
    expect(seconds).toBeLessThan(60)
  }
})

// The nodes of a cluster count such changes where the check does not read them.
test.skipIf((await findCluster()) !== undefined)(
  'an entry that is changed long after it was checked starts a round at once, which finds it',
  async () => {
    await wholePass()
    await wholeRound()
    await query(`update transfers set description = 'Another' where wallet_id = $1 and sequence = 1`, [
      users[2]!.userId,
    ])
    await check(['next_sums_at'])
    expect(await state()).toMatchObject({ problems: [], isHurried: false })
    expect(lines('all of it is checked again')).toHaveLength(1)
    const { lastRoundAt } = await state()
    // A wrong balance in an old entry: the sums and the newest entry stay right.
    await query(`update transfers set balance_after = 7 where wallet_id = $1 and sequence = 1`, [users[2]!.userId])
    await check(['next_sums_at'])
    expect(await found()).toContain(`entry-running-balance ${users[2]!.userId} 1`)
    expect((await state()).lastRoundAt!.getTime()).toBeGreaterThan(lastRoundAt!.getTime())
    // Nothing else was changed: the next round is not hurried.
    await check(['next_sums_at'])
    expect(await state()).toMatchObject({ isHurried: false, cursor: null })
    expect(lines('all of it is checked again')).toHaveLength(2)
  },
)

test('a pass looks at what came since the last one, and at nothing else', async () => {
  await wholePass()
  await wholePass()
  expect((await state()).lastPassEntries).toBe(0)
  await post(users[1]!.serviceUserId, 'debit', 10n)
  await post(users[1]!.serviceUserId, 'debit', 10n)
  await post(users[3]!.serviceUserId, 'credit', 10n)
  const before = (await state()).now
  await wholePass()
  const { lastPassWallets, lastPassEntries, checkedUpTo } = await state()
  expect({ lastPassWallets, lastPassEntries }).toEqual({ lastPassWallets: 2, lastPassEntries: 3 })
  expect(checkedUpTo!.getTime()).toBeGreaterThanOrEqual(before.getTime())
})

test('a balance that was changed by hand is found by the next pass, reported in money, and cleared when it is repaired', async () => {
  await wholePass()
  const { userId } = users[2]!
  await query('update wallets set balance = balance + 1 where id = $1', [userId])
  await wholePass()
  expect(await found()).toEqual(
    [`books-unbalanced  `, `wallet-balance ${userId} `, `wallet-last-entry ${userId} `].sort(),
  )
  const { problems } = await state()
  expect(problems.find((problem) => problem.check === 'wallet-balance')!.message).toBe(
    `Wallet ${userId}: its balance is $3.81, but its entries add up to $3.80.`,
  )
  expect(problems.find((problem) => problem.check === 'books-unbalanced')!.message).toContain('together $0.01')
  expect(healthOf(await state())).toBe('wrong')
  expect(await metric('billfold_books_problems')).toBe('3')
  expect(lines('the books are wrong')).toHaveLength(3)

  await wholePass()
  await wholeRound()
  expect(lines('the books are wrong')).toHaveLength(3)
  expect((await state()).problems.map(({ foundAt }) => foundAt)).toEqual(problems.map(({ foundAt }) => foundAt))

  await query('update wallets set balance = balance - 1 where id = $1', [userId])
  await wholePass()
  expect(await found()).toEqual([])
  expect(await metric('billfold_books_problems')).toBe('0')
  expect(lines('the books are right again')).toHaveLength(1)
})

describe('a pass finds in what came since the last one', () => {
  const { sql, ...each } = {
    sql: `wallet_id = $1 and sequence = 3`,
    'an amount that was changed': ['amount = amount - 1', ['entry-running-balance', 'entry-unlike-outcome']],
    'a reference that was renamed': [`reference_id = 'other'`, ['entry-reference-key']],
    'an app that was never linked': [`counter_account = 'app:app_none'`, ['entry-reference-key', 'entry-without-link']],
  } as const
  for (const [name, [change, expected]] of Object.entries(each))
    test(name, async () => {
      await wholePass()
      const { userId, serviceUserId } = users[4]!
      await post(serviceUserId, 'debit', 10n)
      await post(serviceUserId, 'debit', 10n)
      await query(`update transfers set ${change} where ${sql}`, [userId])
      await wholePass()
      const entries = (await found()).filter((one) => one.startsWith('entry-'))
      expect(entries).toEqual(expected.map((one) => `${one} ${userId} 3`).sort())
    })

  test('an entry that is gone', async () => {
    await wholePass()
    const { userId, serviceUserId } = users[4]!
    await post(serviceUserId, 'debit', 10n)
    await query(`delete from transfers where wallet_id = $1 and sequence = 3`, [userId])
    await wholePass()
    expect(await found()).toEqual([
      `wallet-balance ${userId} `,
      `wallet-last-entry ${userId} `,
      `wallet-sequence ${userId} `,
    ])
  })

  test('that the last entry which was found right is not as it was', async () => {
    await wholePass()
    const { userId, serviceUserId } = users[4]!
    await query(`update transfers set balance_after = 1 where wallet_id = $1 and sequence = 2`, [userId])
    await post(serviceUserId, 'debit', 10n)
    await wholePass()
    expect(await found()).toContain(`entry-running-balance ${userId} 3`)
  })
})

test('an old entry that was changed is found by the round; then passes keep it red until it is right', async () => {
  await passAlone()
  const { userId } = users[0]!
  await query(`update transfers set amount = amount - 1 where wallet_id = $1 and sequence = 2`, [userId])
  await passAlone()
  expect(await found()).toEqual([])
  await wholeRound()
  const faults = [
    `entry-running-balance ${userId} 2`,
    `entry-unlike-outcome ${userId} 2`,
    'position-differs  ',
    `wallet-balance ${userId} `,
  ]
  expect(await found()).toEqual(faults)
  await passAlone()
  expect(await found()).toEqual(faults)
  await query(`update transfers set amount = amount + 1 where wallet_id = $1 and sequence = 2`, [userId])
  await passAlone()
  expect(await found()).toEqual(['position-differs  '])
  await wholeRound()
  expect(await found()).toEqual([])
})

test('a position that was changed is found by the sums; two that make up for each other by the round', async () => {
  await query(`update positions set debited = debited + 1`)
  await check(['next_sums_at'])
  expect(await found()).toEqual(['books-unbalanced  '])
  await query(`update positions set debited = debited - 1`)
  await query(`insert into positions (counter_account, day, writer, debited, credited, transfers)
    select unnest(array['bonus', 'cards']), max(day), 1, unnest(array[5, 0]), unnest(array[0, 5]), 0 from positions`)
  await check(['next_sums_at'])
  expect(await found()).toEqual([])
  await wholeRound()
  const { problems } = await state()
  expect(problems.map(({ check: name }) => name)).toEqual(['position-differs', 'position-differs'])
  expect(problems[0]!.message).toContain(
    'it says $0.05 debited, $0.00 credited in 0 transfers, but the entries are $0.00',
  )
  await query(`delete from positions where counter_account in ('bonus', 'cards')`)
  await wholeRound()
  expect(await found()).toEqual([])
})

test('what only the round can see stays red over the passes in between', async () => {
  await query('delete from wallets where id = $1', [users[1]!.userId])
  await wholeRound()
  await wholePass()
  await wholePass()
  expect(await found()).toContain(`wallet-missing ${users[1]!.userId} `)
})

test('what a second look does not find is no fault, and the wallet is followed from its beginning', async () => {
  await wholePass()
  const { userId } = users[2]!
  await query('update wallets set balance = balance + 1 where id = $1', [userId])
  // Only the pass is due: between its first and its second check the books are repaired.
  const { service, begun } = countTransactions(async (number) => {
    if (number === 2) await query('update wallets set balance = balance - 1 where id = $1', [userId])
  })
  await check(['next_pass_at'], service)
  expect(begun()).toBe(2)
  expect(await found()).toEqual([])
  expect(lines('the books are wrong')).toEqual([])
  const { rows } = await query('select sequence from verified_wallets where wallet_id = $1', [userId])
  expect(rows).toEqual([{ sequence: 2n }])
})

test('a wallet of very many entries is followed in parts, by the pass and by the round', async () => {
  const { userId } = users[3]!
  await query('delete from transfers where wallet_id = $1', [userId])
  await query('delete from outcomes where wallet_id = $1', [userId])
  await query(
    `with entry as (
       select n, 'many ' || n as id, timestamptz '2026-01-01' as at from generate_series(1, 25000) n
     ), keyed as (
       select *, encode(substring(sha256(convert_to('service', 'UTF8') || '\\x00'::bytea || convert_to('BONUS', 'UTF8')
         || '\\x00'::bytea || convert_to(id, 'UTF8')) from 1 for 16), 'hex')::uuid as key from entry
     ), outcome as (
       insert into outcomes (reference_key, wallet_id, amount, balance, sequence, created_at)
       select key, $1, 1, n, n, at from keyed
     ), wallet as (
       update wallets set balance = 25000, sequence = 25000 where id = $1
     )
     insert into transfers (wallet_id, sequence, amount, balance_after, reference_key, created_at, counter_account, reference_type, reference_id)
     select $1, n, 1, n, key, at, 'bonus', 'BONUS', id from keyed`,
    [userId],
  )
  await check(['next_pass_at'])
  expect((await state()).pass).toEqual({ from: userId, target: 25_000 })
  await wholePass()
  expect((await state()).lastPassEntries).toBe(25_008)
  const left = () => state().then(({ problems }) => problems.filter(({ walletId }) => walletId === userId))
  expect(await left()).toEqual([])
  await wholeRound()
  expect((await state()).lastTransfers).toBe(25_008)
  expect(await left()).toEqual([])

  await query('update transfers set reference_id = $2 where wallet_id = $1 and sequence = 21234', [userId, 'other'])
  await wholeRound()
  expect((await left()).map(({ check: name, sequence }) => [name, sequence])).toEqual([['entry-reference-key', 21_234]])
  await wholePass()
  expect(await left()).toHaveLength(1)
  await query('update transfers set reference_id = $2 where wallet_id = $1 and sequence = 21234', [
    userId,
    'many 21234',
  ])
  await wholePass()
  expect(await left()).toEqual([])
})

test('two processes check while money moves, and never cry wolf', async () => {
  const { pool, longRunning: db } = openDatabase(rig.service.db.connection)
  const other = { ...rig.service, db, metrics: openMetrics() }
  const over = new AbortController()
  let posted = 0
  const spend = async (serviceUserId: string) => {
    for (; !over.signal.aborted; posted++) await post(serviceUserId, posted % 3 === 0 ? 'credit' : 'debit', 7n)
  }
  const spending = users.flatMap(({ serviceUserId }) => [spend(serviceUserId), spend(serviceUserId)])
  try {
    for (let i = 0; i < 10; i++)
      await Promise.all([
        check(['next_sums_at', 'next_pass_at', 'next_slice_at']),
        check(['next_sums_at', 'next_pass_at', 'next_slice_at'], other),
      ])
    for (const moved = () => posted; moved() <= 10;) await Bun.sleep(5)
  } finally {
    over.abort()
    await Promise.all(spending)
    await pool.end()
  }
  await wholePass()
  expect(posted).toBeGreaterThan(10)
  expect(lines('the books are wrong')).toEqual([])
  expect(await found()).toEqual([])
  const { rows } = await query(`select count(*) from wallets w join verified_wallets v on v.wallet_id = w.id
    and v.sequence = w.sequence and v.balance = w.balance`)
  expect(rows).toEqual([{ count: 5n }])
})

test('before its time nothing is done, and of many at once one does it', async () => {
  await wholePass()
  await wholeRound()
  const first = await state()
  const { service, begun } = countTransactions()
  await check([], service)
  expect([(await state()).sumsAt, begun()]).toEqual([first.sumsAt, 0])
  await query(`update books_check set next_slice_at = '-infinity'`)
  await Promise.all(Array.from({ length: 6 }, () => checkBooks(onLongRunning())))
  const after = await state()
  expect(after.lastRoundAt!.getTime()).toBeGreaterThan(first.lastRoundAt!.getTime())
  expect(after.transfersChecked).toBe(10)
})

test('the check is late when nobody has looked for two minutes, or no round has ended for a day', () => {
  const now = new Date('2026-03-01T12:00:00Z')
  const ago = (seconds: number) => new Date(now.getTime() - seconds * 1_000)
  const fresh = {
    now,
    problems: [],
    checkedUpTo: ago(5),
    sumsAt: ago(5),
    lastRoundAt: ago(600),
    roundStartedAt: ago(9),
  }
  const health = (changes: Partial<BooksState>) => healthOf({ ...fresh, ...changes } as unknown as BooksState)
  expect(health({})).toBe('right')
  expect(health({ checkedUpTo: ago(121) })).toBe('late')
  expect(health({ sumsAt: ago(121) })).toBe('late')
  expect(health({ lastRoundAt: ago(86_401) })).toBe('late')
  expect(health({ lastRoundAt: null, roundStartedAt: ago(86_401) })).toBe('late')
  expect(health({ checkedUpTo: null, lastRoundAt: null })).toBe('first')
  const problem = { check: 'wallet-balance', walletId: 'x', sequence: null, message: 'x', foundAt: now.toISOString() }
  expect(health({ checkedUpTo: ago(500), problems: [problem] })).toBe('wrong')
})
