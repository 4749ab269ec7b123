/** Postings of one link or wallet in one list are decided in the order of the list, whichever lane takes them. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { expectBalancedBooks } from '../../../test/books.ts'
import { beginPatiently } from '../../../test/lock-waits.ts'
import { newPosting } from '../../../test/postings.ts'
import { newApp, newUsers, openTestService, type TestService, type TestUser } from '../../../test/service.ts'
import { findAhead, newBatch, newPending, type Posting, type PostingResult } from './posting.ts'

let opened: TestService
let clientId: string

beforeAll(async () => {
  opened = await openTestService()
  clientId = (await newApp(opened.service)).clientId
})
afterAll(async () => {
  await expectBalancedBooks(opened.service)
  await opened.close()
})

const byWallet = ({ userId }: TestUser) => ({ walletId: userId })
const byLink = ({ serviceUserId }: TestUser) => ({ clientId, serviceUserId })

const inShort = (result: PostingResult) =>
  result.kind === 'outcome' ? (result.outcome.refusal ?? result.outcome.balanceMinor) : result.kind
const postAll = async (postings: readonly Posting[]) =>
  (await Promise.all(postings.map(opened.service.writer.openList()))).map(inShort)

const freeze = ({ userId }: TestUser) =>
  opened.service.db.pool.query(`update wallets set frozen_for = 'operator' where id = $1`, [userId])

test('a debit does not overtake the credit that waits for its reference in the same batch', async () => {
  const [frozen, user] = (await newUsers(opened.service, { clientId }, 2)) as [TestUser, TestUser]
  await freeze(frozen)
  const referenceId = crypto.randomUUID()
  const list = [
    newPosting(byWallet(frozen), -1n, { referenceId }),
    newPosting(byWallet(user), 10n, { referenceId }),
    newPosting(byWallet(user), -10n),
  ]
  expect(await postAll(list)).toEqual(['inactive', 10n, 0n])
})

test('a debit in the second half of a batch that fails does not overtake a credit whose wallet was locked in the first', async () => {
  const [user, ...others] = (await newUsers(opened.service, { clientId }, 32)) as [TestUser, ...TestUser[]]
  const stranger = await opened.service.db.pool.connect()
  await beginPatiently(stranger)
  await stranger.query('select 1 from wallets where id = $1 for update', [user.userId])
  const post = opened.service.writer.openList()
  const credit = post(newPosting(byWallet(user), 10n))
  const inFirstHalf = others.map((each) => post(newPosting(byWallet(each), 1n)))
  const debit = post(newPosting(byWallet(user), -10n))
  // Five halvings come before the debit, and meanwhile the wallet is let go.
  const poisons = others.map((each) => post({ ...newPosting(byWallet(each), 1n), description: 'a\u0000b' }))
  const failed = Promise.allSettled(poisons)
  await inFirstHalf[0]
  await stranger.query('rollback')
  stranger.release()
  expect((await Promise.all([credit, debit])).map(inShort)).toEqual([10n, 0n])
  expect((await failed).every(({ status }) => status === 'rejected')).toBeTrue()
})

test('a credit with the reference of a debit that was refused, because the wallet is frozen, posts', async () => {
  const [user] = (await newUsers(opened.service, { clientId }, 1)) as [TestUser]
  await freeze(user)
  const referenceId = crypto.randomUUID()
  const list = [-1n, 10n].map((amountMinor) => newPosting(byLink(user), amountMinor, { referenceId }))
  expect(await postAll(list)).toEqual(['inactive', 10n])
})

test('a repeat in the middle of a list does not let the postings behind it overtake those ahead of it', async () => {
  const [user] = (await newUsers(opened.service, { clientId }, 1)) as [TestUser]
  const [known, again] = [{ referenceId: 'known' }, { referenceId: 'again' }]
  await postAll([newPosting(byLink(user), 5n, known)])
  const results = await Promise.all(
    [
      newPosting(byLink(user), -6n, again),
      newPosting(byLink(user), 5n, known),
      newPosting(byLink(user), -6n, again),
    ].map(opened.service.writer.openList()),
  )
  expect(results.map(inShort)).toEqual(['INSUFFICIENT_BALANCE', 5n, 'INSUFFICIENT_BALANCE'])
  expect(results.map((result) => result.kind === 'outcome' && result.replay !== undefined)).toEqual([false, true, true])
})

const ignore = () => {}

const pendingAfter = (predecessor: ReturnType<typeof newPending> | undefined) =>
  newPending(newPosting({ walletId: 'w' }, 1n), 0, predecessor, ignore, ignore)

test('a posting joins a batch only when every predecessor has its answer or is in that batch', () => {
  const first = pendingAfter(undefined)
  const second = pendingAfter(first)
  const third = pendingAfter(second)
  const batch = newBatch([first])
  expect(findAhead(third, batch)).toBe(second)
  second.answer({ kind: 'inactive' })
  expect(findAhead(third, batch)).toBe(first)
  first.takenIn = batch
  expect(findAhead(third, batch)).toBeUndefined()
  expect(findAhead(third, newBatch())).toBe(first)
  first.answer({ kind: 'inactive' })
  expect(findAhead(third, newBatch())).toBeUndefined()
})
