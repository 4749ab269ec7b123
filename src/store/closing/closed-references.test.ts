/** Batches around a closing: what a process knows of closed periods, and what it does not know yet. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { expectBalancedBooks } from '../../../test/books.ts'
import { eventually } from '../../../test/eventually.ts'
import { beginPatiently, lockWaitsSql } from '../../../test/lock-waits.ts'
import { findCluster } from '../../../test/postgres.ts'
import { newPosting, pendingOf } from '../../../test/postings.ts'
import { openRecordedWriter } from '../../../test/recorded-writer.ts'
import { newApp, newUsers, openTestService, operator, type TestService, type TestUser } from '../../../test/service.ts'
import { closePeriod, indexPeriods } from '../../actions/money/close-period.ts'
import { openClient } from '../connection/servers.ts'
import type { WriterClient } from '../writer/connection.ts'
import { newGuess, postGuessing, type Guess } from '../writer/guess-new.ts'
import type { Posting, PostingResult } from '../writer/posting.ts'
import { closeLedger } from './close-ledger.ts'
import { openClosedReferences, readFilters, type ClosedReferences, type KnownClosings } from './closed-references.ts'
import { listClosings, noMark } from './closings.ts'

setDefaultTimeout(180_000)

const isOnCluster = (await findCluster()) !== undefined

let opened: TestService
let clientId: string
let writer: WriterClient
let sent: string[]

beforeAll(async () => {
  opened = await openTestService()
  clientId = (await newApp(opened.service)).clientId
  ;({ writer, sent } = await openRecordedWriter(opened.service.db.connection))
})
afterAll(async () => {
  await writer.client.end()
  await expectBalancedBooks(opened.service)
  await opened.close()
})

const connection = () => opened.service.db.connection
const pool = () => opened.service.db.pool
const patient = (name = 'test') =>
  openClient(connection(), { name, settings: { statement_timeout: '0', idle_in_transaction_session_timeout: '0' } })
const closeUnindexed = async (attempts = 40) => {
  const client = await patient()
  try {
    return await closeLedger(connection(), client, { record: async () => {}, attempts })
  } finally {
    await client.end()
  }
}
const users = (count: number) => newUsers(opened.service, { clientId }, count)
const posting = ({ serviceUserId }: TestUser, amountMinor: bigint, { referenceId }: Partial<Posting> = {}) =>
  newPosting({ clientId, serviceUserId }, amountMinor, referenceId === undefined ? {} : { referenceId })
const inShort = (result: PostingResult | undefined) =>
  result?.kind === 'outcome' ? [result.outcome.balanceMinor, result.replay ? 'replay' : 'first'] : result?.kind
const knowing = (known: KnownClosings | undefined) => {
  const found: string[] = []
  return { known: () => known, found: (lastMark: string) => void found.push(lastMark), marks: found }
}
const post = async (
  batch: readonly Posting[],
  closed: Pick<ClosedReferences, 'known' | 'found'>,
  guess: Partial<Guess> = {},
) => {
  sent.length = 0
  const pending = batch.map(pendingOf)
  const results = new Map((await postGuessing(writer, { ...newGuess(), ...guess }, closed, pending)).answers)
  return pending.map((each) => inShort(results.get(each)))
}
const lastMark = async () => (await listClosings(pool())).at(-1)?.mark
const balances = async (of: readonly TestUser[]) => {
  const { rows } = await pool().query<{ balance: bigint }>(
    'select balance from unnest($1::uuid[]) with ordinality as i(id, n) join wallets w on w.id = i.id order by n',
    [of.map(({ userId }) => userId)],
  )
  return rows.map(({ balance }) => balance)
}
/** Reads what is closed, as a service does. */
const readKnown = async () => {
  const faults: unknown[] = []
  const closed = openClosedReferences(connection(), (error) => faults.push(error))
  await eventually(async () => faults.length > 0 || closed.known() !== undefined, true)
  closed.close()
  return { known: closed.known(), faults }
}

/** A batch with a used reference, for a process that believes that nothing is closed and that the reference is new. */
async function usedBeforeUnknownClosing() {
  const people = await users(10)
  const [first, ...others] = people as [TestUser, ...TestUser[]]
  const used = posting(first, 10n)
  await opened.service.writer.post(used)
  await closeUnindexed()
  const batch = [posting(first, 10n, used), ...others.map((user) => posting(user, 10n))]
  return { people, others, batch, closed: knowing({ lastMark: noMark, mayHave: () => false }) }
}

describe.skipIf(isOnCluster)('a batch', () => {
  test('moves nothing, and reports the mark, if a period was closed that the process does not know', async () => {
    const { people, others, closed, batch } = await usedBeforeUnknownClosing()
    const hasLeft = { batchesSinceLeft: 0 }
    expect(await post(batch, closed, hasLeft)).toEqual([[10n, 'replay'], ...others.map(() => undefined)])
    expect(sent).toEqual(['post-fast-new'])
    expect(closed.marks).toEqual([await lastMark()] as string[])
    expect(await balances(people)).toEqual([10n, ...others.map(() => 0n)])
    // The service itself, whose writer was as ignorant, answers every one of them.
    const results = await Promise.all(batch.map((each) => opened.service.writer.post(each)))
    expect(results.map(inShort)).toEqual([[10n, 'replay'], ...others.map(() => [10n, 'first'])])
    expect(await balances(people)).toEqual(people.map(() => 10n))
  })

  test('moves nothing in the smallest statement if so, and then has every reference looked up', async () => {
    const { people, others, closed, batch } = await usedBeforeUnknownClosing()
    expect(await post(batch, closed)).toEqual([[10n, 'replay'], ...others.map(() => [10n, 'first'])])
    expect(sent).toEqual(['post-lone', 'post-fast'])
    expect(closed.marks).toEqual([await lastMark()] as string[])
    expect(await balances(people)).toEqual(people.map(() => 10n))
  })

  test('looks every reference up while a filter is missing, and after it is there those that it may have', async () => {
    const people = await users(9)
    const [first, ...others] = people as [TestUser, ...TestUser[]]
    const used = posting(first, 10n)
    await opened.service.writer.post(used)
    await closeUnindexed()
    expect(await readFilters(pool(), new Map(), () => false)).toBeUndefined()
    const batch = () => [posting(first, 10n, used), ...others.map((user) => posting(user, 10n))]
    expect(await post(batch(), knowing(undefined))).toEqual([[10n, 'replay'], ...others.map(() => [10n, 'first'])])
    expect(sent).toEqual(['post-fast'])
    await indexPeriods(connection(), operator)
    const { known, faults } = await readKnown()
    expect([known?.lastMark, faults]).toEqual([await lastMark(), []])
    expect(await post(batch(), knowing(known))).toEqual([[10n, 'replay'], ...others.map(() => [20n, 'first'])])
    expect(sent).toEqual(['post-fast'])
    expect(await balances(people)).toEqual([10n, ...others.map(() => 20n)])
    // Without the used one, in no filter: the statements for new references.
    const fresh = people.map((user) => posting(user, 1n))
    if (!fresh.some(({ referenceKey }) => known!.mayHave(referenceKey))) {
      expect(await post(fresh, knowing(known))).toEqual([[11n, 'first'], ...others.map(() => [21n, 'first'])])
      expect(sent).toEqual([`post-lone-${known!.lastMark}`])
      const later = people.map((user) => posting(user, 1n))
      if (later.some(({ referenceKey }) => known!.mayHave(referenceKey))) return
      expect(await post(later, knowing(known), { batchesSinceLeft: 0 })).toEqual([
        [12n, 'first'],
        ...others.map(() => [22n, 'first']),
      ])
      expect(sent).toEqual([`post-fast-new-${known!.lastMark}`])
    }
  })

  test('that waits for a wallet is before the closing, and the closing waits for it', async () => {
    const people = await users(8)
    const blocker = await pool().connect()
    await beginPatiently(blocker)
    await blocker.query('select from wallets where id = $1 for update', [people[0]!.userId])
    const ids = people.map(() => crypto.randomUUID())
    const batch = () => people.map((user, i) => posting(user, 10n, { referenceId: ids[i]! }))
    const { known } = await readKnown()
    const posted = post(batch(), knowing(known))
    await eventually(async () => (await pool().query(lockWaitsSql)).rows.length > 0, true)
    const closing = closeUnindexed()
    await blocker.query('commit')
    blocker.release()
    expect(await posted).toEqual(people.map(() => [10n, 'first']))
    await closing
    expect(await post(batch(), knowing(known))).toEqual(people.map(() => [10n, 'replay']))
    expect(await balances(people)).toEqual(people.map(() => 10n))
    await indexPeriods(connection(), operator)
  })
})

describe.skipIf(isOnCluster)('a filter', () => {
  test('is read again once a statement has found that a further period is closed', async () => {
    const closed = openClosedReferences(connection(), () => {})
    await eventually(async () => closed.known()?.lastMark, await lastMark())
    closed.found((await lastMark())!)
    expect(closed.known()).toBeDefined()
    await opened.service.writer.post(posting((await users(1))[0]!, 1n))
    await closePeriod(connection(), operator)
    closed.found((await lastMark())!)
    expect(closed.known()).toBeUndefined()
    await eventually(async () => closed.known()?.lastMark, await lastMark())
    closed.close()
  })

  test('of several parts is read whole, and a missing part is a fault', async () => {
    const loader = await patient()
    await loader.query(
      `insert into outcomes (reference_key, wallet_id, amount, balance, sequence, refusal, created_at)
       select gen_random_uuid(), $1, -1, 0, null, 'INSUFFICIENT_BALANCE', now() from generate_series(1, 5000)`,
      [(await users(1))[0]!.userId],
    )
    await loader.end()
    const [closed] = await closePeriod(connection(), operator, { partBytes: 4_096 })
    expect(closed!.filterBytes).toBeGreaterThan(2 * 4_096)
    const { rows } = await pool().query<{ key: string }>(
      `select replace(reference_key::text, '-', '') as key from closed_outcomes_${closed!.id}`,
    )
    const { known } = await readKnown()
    expect(rows.length).toBeGreaterThan(5_000 - 1)
    expect(rows.filter(({ key }) => !known!.mayHave(key))).toEqual([])
    await pool().query('delete from closed_references where closing_id = $1 and part = 1', [closed!.id])
    const { known: none, faults } = await readKnown()
    expect([none, String(faults[0])]).toEqual([undefined, expect.stringContaining('is damaged at part 1')])
    await indexPeriods(connection(), operator)
    expect((await readKnown()).faults).toEqual([])
  })
})

describe('a closing', () => {
  test('gives up beside a long reader, and names it; payments go on meanwhile', async () => {
    const [other, ...people] = await users(2)
    await opened.service.writer.post(posting(other!, 1n))
    const reader = await patient('a long report')
    await reader.query('begin; select count(*) from transfers')
    const refused = closeUnindexed(3).catch((error: Error) => error.message)
    const results: unknown[] = []
    const state = { isDone: false }
    void refused.then(() => (state.isDone = true))
    while (!state.isDone) results.push(inShort(await opened.service.writer.post(posting(people[0]!, 1n))))
    expect(await refused).toContain('"a long report"')
    expect(results.length).toBeGreaterThan(0)
    expect(results).toEqual(results.map((_, i) => [BigInt(i + 1), 'first']))
    await reader.end()
  })
})
