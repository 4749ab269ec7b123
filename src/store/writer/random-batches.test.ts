/** Random batches through both lanes: every answer and every row must be what the pure rules decide. A failure prints its seed. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import * as fc from 'fast-check'
import {
  asks,
  checkList,
  operationOf,
  starts,
  walletCount,
  type Answer,
  type Ask,
  type Model,
  type Rows,
  type Start,
} from '../../../test/batch-model.ts'
import { expectBalancedBooks } from '../../../test/books.ts'
import { postFastHere } from '../../../test/post-fast.ts'
import { findCluster } from '../../../test/postgres.ts'
import { newPosting, pendingOf } from '../../../test/postings.ts'
import { newApp, openTestService, type TestService } from '../../../test/service.ts'
import { newId, newServiceUserId } from '../../actions/tokens.ts'
import type { Wallet } from '../../ledger/decide.ts'
import { maxBalanceMinor } from '../../ledger/money.ts'
import { allPost, sumUp } from '../../ledger/plan.ts'
import { referenceKeyOf, referenceKeyOfUuid } from '../outcomes.ts'
import { postLocked } from './careful-statement.ts'
import { noMark } from '../closing/closings.ts'
import { openWriterClient, type WriterClient } from './connection.ts'
import { postLone } from './lone-statement.ts'
import type { HoldResult, PendingPosting, Posting, PostingResult } from './posting.ts'
import { openWriter, type Writer } from './writer.ts'

setDefaultTimeout(60_000)

const isOnCluster = (await findCluster()) !== undefined

let opened: TestService
let clientIds: readonly [string, string]
let writer: Writer
let direct: WriterClient

beforeAll(async () => {
  opened = await openTestService()
  clientIds = [(await newApp(opened.service)).clientId, (await newApp(opened.service)).clientId]
  writer = openWriter(opened.service.db.connection, 2, {
    batch: () => {},
    fault: () => {},
    hold: () => {},
    nodeFault: () => {},
    outage: () => {},
  })
  direct = await openWriterClient(opened.service.db.connection, 5_000, () => {})
})
afterAll(async () => {
  await writer.close()
  await direct.client.end()
  await expectBalancedBooks(opened.service)
  await opened.close()
})

type TestWallet = { readonly id: string; readonly links: readonly [string, string] }

/** Wallets with a link of each app, many at once. */
async function newWallets(count: number): Promise<TestWallet[]> {
  const wallets = Array.from({ length: count }, () => ({
    id: newId(),
    links: [newServiceUserId(), newServiceUserId()] as const,
  }))
  const ids = wallets.map(({ id }) => id)
  const { pool } = opened.service.db
  await pool.query(
    `insert into users (id, email, first_name, last_name)
     select id, id || '@example.com', 'Ada', 'Lovelace' from unnest($1::uuid[]) as id`,
    [ids],
  )
  await pool.query('insert into wallets (id) select id from unnest($1::uuid[]) as id', [ids])
  for (const app of [0, 1] as const)
    await pool.query(
      'insert into links (id, client_id, user_id) select id, $2, user_id from unnest($1::text[], $3::uuid[]) as l(id, user_id)',
      [wallets.map(({ links }) => links[app]), clientIds[app], ids],
    )
  return wallets
}

let spare: TestWallet[] = []
async function takeWallets(count: number): Promise<TestWallet[]> {
  if (spare.length < count) spare = await newWallets(300)
  return spare.splice(0, count)
}

type Position = Rows['positions'][string]
type Run = {
  readonly name: string
  readonly wallets: readonly TestWallet[]
  readonly references: Map<string, number>
  /** Runs share the account of the cards, the only one that a reversal may use. */
  readonly cardsBefore: Position
}

let runs = 0

/** Wallets in the given states, reached by movements. */
async function startRun(states: readonly Start[]): Promise<[Run, Model]> {
  const wallets = await takeWallets(states.length)
  const [before] = (await opened.service.db.pool.query(positionsSql, ['cards'])).rows
  const cardsBefore: Position = before ? [before.debited, before.credited, before.transfers] : [0n, 0n, 0]
  const run: Run = { name: `run-${++runs}`, wallets, references: new Map(), cardsBefore }
  const model: Model = {
    wallets: wallets.map(() => ({ balanceMinor: 0n, heldMinor: 0n, sequence: 0, frozenFor: null })),
    recorded: new Map(),
  }
  const funding = states.flatMap(({ balanceMinor }, wallet) =>
    balanceMinor === 0n ? [] : [fund(wallet, balanceMinor)],
  )
  checkList(model, funding, await postDirectly(run, funding), await readRows(run))
  await holdAtStart(run, states)
  for (const frozenFor of ['operator', 'closed'] as const) {
    const ids = wallets.filter((_, i) => states[i]!.frozenFor === frozenFor).map(({ id }) => id)
    const freezeSql = 'update wallets set frozen_for = $2 where id = any($1::uuid[])'
    if (ids.length > 0) await opened.service.db.pool.query(freezeSql, [ids, frozenFor])
  }
  model.wallets = model.wallets.map((wallet, i) => ({
    ...wallet,
    heldMinor: states[i]!.heldMinor ?? 0n,
    frozenFor: states[i]!.frozenFor,
  }))
  return [run, model]
}

/** Through the careful statement; not part of the lists that are checked. */
async function holdAtStart({ name, wallets }: Run, states: readonly Start[]): Promise<void> {
  const holds = states.flatMap(({ heldMinor = 0n }, i) => (heldMinor > 0n ? [{ heldMinor, wallet: wallets[i]! }] : []))
  const pending = holds.map(({ heldMinor, wallet: { id, links } }) =>
    pendingOf(
      newPosting({ clientId: clientIds[0], serviceUserId: links[0] }, -heldMinor, {
        referenceKey: referenceKeyOf({ namespace: `hold:${name}`, type: 'TEST', id }),
        counterAccount: `${name}:link 0`,
        hold: { kind: 'reserve', seconds: 600 },
      }),
    ),
  )
  if (pending.length === 0) return
  const { answers } = await postLocked(direct.client, pending, { isPatient: true, writer: direct.number })
  expect(answers.map(([, result]) => result.kind === 'outcome' && result.hold?.status)).toEqual(holds.map(() => 'OPEN'))
}

const fund = (wallet: number, amountMinor: bigint): Ask => ({
  wallet,
  way: 'service',
  amountMinor,
  isReversal: amountMinor < 0n,
  isByOperator: false,
  reference: -1 - wallet,
  isPoison: false,
})

function postingOf({ name, wallets, references }: Run, ask: Ask): Posting {
  const { id, links } = wallets[ask.wallet]!
  const byWay: Record<Ask['way'], Posting['by']> = {
    'link 0': { clientId: clientIds[0], serviceUserId: links[0] },
    'link 1': { clientId: clientIds[1], serviceUserId: links[1] },
    stolen: { clientId: clientIds[1], serviceUserId: links[0] },
    missing: { clientId: clientIds[0], serviceUserId: `su_${name}` },
    service: { walletId: id },
  }
  const referenceKey = referenceKeyOf({ namespace: name, type: 'TEST', id: String(ask.reference) })
  references.set(referenceKey, ask.reference)
  return newPosting(byWay[ask.way], ask.amountMinor, {
    isReversal: ask.isReversal,
    isByOperator: ask.isByOperator,
    referenceKey,
    counterAccount: ask.way === 'service' ? 'cards' : `${name}:${ask.way}`,
    referenceId: String(ask.reference),
    description: ask.isPoison ? 'a\u0000b' : null,
    hold: ask.isHold ? { kind: 'reserve', seconds: 600 } : undefined,
  })
}

/** Through the writer: fast lanes first, and the careful lanes for the rest. */
async function postThroughLanes(run: Run, list: readonly Ask[]): Promise<Answer[]> {
  const post = writer.openList()
  const results = list.map((ask) => {
    const { hold, ...posting } = postingOf(run, ask)
    return hold ? (writer.postHold({ ...posting, hold }) as Promise<PostingResult>) : post(posting)
  })
  return await Promise.all(results.map((result) => result.catch((error: Error) => error)))
}

/** By the careful statement alone, in one transaction for each round of those that it holds back. */
async function postDirectly(run: Run, list: readonly Ask[]): Promise<Answer[]> {
  const answers = new Map<PendingPosting, HoldResult>()
  const pending = list.map((ask) => pendingOf(postingOf(run, ask)))
  let rest: readonly PendingPosting[] = pending
  while (rest.length > 0) {
    const done = await postLocked(direct.client, rest, { isPatient: true, writer: direct.number })
    for (const [posting, result] of done.answers) answers.set(posting, result)
    rest = done.held
  }
  return pending.map((each) => answers.get(each) as PostingResult)
}

const walletsSql = 'select id, balance, held, sequence, frozen_for from wallets where id = any($1::uuid[])'
const transfersSql = `select wallet_id, sequence, amount, balance_after, reference_key, counter_account from transfers
  where wallet_id = any($1::uuid[])`
const outcomesSql = `select wallet_id, sequence, amount, balance, coalesce(held, 0) as held, reference_key, refusal, is_hold is not null as is_hold from outcomes
  where reference_key = any($1::uuid[])`
const holdsSql = `select wallet_id, id as reference_key, amount from holds where wallet_id = any($1::uuid[]) and id = any($2::uuid[])
  and captured = 0 and released = 0 and expires_at = created_at + interval '600 seconds' and date_trunc('milliseconds', created_at) = created_at`
const positionsSql = `select counter_account, sum(debited)::bigint as debited, sum(credited)::bigint as credited,
  sum(transfers)::integer as transfers from positions where counter_account = 'cards' or counter_account like $1 group by 1`

const byReference = <T extends { reference: number }>(rows: T[]) => rows.toSorted((a, b) => a.reference - b.reference)

async function readRows({ name, wallets, references, cardsBefore }: Run): Promise<Rows> {
  const { pool } = opened.service.db
  const ids = wallets.map(({ id }) => id)
  const [wallet, transfer, outcome, hold, position] = await Promise.all([
    pool.query(walletsSql, [ids]),
    pool.query(transfersSql, [ids]),
    pool.query(outcomesSql, [[...references.keys()]]),
    pool.query(holdsSql, [ids, [...references.keys()]]),
    pool.query(positionsSql, [`${name}:%`]),
  ])
  const byId = new Map(wallet.rows.map((row) => [row.id, row]))
  const keysOf = (row: { wallet_id: string; reference_key: string }) => ({
    reference: references.get(referenceKeyOfUuid(row.reference_key))!,
    wallet: ids.indexOf(row.wallet_id),
  })
  return {
    wallets: ids.map((id) => {
      const { balance, held, sequence, frozen_for } = byId.get(id)
      return { balanceMinor: balance, heldMinor: held, sequence: Number(sequence), frozenFor: frozen_for }
    }),
    transfers: byReference(
      transfer.rows.map((row) => ({
        ...keysOf(row),
        sequence: Number(row.sequence),
        amountMinor: row.amount,
        balanceMinor: row.balance_after,
        account: row.counter_account.replace(`${name}:`, ''),
      })),
    ),
    outcomes: byReference(
      outcome.rows.map((row) => ({
        ...keysOf(row),
        sequence: row.sequence === null ? null : Number(row.sequence),
        amountMinor: row.amount,
        balanceMinor: row.balance,
        heldMinor: row.held,
        refusal: row.refusal,
        isHold: row.is_hold,
      })),
    ),
    holds: byReference(hold.rows.map((row) => ({ ...keysOf(row), amountMinor: row.amount }))),
    positions: Object.fromEntries(
      position.rows.flatMap(({ counter_account, debited, credited, transfers }) => {
        const before = counter_account === 'cards' ? cardsBefore : ([0n, 0n, 0] as const)
        const change: Position = [debited - before[0], credited - before[1], transfers - before[2]]
        return change[2] === 0 ? [] : [[counter_account.replace(`${name}:`, ''), change]]
      }),
    ),
  }
}

const states = fc.tuple(...Array.from({ length: walletCount }, () => starts))
const lists = (maxLength: number) =>
  fc.array(fc.array(asks, { minLength: 1, maxLength, size: 'max' }), { minLength: 1, maxLength: 3, size: 'max' })

/**
 * On a slow machine the runs after the first seconds are left out. fast-check's own time limit would abandon a run while it still
 * writes, beside the next test.
 */
function withinSeconds<T extends unknown[]>(seconds: number, run: (...values: T) => Promise<void>) {
  const endsAt = performance.now() + seconds * 1_000
  return async (...values: T) => {
    if (performance.now() < endsAt) await run(...values)
  }
}

describe.each([
  ['the lanes', postThroughLanes, lists(16)],
  // One that fails a batch has no neighbours to fail where the test sends the batch itself.
  [
    'the careful statement',
    postDirectly,
    lists(12).map((each) => each.map((list) => list.map((ask) => ({ ...ask, isPoison: false })))),
  ],
] as const)('random batches through %s', (_, post, arbitrary) => {
  test('get the answers and rows that the rules decide', async () => {
    await fc.assert(
      fc.asyncProperty(
        states,
        arbitrary,
        withinSeconds(8, async (before, rounds) => {
          const [run, model] = await startRun(before)
          for (const list of rounds) checkList(model, list, await post(run, list), await readRows(run))
        }),
      ),
      { numRuns: 80 },
    )
  })
})

/** Any state, and any amounts and new holds of one link, so that many changes are at their limits. */
const changes = fc.record({
  start: starts,
  asked: fc.array(
    fc.record({
      amountMinor: fc.oneof(
        fc.bigInt(-12n, -1n),
        fc.bigInt(1n, 12n),
        fc.constantFrom(-maxBalanceMinor, maxBalanceMinor),
      ),
      mayHold: fc.boolean(),
    }),
    { minLength: 1, maxLength: 5, size: 'max' },
  ),
})

test.each([
  ['the fast statement', false],
  ['the fast statement for new references', true],
] as const)('%s moves a link exactly when allPost lets its sum post', async (_, isExpectedNew) => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(changes, { minLength: 12, maxLength: 24, size: 'max' }),
      withinSeconds(8, async (each) => {
        const [run, model] = await startRun(each.map(({ start }) => start))
        const groups = each.map(({ asked }, wallet) =>
          asked.map(({ amountMinor, mayHold }, i): Ask => {
            const ask = { ...fund(wallet, amountMinor), way: 'link 0' as const, isReversal: false }
            return { ...ask, isHold: mayHold && amountMinor < 0n, reference: wallet * 10 + i }
          }),
        )
        const postings = groups.map((group) => group.map((ask) => pendingOf(postingOf(run, ask))))
        const { answers } = await postFastHere(direct.client, postings.flat(), direct.number, { isExpectedNew })
        const resultOf = new Map(answers)
        const results = postings.map((group) => group.map((posting) => resultOf.get(posting)))
        // Sent again, a recorded posting is a repeat, which neither moves money nor fails its batch. The careful lane answers that of a hold.
        const again = new Map((await postFastHere(direct.client, postings.flat(), direct.number)).answers)
        for (const [posting, result] of answers)
          if (posting.hold && result.kind === 'outcome') expect(again.get(posting)).toBeUndefined()
          else if (result.kind === 'outcome')
            expect(again.get(posting)).toMatchObject({ outcome: result.outcome, replay: { mismatch: [] } })
        expect(results.map((group) => group.map(inShort))).toEqual(
          groups.map((group, i) => expected(model.wallets[i]!, group)),
        )
      }),
    ),
    { numRuns: 25 },
  )
})

const inShort = (result: PostingResult | undefined) => {
  if (result?.kind !== 'outcome') return result?.kind
  const { refusal, balanceMinor, heldMinor } = result.outcome
  return refusal ?? [balanceMinor, heldMinor]
}

/** What the fast statement answers: the balance and what is held on the way, the refusal of a lone debit or hold, or nothing. */
function expected(wallet: Wallet, asked: readonly Ask[]): ReturnType<typeof inShort>[] {
  const sum = sumUp(asked.map(operationOf))
  if (allPost(wallet, sum))
    return asked.map((_, i) => [
      wallet.balanceMinor + sum.offsetsMinor[i]!,
      wallet.heldMinor + sum.heldOffsetsMinor[i]!,
    ])
  // A hold may have expired: only the careful lane refuses on a wallet that has one.
  const [{ amountMinor }] = asked as [Ask]
  const isLone = asked.length === 1 && amountMinor < 0n && wallet.heldMinor === 0n
  if (isLone && wallet.frozenFor !== null) return ['inactive']
  if (isLone && wallet.balanceMinor + amountMinor < 0n) return ['INSUFFICIENT_BALANCE']
  return asked.map(() => undefined)
}

// On a cluster the lanes do not use it.
test.skipIf(isOnCluster)(
  'the smallest statement posts a posting exactly when allPost lets it post, and answers no other',
  async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(changes, { minLength: 12, maxLength: 24, size: 'max' }),
        withinSeconds(8, async (each) => {
          const [run, model] = await startRun(each.map(({ start }) => start))
          const postings = each.map(({ asked }, wallet) => {
            const ask = {
              ...fund(wallet, asked[0]!.amountMinor),
              way: 'link 0' as const,
              isReversal: false,
              reference: wallet,
            }
            return pendingOf(postingOf(run, ask))
          })
          const { answers } = await postLone(direct.client, postings, direct.number, noMark)
          const resultOf = new Map(answers)
          expect(postings.map((posting) => inShort(resultOf.get(posting)))).toEqual(
            postings.map(({ amountMinor }, wallet) => {
              const before = model.wallets[wallet]!
              const isPosted = allPost(before, sumUp([{ amountMinor, isReversal: false }]))
              return isPosted ? [before.balanceMinor + amountMinor, before.heldMinor] : undefined
            }),
          )
          const again = new Map((await postFastHere(direct.client, postings, direct.number)).answers)
          for (const [posting, result] of answers)
            expect(again.get(posting)).toMatchObject({ ...result, replay: { mismatch: [] } })
        }),
      ),
      { numRuns: 25 },
    )
  },
)
