/** One locked row, one damaged wallet, one lost race: none of them costs its neighbours anything. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { beginPatiently } from '../../../test/lock-waits.ts'
import type { PooledClient } from '../connection/pool.ts'
import { expectBalancedBooks } from '../../../test/books.ts'
import { newPosting } from '../../../test/postings.ts'
import { newApp, newUsers, openTestService, type TestService, type TestUser } from '../../../test/service.ts'
import { postForApp, postForService } from '../../actions/money/post.ts'
import type { App } from '../apps.ts'
import { commit } from '../connection/database.ts'
import { Unavailable, type PostingResult } from './posting.ts'

let opened: TestService
let app: App

beforeAll(async () => {
  opened = await openTestService()
  app = (await newApp(opened.service)) as unknown as App
})
afterAll(() => opened.close())

let count = 0
const debit = (user: TestUser, amountMinor = 1n, referenceId = `b-${++count}`) =>
  postForApp(opened.service, app, {
    direction: 'debit',
    serviceUserId: user.serviceUserId,
    amountMinor,
    referenceType: 'TEST',
    referenceId,
    description: null,
  })
const topUp = (user: TestUser, amountMinor = 100n, referenceId = `t-${++count}`) =>
  postForService(opened.service, {
    walletId: user.userId,
    counterAccount: 'cards',
    amountMinor,
    isReversal: false,
    referenceType: 'TOPUP',
    referenceId,
    description: null,
  })
const usersWithMoney = async (length: number) => {
  const users = await newUsers(opened.service, app, length)
  await Promise.all(users.map((user) => topUp(user)))
  return users
}
const hasPosted = (result: PostingResult) => result.kind === 'outcome' && result.outcome.refusal === null

/** Retries as clients do: a slow machine may hold the row past the deadline. */
async function untilAnswered(post: (referenceId: string) => Promise<PostingResult>): Promise<PostingResult> {
  const referenceId = `again-${++count}`
  for (;;) {
    const result = await post(referenceId).catch((error: unknown) => error)
    if (result instanceof Error && !(result instanceof Unavailable)) throw result
    if (!(result instanceof Error)) return result as PostingResult
  }
}

/** Another transaction that locks the wallet's row, as an open psql does. */
async function hold({ userId }: TestUser): Promise<PooledClient> {
  const stranger = await opened.service.db.pool.connect()
  await beginPatiently(stranger)
  await stranger.query('select 1 from wallets where id = $1 for update', [userId])
  return stranger
}
const letGo = async (stranger: PooledClient) => {
  await stranger.query('rollback')
  stranger.release()
}

test('while another transaction holds one wallet, its neighbours of the same batch and all top-ups are posted', async () => {
  const [victim, ...neighbours] = (await usersWithMoney(60)) as [TestUser, ...TestUser[]]
  const stranger = await hold(victim)
  const stuck = untilAnswered((id) => debit(victim, 1n, id))
  const results = await Promise.all([
    ...neighbours.map((user) => debit(user)),
    ...neighbours.slice(0, 24).map((user) => topUp(user)),
  ])
  // Still held: none of them waited for it.
  expect(results.filter(hasPosted)).toHaveLength(59 + 24)
  await letGo(stranger)
  expect(hasPosted(await stuck)).toBeTrue()
  await expectBalancedBooks(opened.service)
})

test('a wallet that is asked for again and again while it is held costs the batches of others nothing', async () => {
  const [victim, ...neighbours] = (await usersWithMoney(9)) as [TestUser, ...TestUser[]]
  const stranger = await hold(victim)
  const stuck: Promise<PostingResult>[] = []
  for (let round = 0; round < 20; round++) {
    stuck.push(
      untilAnswered((id) => debit(victim, 1n, id)),
      untilAnswered((id) => topUp(victim, 1n, id)),
    )
    const results = await Promise.all(neighbours.map((user) => debit(user)))
    expect(results.every(hasPosted)).toBeTrue()
  }
  await letGo(stranger)
  expect((await Promise.all(stuck)).every(hasPosted)).toBeTrue()
  await expectBalancedBooks(opened.service)
})

test('many held wallets do not keep one that has been let go from being posted', async () => {
  const users = await usersWithMoney(13)
  const strangers = await Promise.all(users.slice(0, 5).map(hold))
  const held = users.slice(0, 4).map((user) => untilAnswered((id) => debit(user, 1n, id)))
  const free = users.slice(4).map((user) => debit(user))
  await letGo(strangers[4]!)
  expect((await Promise.all(free)).every(hasPosted)).toBeTrue()
  for (const stranger of strangers.slice(0, 4)) await letGo(stranger)
  expect((await Promise.all(held)).every(hasPosted)).toBeTrue()
})

test('a posting that waits for a held wallet fails before its client stops waiting, and nothing was moved', async () => {
  const [victim] = (await usersWithMoney(1)) as [TestUser]
  const stranger = await hold(victim)
  expect(await debit(victim, 1n, 'late').catch((error: unknown) => error)).toBeInstanceOf(Unavailable)
  await letGo(stranger)
  expect(await debit(victim, 1n, 'late')).toMatchObject({ kind: 'outcome', outcome: { balanceMinor: 99n } })
})

test('a wallet whose sequence is behind its entries fails alone and at once, by the name of its constraint', async () => {
  const [victim, ...neighbours] = (await usersWithMoney(40)) as [TestUser, ...TestUser[]]
  await debit(victim)
  await opened.service.db.pool.query('update wallets set sequence = sequence - 1 where id = $1', [victim.userId])
  opened.logged.length = 0
  const results = await Promise.allSettled([debit(victim), ...neighbours.map((user) => debit(user))])
  const [failed, ...others] = results
  expect(failed?.status === 'rejected' && failed.reason).toMatchObject({ constraint: 'transfers_pkey' })
  expect(others.filter((result) => result.status === 'fulfilled' && hasPosted(result.value))).toHaveLength(39)
  expect(opened.logged.join('')).toMatch(/"lane":"careful"[^\n]*"table":"transfers","constraint":"transfers_pkey"/)
  // Known to be damaged, it does not fail the batches of others again.
  const faults = () => opened.service.metrics.registry.getSingleMetricAsString('billfold_writer_faults_total')
  const fastFaults = async () => Number(/lane="fast"\} (\d+)/.exec(await faults())?.[1] ?? 0)
  const before = await fastFaults()
  const again = await Promise.allSettled([debit(victim), ...neighbours.map((user) => debit(user))])
  expect(again.filter((result) => result.status === 'fulfilled')).toHaveLength(39)
  expect(await fastFaults()).toBe(before)
  await opened.service.db.pool.query('update wallets set sequence = sequence + 1 where id = $1', [victim.userId])
  expect(hasPosted(await debit(victim))).toBeTrue()
  await expectBalancedBooks(opened.service)
})

test('a reference that another transaction is about to use waits for it alone', async () => {
  const [victim, ...neighbours] = (await usersWithMoney(20)) as [TestUser, ...TestUser[]]
  const first = await debit(victim, 1n, 'raced')
  if (first.kind !== 'outcome') throw new Error('not posted')
  // The other transaction inserts an outcome of a reference that is free, and is not finished yet.
  const referenceKey = 'f'.repeat(32)
  const other = await opened.service.db.pool.connect()
  await beginPatiently(other)
  await other.query(
    `insert into outcomes (reference_key, wallet_id, amount, balance, sequence, created_at, refusal)
     values ($1, $2, -1, 0, null, now(), 'INSUFFICIENT_BALANCE')`,
    [referenceKey, victim.userId],
  )
  const racing = untilAnswered(() =>
    opened.service.writer.post(
      newPosting({ clientId: app.clientId, serviceUserId: victim.serviceUserId }, -1n, { referenceKey }),
    ),
  )
  const results = await Promise.all(neighbours.map((user) => debit(user)))
  expect(results.filter(hasPosted)).toHaveLength(19)
  await letGo(other)
  expect(hasPosted(await racing)).toBeTrue()
})

test('a commit of a transaction in which a statement failed is a fault, not a success', async () => {
  const client = await opened.service.db.pool.connect()
  await client.query('begin')
  await client.query('select 1 / 0').catch(() => {})
  expect(await commit(client).catch((error: unknown) => String(error))).toContain('ROLLBACK')
  client.release()
})
