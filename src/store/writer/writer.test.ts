import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { expectBalancedBooks } from '../../../test/books.ts'
import { beginPatiently, lockWaitsSql } from '../../../test/lock-waits.ts'
import { decideCases } from '../../../test/decide-cases.ts'
import { openForwarder } from '../../../test/forwarder.ts'
import { findCluster } from '../../../test/postgres.ts'
import { newPosting, pendingOf } from '../../../test/postings.ts'
import {
  linkUser,
  newApp,
  newUser,
  newUsers,
  openTestService,
  operator,
  type TestService,
  type TestUser,
} from '../../../test/service.ts'
import { freezeWallet, unfreezeWallet } from '../../actions/money/manage-wallets.ts'
import { postForApp, postForService } from '../../actions/money/post.ts'
import { openService } from '../../actions/service.ts'
import { newId } from '../../actions/tokens.ts'
import type { Wallet } from '../../ledger/decide.ts'
import { openMetrics } from '../../platform/metrics.ts'
import type { App } from '../apps.ts'
import { postLocked } from './careful-statement.ts'
import { openWriterClient } from './connection.ts'
import type { Queryable } from '../connection/database.ts'
import { Unavailable } from './posting.ts'
import { updateLinkDisconnected } from '../links.ts'
import { captureStatement } from './fast-captures.ts'
import { expiryStatement } from './fast-expiries.ts'
import { noMark } from '../closing/closings.ts'
import { fastStatements, statementsForNew } from './fast-statement.ts'
import { loneStatements } from './lone-statement.ts'
import type { HoldResult, PostingResult } from './posting.ts'
import { openWriter } from './writer.ts'

const isOnCluster = (await findCluster()) !== undefined
let opened: TestService
let app: { clientId: string }

beforeAll(async () => {
  opened = await openTestService()
  app = await newApp(opened.service)
})
afterAll(async () => {
  await expectBalancedBooks(opened.service)
  await opened.close()
})

const walletOf = async ({ userId }: TestUser) =>
  (await opened.service.db.pool.query('select balance, sequence, frozen_for from wallets where id = $1', [userId]))
    .rows[0]

let count = 0
const post = (
  user: TestUser,
  amountMinor: bigint,
  { service = opened.service, isReversal = false, referenceId = `w-${++count}`, description }: Wishes = {},
) =>
  postForService(service, {
    walletId: user.userId,
    counterAccount: 'cards',
    amountMinor,
    isReversal,
    referenceType: 'TEST',
    referenceId,
    description: description ?? null,
  })

type Wishes = {
  readonly isReversal?: boolean
  readonly description?: string | undefined
  readonly service?: TestService['service']
  readonly clientId?: string
  readonly referenceId?: string
}

/** A wallet in any state the rules know, reached by movements alone. */
async function walletWith(balance: bigint, frozenFor: Wallet['frozenFor']): Promise<TestUser> {
  const user = await newUser(opened.service, app)
  if (balance !== 0n) await post(user, balance, { isReversal: balance < 0n })
  if (frozenFor === 'operator' || frozenFor === 'closed')
    await opened.service.db.pool.query('update wallets set frozen_for = $2 where id = $1', [user.userId, frozenFor])
  expect(await walletOf(user)).toMatchObject({ balance, frozen_for: frozenFor })
  return user
}

/** A request of an app's backend: by the user's link, never a reversal. */
const postByLink = (
  { serviceUserId }: { serviceUserId: string },
  amountMinor: bigint,
  { service = opened.service, clientId = app.clientId, referenceId = `l-${++count}`, description }: Wishes = {},
) =>
  postForApp(service, { clientId } as App, {
    direction: amountMinor < 0n ? 'debit' : 'credit',
    serviceUserId,
    amountMinor: amountMinor < 0n ? -amountMinor : amountMinor,
    referenceType: 'TEST',
    referenceId,
    description: description ?? null,
  })

const expectSaid = async (user: TestUser, before: object, result: PostingResult, said: string) => {
  const after = await walletOf(user)
  if (/^[A-Z_]+$/.test(said)) {
    const unrecorded = { inactive: 'WALLET_INACTIVE', 'unknown-user': 'WALLET_CLOSED' }
    expect(result.kind === 'outcome' ? result.outcome.refusal : unrecorded[result.kind]).toBe(said as never)
    expect(after).toMatchObject(before)
  } else {
    expect(`${after.balance} ${after.frozen_for ?? 'active'}`).toBe(said)
    expect(result).toMatchObject({ kind: 'outcome', outcome: { balanceMinor: after.balance, refusal: null } })
  }
}

describe('the database agrees with the rules', () => {
  test.each(decideCases)(
    'balance %p, frozen for %p, amount %p, reversal %p: %s',
    async (balance, frozenFor, amount, isReversal, said) => {
      const user = await walletWith(balance, frozenFor)
      await expectSaid(user, { balance, frozen_for: frozenFor }, await post(user, amount, { isReversal }), said)
    },
  )

  test.each(decideCases.filter(([, , , isReversal]) => !isReversal))(
    'for an app, balance %p, frozen for %p, amount %p, reversal %p: %s',
    async (balance, frozenFor, amount, _, said) => {
      const user = await walletWith(balance, frozenFor)
      await expectSaid(user, { balance, frozen_for: frozenFor }, await postByLink(user, amount), said)
    },
  )
})

const said = (result: HoldResult) =>
  result.kind === 'outcome' ? (result.outcome.refusal ?? result.outcome.balanceMinor) : result.kind

describe.each([
  [
    'of the service itself',
    (user: TestUser, amountMinor: bigint, description?: string) => post(user, amountMinor, { description }),
  ],
  [
    'of an app',
    (user: TestUser, amountMinor: bigint, description?: string) => postByLink(user, amountMinor, { description }),
  ],
])('a batch %s', (_, ask) => {
  test('gives each operation its own balance, in the order they came', async () => {
    const user = await walletWith(10n, null)
    const results = await Promise.all([-4n, -7n, 5n, -11n, 1n].map((amountMinor) => ask(user, amountMinor)))
    const decided = results.map(
      (result) => result.kind === 'outcome' && [result.outcome.refusal, result.outcome.balanceMinor],
    )
    expect(decided).toEqual([
      [null, 6n],
      ['INSUFFICIENT_BALANCE', 6n],
      [null, 11n],
      [null, 0n],
      [null, 1n],
    ])
  })

  test('that one operation would poison goes on without it', async () => {
    const user = await walletWith(100n, null)
    // The request checks refuse both: a number beyond PostgreSQL's bigint, and a text it cannot store.
    const tooLong = await Promise.allSettled([ask(user, -1n), ask(user, 2n ** 70n), ask(user, -1n)])
    expect(tooLong.map((result) => result.status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
    const neighbours = await Promise.allSettled([ask(user, -1n), ask(user, -1n, 'a\u0000b'), ask(user, -1n)])
    expect(neighbours.map((result) => result.status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
    expect(await walletOf(user)).toMatchObject({ balance: 96n })
  })

  test('larger than a batch may be becomes several', async () => {
    const users = await Promise.all(Array.from({ length: 20 }, () => walletWith(1_000n, null)))
    const results = await Promise.all(Array.from({ length: 3_000 }, (_, i) => ask(users[i % 20]!, -1n)))
    expect(results.every((result) => result.kind === 'outcome' && result.outcome.refusal === null)).toBeTrue()
    for (const user of users) expect(await walletOf(user)).toMatchObject({ balance: 850n, sequence: 151n })
  })
})

test('a repeat that names a wallet there is none of is answered with the first outcome', async () => {
  const user = await walletWith(10n, null)
  await post(user, 5n, { referenceId: 'of another' })
  expect(await post({ ...user, userId: newId() }, 5n, { referenceId: 'of another' })).toMatchObject({
    outcome: { balanceMinor: 15n, walletId: user.userId },
    replay: { mismatch: ['user'] },
  })
})

test('one reference of the service three times at once is one movement', async () => {
  const user = await walletWith(10n, null)
  const results = await Promise.all([1, 2, 3].map(() => post(user, 5n, { referenceId: 'twice' })))
  expect(results.map(said)).toEqual([15n, 15n, 15n])
  expect(results.filter((result) => result.kind === 'outcome' && !result.replay)).toHaveLength(1)
  expect(await walletOf(user)).toMatchObject({ balance: 15n })
})

/** Results of a posting whose connection goes silent, and of its repeat. */
async function postOverSilentWire(referenceId: string): Promise<unknown[]> {
  const user = await walletWith(10n, null)
  const wire = await openForwarder(opened.service.db.connection)
  const writer = openWriter(wire.connection, 1, {
    batch: () => {},
    fault: () => {},
    hold: () => {},
    nodeFault: () => {},
    outage: () => {},
  })
  const service = { ...opened.service, writer }
  const before = said(await postByLink(user, -1n, { service }))
  wire.silence()
  const ask = () => postByLink(user, -1n, { service, referenceId })
  const answers = [await ask().catch((error: unknown) => error), await ask().catch((error: unknown) => error)]
  await writer.close()
  wire.close()
  return [before, ...answers]
}

test('a wire that goes silent is given up in time, and the posting is answered over another', async () => {
  let results = await postOverSilentWire('unheard')
  // The deadline leaves a few seconds, which a stalled machine can use up.
  for (let tries = 1; tries < 3 && results.some((each) => each instanceof Unavailable); tries++)
    results = await postOverSilentWire(`unheard-${tries}`)
  expect(results).toMatchObject([
    9n,
    { outcome: { balanceMinor: 8n } },
    { outcome: { balanceMinor: 8n }, replay: { mismatch: [] } },
  ])
})

test('time that a posting waited before it reached the writer counts towards its deadline', async () => {
  const user = await walletWith(10n, null)
  const posting = newPosting({ walletId: user.userId }, 1n)
  const wire = await openForwarder(opened.service.db.connection)
  const writer = openWriter(wire.connection, 1, {
    batch: () => {},
    fault: () => {},
    hold: () => {},
    nodeFault: () => {},
    outage: () => {},
  })
  wire.cut()
  const late = writer.post(posting, performance.now() - 8_000)
  expect(await late.catch((error: unknown) => error)).toBeInstanceOf(Unavailable)
  wire.mend()
  await writer.close()
  wire.close()
})

describe('a batch', () => {
  test('with repeats, strangers, frozen and empty wallets is answered in one statement', async () => {
    const metrics = openMetrics()
    const service = openService({ ...opened.service, metrics })
    const users = await Promise.all([100n, 100n, 100n, 0n, 100n].map((balance) => walletWith(balance, null)))
    const [repeated, frozen, , empty, stranger] = users as [TestUser, TestUser, TestUser, TestUser, TestUser]
    const again = { service, referenceId: 'needs-care' }
    const refusedAgain = { service, referenceId: 'needs-money' }
    await opened.service.db.pool.query(`update wallets set frozen_for = 'operator' where id = $1`, [frozen.userId])
    await updateLinkDisconnected(opened.service.db.pool, stranger.userId, stranger.serviceUserId)
    await Promise.all([postByLink(repeated, -1n, again), postByLink(empty, -1n, refusedAgain)])
    const results = await Promise.all([
      postByLink(repeated, -1n, again),
      ...users.slice(1).map((user) => postByLink(user, -1n, { service })),
    ])
    expect(results.map(said)).toEqual([99n, 'inactive', 99n, 'INSUFFICIENT_BALANCE', 'unknown-user'])
    expect(results[0]).toMatchObject({ replay: { walletId: repeated.userId, amountMinor: -1n, mismatch: [] } })
    expect(
      (await Promise.all([postByLink(empty, -1n, refusedAgain), postByLink(users[2]!, -1n, { service })])).map(said),
    ).toEqual(['INSUFFICIENT_BALANCE', 98n])
    expect(await walletOf(empty)).toMatchObject({ balance: 0n, sequence: 0n })
    expect(await walletOf(stranger)).toMatchObject({ balance: 100n, sequence: 1n })
    expect(await metrics.render()).toContain('billfold_batch_operations_count{lane="careful"} 0\n')
    await service.writer.close()
  })

  test('sends only the wallets of which one posting among several is refused to the careful lane', async () => {
    const metrics = openMetrics()
    const service = openService({ ...opened.service, metrics })
    const users = await Promise.all([100n, 1n].map((balance) => walletWith(balance, null)))
    const results = await Promise.all(
      users.flatMap((user) => [postByLink(user, -1n, { service }), postByLink(user, -1n, { service })]),
    )
    expect(results.map(said)).toEqual([99n, 98n, 0n, 'INSUFFICIENT_BALANCE'])
    const text = await metrics.render()
    expect(text).toContain('billfold_batch_operations_sum{lane="fast"} 4\n')
    expect(text).toContain('billfold_batch_operations_sum{lane="careful"} 2\n')
    expect(text).toContain('billfold_batch_operations_count{lane="careful"} 1\n')
    await service.writer.close()
  })

  test('answers a repeat for what differs: the amount, the user, the direction, and all three', async () => {
    const [first, second] = [await walletWith(100n, null), await walletWith(100n, null)]
    const reference = { referenceId: 'differs' }
    await postByLink(first, -5n, reference)
    const asked = [
      [first, -6n, ['amount']],
      [second, -5n, ['user']],
      [first, 5n, ['direction']],
      [second, 6n, ['amount', 'user', 'direction']],
    ] as const
    for (const [user, amountMinor, mismatch] of asked)
      expect(await postByLink(user, amountMinor, reference)).toMatchObject({
        outcome: { amountMinor: -5n, balanceMinor: 95n, walletId: first.userId },
        replay: { walletId: user.userId, amountMinor, mismatch: [...mismatch] },
      })
    expect(await walletOf(second)).toMatchObject({ balance: 100n, sequence: 1n })
  })

  // A cluster has no generic plan, and each node has its own.
  test.skipIf(isOnCluster)(
    'posted at once locks its wallets in the order of their ids, whatever plan there is',
    async () => {
      const client = await opened.service.db.pool.connect()
      await client.query(
        `set enable_seqscan = off; set enable_bitmapscan = off; set plan_cache_mode = force_generic_plan`,
      )
      const asked = [fastStatements, statementsForNew(noMark), statementsForNew(crypto.randomUUID())].flatMap(
        ({ entries, mixed, holds }) =>
          [entries, mixed, holds].flatMap(([plain, journalled]) => {
            const forHolds = plain === entries[0] ? 0 : 4
            return [
              { text: plain.text, parameters: 16 + forHolds },
              { text: journalled.text, parameters: 19 + forHolds },
            ]
          }),
      )
      asked.push({ text: captureStatement.text, parameters: 13 }, { text: expiryStatement.text, parameters: 4 })
      for (const { plain, journalled } of [noMark, crypto.randomUUID()].map(loneStatements))
        asked.push({ text: plain.text, parameters: 9 }, { text: journalled.text, parameters: 12 })
      const writerAt: Record<number, number> = { 9: 8, 12: 8, 13: 12 }
      // With the present statistics, and with fresh ones: the server may analyze at any time.
      const cases = ['select 1', 'analyze wallets, links, outcomes, holds'].flatMap((statistics) =>
        asked.map((each) => ({ ...each, statistics })),
      )
      for (const { text, parameters, statistics } of cases) {
        await client.query(statistics)
        await client.query(`prepare batch as ${text}`)
        const values = Array.from({ length: parameters }, (_, i) =>
          i === (writerAt[parameters] ?? 15) ? '1' : `'{}'`,
        ).join(', ')
        const { rows } = await client.query<{ 'QUERY PLAN': string }>(`explain execute batch(${values})`)
        await client.query('deallocate batch')
        const plan = rows.map((row) => row['QUERY PLAN']).join('\n')
        const partOf = (name: string) => plan.slice(plan.indexOf(`\n  CTE ${name}\n`) + 1).split(/\n {2}CTE /)[0]!
        const moves = writerAt[parameters] === 8 ? 'operation' : 'moved'
        const update = partOf(moves) + (parameters < 16 ? '' : partOf('unmoved'))
        expect(update).toContain('Index Scan using wallets_pkey')
        expect(update).not.toMatch(/Seq Scan on wallets|Bitmap Heap Scan on wallets|Hash Join/)
        expect(update).toMatch(/Sort Key: ((change|c|due)\S*\.wallet_id|l\.user_id)/)
        if (parameters === 13) {
          expect(update).toMatch(
            /Scan using \w+ on holds .*\n *Index Cond: \(\(wallet_id = \S+ AND \(is_closed = false\) AND \(id = /,
          )
          continue
        }
        // The wallet has the number of its open holds.
        expect(update).not.toMatch(/Scan using \w+ on holds/)
      }
      client.release(true)
    },
  )

  // A cluster locks them by another statement, on each server.
  test.skipIf(isOnCluster)('posted carefully locks its wallets one by one, in the order of their ids', async () => {
    // Ids grow with time: made last, posted first.
    const users = (await newUsers(opened.service, app, 12)).toReversed()
    const { client, number } = await openWriterClient(opened.service.db.connection, 5_000, () => {})
    const locked: unknown[] = []
    const watched = {
      isCluster: () => client.isCluster(),
      query: async (...query: unknown[]) => {
        const { name, values } = Object(query[0]) as { name?: string; values?: unknown[] }
        if (name === 'lock-free-wallets') locked.push(...String(values![0]).slice(1, -1).split(','))
        return await (client.query as (...query: unknown[]) => Promise<unknown>)(...query)
      },
    } as unknown as Queryable
    const { answers } = await postLocked(
      watched,
      users.map((user) => movementOf(user, 5n)),
      { isPatient: false, writer: number },
    )
    await client.end()
    expect(locked).toEqual(users.map(({ userId }) => userId).sort())
    expect(answers.map(([, result]) => said(result))).toEqual(users.map(() => 5n))
  })
})

test('a wallet that another transaction holds is skipped, and not waited for', async () => {
  const [free, held] = [await newServiceUser(), await newServiceUser()]
  const { client, number } = await openWriterClient(opened.service.db.connection, 100, () => {})
  const other = await opened.service.db.pool.connect()
  await beginPatiently(other)
  await other.query('select 1 from wallets where id = $1 for update', [held.userId])
  const batch = [movementOf(free, 5n), movementOf(held, 5n)]
  const done = await postLocked(client, batch, { isPatient: false, writer: number })
  expect([done.answers.map(([, result]) => said(result)), done.held]).toEqual([[1_005n], [batch[1]!]])
  await other.query('rollback')
  other.release()
  await client.end()
})

const openQuietWriter = (faults: unknown[]) =>
  openWriter(opened.service.db.connection, 1, {
    batch: () => {},
    fault: (_, error) => faults.push(error),
    hold: () => {},
    nodeFault: () => {},
    outage: () => {},
  })

test('one reference of an app three times at once is one movement, and fails no batch', async () => {
  const user = await newServiceUser()
  const faults: unknown[] = []
  const service = { ...opened.service, writer: openQuietWriter(faults) }
  const results = await Promise.all([1, 2, 3].map(() => postByLink(user, -5n, { service, referenceId: 'thrice' })))
  expect([results.map(said), faults]).toEqual([[995n, 995n, 995n], []])
  await service.writer.close()
})

test('of two processes that use one reference at the same time one is first, and the other gets its outcome', async () => {
  const users = [await newServiceUser(), await newServiceUser()]
  const writers = users.map(() => openQuietWriter([]))
  for (let round = 0; round < 40; round++) {
    const results = await Promise.all(
      users.map((user, i) =>
        post(user, 1n, { service: { ...opened.service, writer: writers[i]! }, referenceId: `race-${round}` }),
      ),
    )
    expect(results).toHaveLength(2)
    expect(results.filter((result) => result.kind === 'outcome' && result.replay === undefined)).toHaveLength(1)
  }
  for (const writer of writers) await writer.close()
})

const newServiceUser = async () => {
  const user = await newUser(opened.service, app)
  await postByLink(user, 1_000n)
  return user
}

/** A movement of the service itself. */
const movementOf = ({ userId }: TestUser, amountMinor: bigint) =>
  pendingOf(newPosting({ walletId: userId }, amountMinor))

/** The results when the first posting, of another process, commits while the others wait for its wallet. */
const inTurn = async (user: TestUser, first: bigint, ...then: bigint[]) => {
  const { pool, connection } = opened.service.db
  const { client, number } = await openWriterClient(connection, 5_000, () => {})
  // It holds the row for as long as the test takes.
  await client.query('set idle_in_transaction_session_timeout = 0')
  const gate = Promise.withResolvers<void>()
  const held = {
    isCluster: () => client.isCluster(),
    query: async (...query: unknown[]) => {
      if (query[0] === 'commit') await gate.promise
      return await (client.query as (...query: unknown[]) => Promise<unknown>)(...query)
    },
  } as unknown as Queryable
  const other = postLocked(held, [movementOf(user, first)], { isPatient: true, writer: number })
  const isHeld = async () =>
    (await pool.query('select 1 from wallets where id = $1 for update skip locked', [user.userId])).rowCount === 0
  while (!(await isHeld())) await Bun.sleep(5)
  const results = then.map((amountMinor) => postByLink(user, amountMinor))
  while (((await pool.query(lockWaitsSql)).rowCount ?? 0) === 0) await Bun.sleep(5)
  gate.resolve()
  const { answers } = await other
  const decided = [...answers.map(([, result]) => result), ...(await Promise.all(results))].map(said)
  await client.end()
  return decided
}

describe('a wallet', () => {
  test('drained by another process since it was read refuses what is no longer there', async () => {
    const user = await newServiceUser()
    const other = openService({ ...opened.service, metrics: openMetrics() })
    expect(said(await postByLink(user, -999n, { service: other }))).toBe(1n)
    expect(said(await postByLink(user, -2n))).toBe('INSUFFICIENT_BALANCE')
    expect(said(await postByLink(user, -1n))).toBe(0n)
    await other.writer.close()
  })

  test('filled while its debit waits for the row pays it', async () => {
    expect(await inTurn(await newServiceUser(), 5_000n, -6_000n, -1n)).toEqual([6_000n, 0n, 'INSUFFICIENT_BALANCE'])
  })

  test('drained while its debit waits for the row refuses it', async () => {
    expect(await inTurn(await newServiceUser(), -999n, -2n)).toEqual([1n, 'INSUFFICIENT_BALANCE'])
  })

  test('drained while two of its debits wait for the row decides each by itself', async () => {
    expect(await inTurn(await newServiceUser(), -900n, -60n, -50n)).toEqual([100n, 40n, 'INSUFFICIENT_BALANCE'])
  })

  test('filled by another process since it was read pays', async () => {
    const user = await newServiceUser()
    const other = openService({ ...opened.service, metrics: openMetrics() })
    expect(said(await postByLink(user, 5_000n, { service: other }))).toBe(6_000n)
    expect(said(await postByLink(user, -6_000n))).toBe(0n)
    await other.writer.close()
  })

  test('frozen since it was read refuses debits and takes credits', async () => {
    const user = await newServiceUser()
    await freezeWallet(opened.service, operator, user.userId, 'test')
    expect(said(await postByLink(user, -1n))).toBe('inactive')
    expect(said(await postByLink(user, 1n))).toBe(1_001n)
    await unfreezeWallet(opened.service, operator, user.userId, 'test')
    expect(said(await postByLink(user, -1n))).toBe(1_000n)
  })

  test('disconnected since it was read is of an unknown user, also in the middle of a batch', async () => {
    const [user, neighbour] = [await newServiceUser(), await newServiceUser()]
    await updateLinkDisconnected(opened.service.db.pool, user.userId, user.serviceUserId)
    const before = await walletOf(user)
    const results = await Promise.all([postByLink(user, -1n), postByLink(neighbour, -1n), postByLink(user, 3n)])
    expect(results.map(said)).toEqual(['unknown-user', 999n, 'unknown-user'])
    expect(await walletOf(user)).toEqual(before)
  })

  test('reached by two links at once counts all of it', async () => {
    const user = await newServiceUser()
    const second = await newApp(opened.service)
    const link = await linkUser(opened.service, second, user.userId)
    const asSecond = (amountMinor: bigint) =>
      postByLink({ serviceUserId: link }, amountMinor, { clientId: second.clientId })
    expect(said(await asSecond(-25n))).toBe(975n)
    // To the last cent: a posting that the fast statement did not move must not be refused for that.
    const results = await Promise.all(
      Array.from({ length: 39 }, (_, i) => (i % 2 ? asSecond(-25n) : postByLink(user, -25n))),
    )
    expect(results.every((result) => result.kind === 'outcome' && result.outcome.refusal === null)).toBeTrue()
    expect(await walletOf(user)).toMatchObject({ balance: 0n, sequence: 41n })
    await post(user, 2n)
    const last = await Promise.all([asSecond(-1n), postByLink(user, -1n)])
    expect(new Set(last.map(said))).toEqual(new Set([0n, 1n]))
  })

  test('refuses an app that uses another app’s link', async () => {
    const user = await newServiceUser()
    const before = await walletOf(user)
    const second = await newApp(opened.service)
    const stolen = postByLink(user, -1n, { clientId: second.clientId })
    expect(said(await stolen)).toBe('unknown-user')
    expect(await walletOf(user)).toEqual(before)
  })
})

const refusalOf = (sql: string, values: unknown[] = []) =>
  opened.service.db.pool.query(sql, values).then(() => 'it was done', String)

test('no row of the ledger can be updated, deleted or truncated', async () => {
  const user = await walletWith(5n, null)
  for (const table of ['transfers', 'outcomes', 'audit']) {
    // An autovacuum writes the table's row of pg_class, which the grant below has locked, while the truncate waits for it: a deadlock.
    await opened.service.db.pool.query(`alter table ${table} set (autovacuum_enabled = false)`)
    for (const sql of [`update ${table} set amount = 1`, `delete from ${table}`, `truncate ${table}`]) {
      const text = table === 'audit' ? sql.replace('amount = 1', `actor = 'x'`) : sql
      expect(await refusalOf(text)).toMatch(/append-only|permission denied/)
      // The triggers refuse it too, should a role ever get the right.
      const client = await opened.service.db.pool.connect()
      await client.query('begin')
      await client.query(`grant update, delete, truncate on ${table} to current_user`)
      expect(await client.query(text).then(() => 'done', String)).toContain('append-only')
      await client.query('rollback')
      client.release()
    }
    await opened.service.db.pool.query(`alter table ${table} reset (autovacuum_enabled)`)
  }
  const setBalance = 'update wallets set balance = $2 where id = $1'
  expect(await refusalOf(setBalance, [user.userId, -1])).toContain('wallets_not_overdrawn')
  expect(await refusalOf(setBalance, [user.userId, 1_000_000_000_000_000])).toContain('wallets_balance_limit')
})

test('no entry leaves a balance below zero, except a charge-back and the repayment of a part of a debt', async () => {
  const client = await opened.service.db.pool.connect()
  const insert = async (amount: number, balanceAfter: number, account: string) => {
    await client.query('begin')
    const values = [newId(), amount, balanceAfter, account]
    const done = await client
      .query(`insert into transfers values ($1, 1, $2, $3, gen_random_uuid(), now(), $4, 'TEST', 'x', null)`, values)
      .then(() => 'done', String)
    await client.query('rollback')
    return done
  }
  const overdrawn = expect.stringContaining('transfers_not_overdrawn')
  expect(await insert(-5, 0, 'app:x')).toBe('done')
  expect(await insert(-5, -1, 'app:x')).toEqual(overdrawn)
  expect(await insert(-5, -1, 'adjustments')).toEqual(overdrawn)
  expect(await insert(-5, -1, 'cards')).toBe('done')
  expect(await insert(5, -1, 'app:x')).toBe('done')
  client.release()
})

test('positions of two writers never share a row', async () => {
  const { rows } = await opened.service.db.pool.query(
    'select counter_account, day, count(*), count(distinct writer) as writers from positions group by 1, 2',
  )
  for (const row of rows) expect(row.count).toBe(row.writers)
})
