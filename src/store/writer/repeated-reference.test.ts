/** Repeats of one reference that wait together share the answer of the first one. */
import { afterAll, beforeAll, beforeEach, expect, setDefaultTimeout, test } from 'bun:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { expectBalancedBooks } from '../../../test/books.ts'
import { newPosting } from '../../../test/postings.ts'
import { newApp, newUsers, openTestService, type TestService, type TestUser } from '../../../test/service.ts'
import type { Posting, PostingResult } from './posting.ts'
import { openWriter, type Writer } from './writer.ts'

setDefaultTimeout(60_000)

let opened: TestService
let clientId: string
let writer: Writer
const batches: string[] = []

beforeAll(async () => {
  opened = await openTestService()
  clientId = (await newApp(opened.service)).clientId
  writer = openWriter(opened.service.db.connection, 1, {
    batch: (lane, size) => batches.push(`${lane} ${size}`),
    fault: () => {},
    hold: () => {},
    nodeFault: () => {},
    outage: () => {},
  })
})
beforeEach(() => void batches.splice(0))
afterAll(async () => {
  await writer.close()
  await expectBalancedBooks(opened.service)
  await opened.close()
})

const users = (count: number) => newUsers(opened.service, { clientId }, count)
const posting = ({ serviceUserId }: TestUser, amountMinor: bigint, referenceId: string) =>
  newPosting({ clientId, serviceUserId }, amountMinor, { referenceId })
const postAll = async (postings: readonly Posting[]) => {
  const results = await Promise.all(postings.map(writer.openList()))
  // A batch is reported after its answers.
  while (writer.depths().fast + writer.depths().careful > 0) await sleep(1)
  return results
}
const inShort = (result: PostingResult) =>
  result.kind === 'outcome'
    ? [result.outcome.refusal ?? result.outcome.balanceMinor, result.replay?.mismatch.join() ?? 'first']
    : [result.kind]
const freeze = ({ userId }: TestUser) =>
  opened.service.db.pool.query(`update wallets set frozen_for = 'operator' where id = $1`, [userId])

test('a thousand uses of one reference in one list take one batch, and all but the first are replays', async () => {
  const [user] = (await users(1)) as [TestUser]
  const results = await postAll(Array.from({ length: 1_000 }, () => posting(user, 7n, 'thousand')))
  expect(results.map(inShort)).toEqual([[7n, 'first'], ...Array.from({ length: 999 }, () => [7n, ''])])
  expect(results.filter((result) => result.kind === 'outcome' && result.replay?.walletId === user.userId)).toHaveLength(
    999,
  )
  expect(batches).toEqual(['fast 1'])
})

test('repeats that differ from the first use say in what, and refusals are shared too', async () => {
  const [user] = (await users(1)) as [TestUser]
  const results = await postAll([
    posting(user, -5n, 'refused'),
    posting(user, -6n, 'refused'),
    posting(user, 5n, 'refused'),
    posting(user, -5n, 'refused'),
  ])
  const refused = 'INSUFFICIENT_BALANCE'
  expect(results.map(inShort)).toEqual([
    [refused, 'first'],
    [refused, 'amount'],
    [refused, 'direction'],
    [refused, ''],
  ])
  expect(batches).toEqual(['fast 1'])
})

test('a reference that many users share is a replay for all but one, in a batch for every 512', async () => {
  const many = await users(600)
  const results = await postAll(many.map((user) => posting(user, 3n, 'many users')))
  expect(results.map(inShort)).toEqual([[3n, 'first'], ...Array.from({ length: 599 }, () => [3n, 'user'])])
  expect(results.map((result) => result.kind === 'outcome' && result.replay?.walletId).slice(1)).toEqual(
    many.slice(1).map(({ userId }) => userId),
  )
  expect(batches).toEqual(['fast 1', 'careful 512', 'careful 87'])
})

test('repeated debits of a frozen wallet are refused together, and a credit among them posts in its turn', async () => {
  const [user] = (await users(1)) as [TestUser]
  await freeze(user)
  const debits = Array.from({ length: 500 }, () => posting(user, -1n, 'frozen'))
  expect(new Set((await postAll(debits)).map((result) => result.kind))).toEqual(new Set(['inactive']))
  expect(batches).toEqual(['fast 1'])
  const mixed = [
    ...debits.slice(0, 2),
    posting(user, 4n, 'frozen'),
    posting(user, -1n, 'frozen'),
    posting(user, 2n, 'b'),
  ]
  expect((await postAll(mixed)).map(inShort)).toEqual([
    ['inactive'],
    ['inactive'],
    [4n, 'first'],
    [4n, 'amount,direction'],
    [6n, 'first'],
  ])
})

test('repeats of an unknown user are refused together, and the reference stays free', async () => {
  const [user] = (await users(1)) as [TestUser]
  const unknown = { ...user, serviceUserId: 'su_unknown' }
  const results = await postAll(Array.from({ length: 400 }, () => posting(unknown, 1n, 'unknown')))
  expect(new Set(results.map((result) => result.kind))).toEqual(new Set(['unknown-user']))
  expect(batches).toEqual(['fast 1'])
  expect((await postAll([posting(user, 1n, 'unknown')])).map(inShort)).toEqual([[1n, 'first']])
})

test('a repeat behind a posting that is not decided yet does not let later ones overtake it', async () => {
  const [user] = (await users(1)) as [TestUser]
  // Of [credit 5, debit 9, repeat of the credit, debit 5] the second is refused, so the whole list is decided with the wallet locked.
  const results = await postAll([
    posting(user, 5n, 'in order'),
    posting(user, -9n, 'too much'),
    posting(user, 5n, 'in order'),
    posting(user, -5n, 'after'),
  ])
  expect(results.map(inShort)).toEqual([
    [5n, 'first'],
    ['INSUFFICIENT_BALANCE', 'first'],
    [5n, ''],
    [0n, 'first'],
  ])
})

test('postings between two repeats of a reference that another user has are decided in order', async () => {
  const [user, other] = (await users(2)) as [TestUser, TestUser]
  const results = await postAll([
    posting(other, 1n, 'of another user'),
    posting(user, 5n, 'of another user'),
    posting(user, 5n, 'between'),
    posting(user, 5n, 'of another user'),
    posting(user, -5n, 'behind'),
  ])
  expect(results.map(inShort)).toEqual([
    [1n, 'first'],
    [1n, 'amount,user'],
    [5n, 'first'],
    [1n, 'amount,user'],
    [0n, 'first'],
  ])
})
