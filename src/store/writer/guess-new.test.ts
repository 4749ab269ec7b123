/** Batches whose references are expected to be new, with and without a used one. */
import { afterAll, beforeAll, beforeEach, expect, setDefaultTimeout, test } from 'bun:test'
import { expectBalancedBooks } from '../../../test/books.ts'
import { newAppWithEvents, numberAll, readAll, sequencesOf } from '../../../test/events/rig.ts'
import { findCluster } from '../../../test/postgres.ts'
import { openRecordedWriter } from '../../../test/recorded-writer.ts'
import { newPosting, pendingOf } from '../../../test/postings.ts'
import { linkUser, newApp, newUsers, openTestService, type TestService, type TestUser } from '../../../test/service.ts'
import { noMark } from '../closing/closings.ts'
import { DatabaseUnavailable } from '../connection/database-unavailable.ts'
import { sqlState } from '../connection/database.ts'
import type { WriterClient } from './connection.ts'
import { newGuess, postGuessing, type Guess } from './guess-new.ts'
import type { PendingPosting, PostingResult } from './posting.ts'

setDefaultTimeout(60_000)

const isOnCluster = (await findCluster()) !== undefined

let opened: TestService
let clientId: string
let writer: WriterClient
let guess: Guess
const noClosings = { known: () => ({ lastMark: noMark, mayHave: () => false }), found: () => {} }
let sent: string[]

beforeAll(async () => {
  opened = await openTestService()
  clientId = (await newApp(opened.service)).clientId
  ;({ writer, sent } = await openRecordedWriter(opened.service.db.connection))
})
beforeEach(() => {
  sent.length = 0
  guess = newGuess()
})
afterAll(async () => {
  await writer.client.end()
  await expectBalancedBooks(opened.service)
  await opened.close()
})

const users = (count: number) => newUsers(opened.service, { clientId }, count)
const pending = ({ serviceUserId }: TestUser, amountMinor: bigint) =>
  pendingOf(newPosting({ clientId, serviceUserId }, amountMinor))
const inShort = (result: PostingResult | undefined) =>
  result?.kind === 'outcome'
    ? [result.outcome.refusal ?? result.outcome.balanceMinor, result.replay ? 'replay' : 'first']
    : result?.kind
const post = async (batch: readonly PendingPosting[]) => {
  const results = new Map((await postGuessing(writer, guess, noClosings, batch)).answers)
  return batch.map((each) => inShort(results.get(each)))
}
const credits = (each: readonly TestUser[]) => each.map((user) => pending(user, 10n))

// On a cluster every reference is looked up.
test.skipIf(isOnCluster)(
  'a used reference makes the batch repeat with a look-up, and nothing posts twice',
  async () => {
    const people = await users(8)
    const first = credits(people)
    expect(await post(first)).toEqual(people.map(() => [10n, 'first']))
    expect(sent).toEqual(['post-lone'])
    const mixed = [first[0]!, ...people.slice(1).map((user) => pending(user, -4n))]
    expect(await post(mixed)).toEqual([[10n, 'replay'], ...people.slice(1).map(() => [6n, 'first'])])
    expect(sent.splice(0)).toEqual(['post-lone', 'post-lone', 'post-fast'])
    // The next batches look their references up, until this number of them had no repeat.
    for (let i = 0; i < 65; i++) await post(credits(people))
    expect(sent.splice(0)).toEqual(Array.from({ length: 64 }, () => 'post-fast').concat('post-lone'))
  },
)

test.skipIf(isOnCluster)('a small batch looks its references up', async () => {
  const people = await users(8)
  await post(credits(people.slice(1)))
  await post(credits(people))
  expect(sent).toEqual(['post-fast', 'post-lone'])
})

test.skipIf(isOnCluster).each([
  { name: 'the smallest statement', batchesSinceLeft: Infinity, statements: ['post-lone', 'post-fast'] },
  { name: 'the one that adds up', batchesSinceLeft: -Infinity, statements: ['post-fast-new'] },
])(
  'a repeat for a wallet that does not move is a replay after $name: spent, frozen, refused, or disconnected since',
  async ({ batchesSinceLeft, statements }) => {
    guess.batchesSinceLeft = batchesSinceLeft
    const people = await users(8)
    const [spent, frozen, refused, gone] = people as [TestUser, TestUser, TestUser, TestUser]
    await post(credits(people))
    const debits = [pending(spent, -10n), pending(frozen, -3n), pending(refused, -11n), pending(gone, -2n)]
    expect(await post(debits)).toEqual([
      [0n, 'first'],
      [7n, 'first'],
      ['INSUFFICIENT_BALANCE', 'first'],
      [8n, 'first'],
    ])
    await opened.service.db.pool.query(`update wallets set frozen_for = 'operator' where id = $1`, [frozen.userId])
    await opened.service.db.pool.query(`update links set disconnected_at = now() where id = $1`, [gone.serviceUserId])
    sent.length = 0
    const others = people.slice(4).map((user) => pending(user, 1n))
    expect(await post([...debits, ...others])).toEqual([
      [0n, 'replay'],
      [7n, 'replay'],
      ['INSUFFICIENT_BALANCE', 'replay'],
      [8n, 'replay'],
      ...others.map(() => [11n, 'first']),
    ])
    expect(sent.splice(0)).toEqual([...statements])
    // A met repeat ends the guess, although it was harmless.
    await post(credits(people.slice(4)))
    await post(credits([...people.slice(4), ...(await users(4))]))
    expect(sent).toEqual(['post-fast', 'post-fast'])
  },
)

test.skipIf(isOnCluster)('another fault of the batch is not taken for a used reference', async () => {
  const people = await users(8)
  const poison = { ...pending(people[0]!, 1n), description: '\u0000' }
  const refused = await postGuessing(writer, guess, noClosings, [...credits(people.slice(1)), poison]).catch(
    (error: unknown) => error,
  )
  expect(sqlState(refused)).toBe('22021')
  expect(sent).toEqual(['post-lone'])
})

test.skipIf(isOnCluster)(
  'the postings that do not post are posted again, and end the smallest statement for 16 batches',
  async () => {
    const people = await users(9)
    await post(credits(people))
    const [poor, frozen, gone, twin] = people as [TestUser, TestUser, TestUser, TestUser]
    await opened.service.db.pool.query(`update wallets set frozen_for = 'operator' where id = $1`, [frozen.userId])
    await opened.service.db.pool.query(`update links set disconnected_at = now() where id = $1`, [gone.serviceUserId])
    const second = await newApp(opened.service)
    const serviceUserId = await linkUser(opened.service, second, twin.userId)
    sent.length = 0
    const batch = [
      pending(poor, -11n),
      pending(frozen, -1n),
      pending(gone, -1n),
      pending(twin, -4n),
      pendingOf(newPosting({ clientId: second.clientId, serviceUserId }, -5n)),
      pending({ ...people[4]!, serviceUserId: 'su_unknown' }, -1n),
      ...people.slice(4).map((user) => pending(user, -1n)),
    ]
    const [ofPoor, ofFrozen, ofGone, ofTwin, again, ofUnknown, ...others] = await post(batch)
    expect([ofPoor, ofFrozen, ofGone, ofUnknown]).toEqual([
      ['INSUFFICIENT_BALANCE', 'first'],
      'inactive',
      'unknown-user',
      'unknown-user',
    ])
    // Of two links of a wallet, either is first.
    expect([ofTwin, again]).toContainEqual([1n, 'first'])
    expect(others).toEqual(people.slice(4).map(() => [9n, 'first']))
    expect(sent.splice(0)).toEqual(['post-lone', 'post-fast'])
    for (let i = 0; i < 17; i++) await post(credits(await users(8)))
    expect(sent).toEqual(Array.from({ length: 16 }, () => 'post-fast-new').concat('post-lone'))
  },
)

test.skipIf(isOnCluster)(
  'an answer that was only read counts as not written, whatever the smallest statement wrote before it',
  async () => {
    const people = await users(9)
    const gone = people[0]!
    await opened.service.db.pool.query(`update links set disconnected_at = now() where id = $1`, [gone.serviceUserId])
    const { answers, hasWritten } = await postGuessing(writer, guess, noClosings, credits(people))
    expect(sent).toEqual(['post-lone', 'post-fast'])
    expect([answers.length, hasWritten]).toEqual([9, false])
  },
)

test.skipIf(isOnCluster)('two postings of a link, and a hold, take the statements that add up', async () => {
  const people = await users(8)
  await post([...credits(people), pending(people[0]!, 1n)])
  const [{ serviceUserId }, ...others] = people as [TestUser, ...TestUser[]]
  const hold = { kind: 'reserve', seconds: 60 } as const
  const reserved = pendingOf(newPosting({ clientId, serviceUserId }, -4n, { hold }))
  const { answers } = await postGuessing(writer, guess, noClosings, [...credits(others), reserved])
  expect(new Map(answers).get(reserved)).toMatchObject({ outcome: { balanceMinor: 11n, heldMinor: 4n, isHold: true } })
  expect(sent).toEqual(['post-fast-new', 'post-fast-mixed-new'])
})

test.skipIf(isOnCluster)(
  'those that posted have their answers when the connection is lost before the others are posted again',
  async () => {
    const people = await users(8)
    const { writer: real } = await openRecordedWriter(opened.service.db.connection)
    const query = (asked: { readonly name: string }) => {
      if (asked.name === 'post-fast') real.client.destroy()
      return real.client.query(asked as never)
    }
    const lost: WriterClient = { ...real, client: { ...real.client, query: query as never } }
    const batch = [...credits(people), pending((await users(1))[0]!, -1n)]
    const { answers, fault } = await postGuessing(lost, guess, noClosings, batch)
    expect(answers.map(([posting, result]) => [posting, inShort(result)])).toEqual(
      expect.arrayContaining(batch.slice(0, 8).map((posting) => [posting, [10n, 'first']])),
    )
    expect(answers).toHaveLength(8)
    expect(fault).toBeInstanceOf(DatabaseUnavailable)
  },
)

test.skipIf(isOnCluster)('the smallest statement reports each posting to its app, if that has events', async () => {
  const { service } = opened
  const [first, second] = [await newAppWithEvents(service), await newAppWithEvents(service)]
  const apps = [first, { clientId }, second]
  const people = await newUsers(service, apps[0]!, 9)
  const linked = await Promise.all(
    people.map(async ({ userId, serviceUserId }, i) => {
      const app = apps[i % 3]!
      return { userId, serviceUserId: app === first ? serviceUserId : await linkUser(service, app, userId), app }
    }),
  )
  const batch = linked.map(({ app, serviceUserId }) =>
    pendingOf(newPosting({ clientId: app.clientId, serviceUserId }, 10n, { hasEvents: app.clientId !== clientId })),
  )
  expect(await post(batch)).toEqual(batch.map(() => [10n, 'first']))
  expect(sent).toEqual(['post-lone-journal'])
  await numberAll(service)
  for (const app of [first, second]) {
    const theirs = linked.filter((each) => each.app === app).map(({ userId }) => [userId, [1]])
    expect(sequencesOf(await readAll(service, app.clientId))).toEqual(Object.fromEntries(theirs))
  }
})
