/** Captures in one statement: decided as by the careful lane, and only on a hold that is still as it was seen. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { expectBalancedBooks } from '../../../test/books.ts'
import { heldCases } from '../../../test/decide-cases.ts'
import { eventually } from '../../../test/eventually.ts'
import { letHoldsAge } from '../../../test/holds.ts'
import { beginPatiently, lockWaitsSql } from '../../../test/lock-waits.ts'
import { newPosting, pendingOf } from '../../../test/postings.ts'
import { newApp, newUser, openTestService, type Credentials, type TestService } from '../../../test/service.ts'
import { extendHold, placeHold, voidHold } from '../../actions/money/manage-holds.ts'
import { postForService } from '../../actions/money/post.ts'
import { viewHold, type Capture, type HoldView } from '../../ledger/hold.ts'
import type { App } from '../apps.ts'
import { postLocked } from './careful-statement.ts'
import { openWriterClient, type WriterClient } from './connection.ts'
import { postCaptures } from './fast-captures.ts'
import type { HoldPosting, HoldResult } from './posting.ts'
import { findHold } from './stored-holds.ts'
import { openWriter } from './writer.ts'

let opened: TestService
let credentials: Credentials
let app: App
/** Waits for a row longer than any lane does. */
let direct: WriterClient

beforeAll(async () => {
  opened = await openTestService()
  credentials = await newApp(opened.service)
  app = (await opened.service.apps.find(credentials.clientId))!
  direct = await openWriterClient(opened.service.db.connection, 60_000, () => {})
})
afterAll(async () => {
  await direct.client.end()
  await expectBalancedBooks(opened.service)
  await opened.close()
})

let count = 0
const reference = () => ({ referenceType: 'TEST', referenceId: `captures-${++count}` })
const now = () => performance.now()
const move = (walletId: string, amountMinor: bigint) =>
  postForService(opened.service, {
    walletId,
    counterAccount: 'cards',
    amountMinor,
    isReversal: amountMinor < 0n,
    ...reference(),
    description: null,
  })
const seen = async (id: string) => {
  const { hold, at } = (await findHold(opened.service.db.pool, id))!
  return viewHold(hold, at)
}

/** A wallet with these figures, reached by movements, and its hold. */
async function holdOn(balance: bigint, held: bigint, isFrozen = false): Promise<HoldView> {
  const user = await newUser(opened.service, credentials)
  const most = balance > held ? balance : held
  await move(user.userId, most)
  const asked = { ...user, amountMinor: held, ...reference(), description: 'Chairs', seconds: 600, arrivedAt: now() }
  const placed = await placeHold(opened.service, app, asked)
  if (placed.kind !== 'outcome') throw new Error(placed.kind)
  if (balance < most) await move(user.userId, balance - most)
  if (isFrozen)
    await opened.service.db.pool.query(`update wallets set frozen_for = 'operator' where id = $1`, [user.userId])
  return await seen(placed.hold!.id)
}

const usual: Capture = { amountMinor: undefined, isFinal: true, allowsExtra: false }

function postingOf(hold: HoldView, capture: Partial<Capture> = {}): HoldPosting {
  const asked = { ...usual, ...capture }
  const by = { walletId: hold.walletId, clientId: hold.clientId }
  const request = { kind: 'capture', holdId: hold.id, seen: hold, ...asked } as const
  return newPosting(by, -(asked.amountMinor ?? 0n), { hold: request })
}
const part = (hold: HoldView) => postingOf(hold, { amountMinor: 1n, isFinal: false })
const post = async (...postings: HoldPosting[]) => {
  const { answers } = await postCaptures(direct.client, postings.map(pendingOf), direct.number)
  return answers.map(([, result]) => result)
}

/** Everything that is stored about the wallet and its holds, without keys and times. */
async function rowsOf(walletId: string) {
  const sql = `select balance, held, sequence, frozen_for,
    (select array_agg(h.captured || ' ' || h.released || ' ' || h.extra || ' ' || h.steps || ' ' || coalesce(h.ended_by, 'open') || ' ' || coalesce(h.closed_at > h.created_at, false))
      from holds h where wallet_id = w.id) as holds,
    (select array_agg(s.number || ' ' || s.kind || ' ' || s.amount || ' ' || s.sequence || ' ' || s.actor || ' ' || s.captured || ' ' || s.remaining || ' ' ||
      (s.expires_at = h.expires_at) || ' ' || coalesce(s.at = h.closed_at, true))
      from hold_steps s join holds h on h.wallet_id = s.wallet_id and h.id = s.hold_id where s.wallet_id = w.id) as steps,
    (select array_agg(amount || ' ' || balance_after || ' ' || counter_account || ' ' || reference_type order by sequence) from transfers where wallet_id = w.id) as entries,
    (select array_agg(amount || ' ' || balance || ' ' || coalesce(held, 0) order by created_at) from outcomes where wallet_id = w.id) as outcomes
    from wallets w where id = $1`
  return (await opened.service.db.pool.query(sql, [walletId])).rows[0]
}

const withoutNames = (result: HoldResult | undefined) => {
  if (result?.kind !== 'outcome') return result?.kind
  const { outcome, hold } = result
  const { walletId: _, referenceKey: __, ...figures } = outcome
  const { capturedMinor, releasedMinor, extraMinor, steps, status, endedBy, closedAt } = hold!
  return { ...figures, capturedMinor, releasedMinor, extraMinor, steps, status, endedBy, isClosed: closedAt !== null }
}

describe('a capture is decided the same by both statements', () => {
  const captures = heldCases.filter(([, , , , , kind]) => kind === 'capture')

  test.each(captures)(
    'balance %p, held %p, frozen for %p, amount %p, change of held %p',
    async (balance, held, frozenFor, amountMinor, change, _, expected) => {
      const capture = {
        amountMinor: -amountMinor,
        isFinal: change === -held && amountMinor > change,
        allowsExtra: amountMinor < change,
      }
      const [fast, careful] = [
        await holdOn(balance, held, frozenFor === 'operator'),
        await holdOn(balance, held, frozenFor === 'operator'),
      ]
      const before = await rowsOf(fast.walletId)
      const [decided] = await post(postingOf(fast, capture))
      const { client, number: writer } = direct
      const asked = [pendingOf(postingOf(careful, capture))]
      const { answers } = await postLocked(client, asked, { isPatient: true, writer })
      // Debts, extras and refusals are left to the careful lane.
      const isUsual = frozenFor !== 'debt' && amountMinor >= change && /^\d/.test(expected)
      expect(decided !== undefined).toBe(isUsual)
      if (decided) expect(withoutNames(decided)).toEqual(withoutNames(answers[0]?.[1]))
      const after = await rowsOf(fast.walletId)
      expect(after).toEqual(decided ? await rowsOf(careful.walletId) : before)
    },
  )
})

test('what the statement answers is what is stored', async () => {
  const hold = await holdOn(100n, 60n)
  const [part] = await post(postingOf(hold, { amountMinor: 10n, isFinal: false }))
  expect(part).toMatchObject({ hold: { ...(await seen(hold.id)), capturedMinor: 10n, status: 'OPEN' } })
  const [rest] = await post(postingOf(await seen(hold.id)))
  expect(rest).toMatchObject({ hold: { ...(await seen(hold.id)), capturedMinor: 60n, status: 'CAPTURED' } })
})

test('a second capture of a wallet, a used reference, an ended hold and one that has changed get no answer', async () => {
  const [hold, other, expired, voided, extended] = await Promise.all([1, 2, 3, 4, 5].map(() => holdOn(100n, 60n)))
  await opened.service.db.pool.query(`update holds set expires_at = now() where id = $1`, [expired!.id])
  await voidHold(opened.service, app, voided!.id, now())
  await extendHold(opened.service, app, { holdId: extended!.id, seconds: 6_000 }, now())
  const used = postingOf(other!)
  const first = part(hold!)
  await post(first)
  const again = { ...used, referenceKey: first.referenceKey }
  const lone = await seen(hold!.id)
  const postings = [
    postingOf(lone),
    postingOf(lone),
    again,
    ...[expired!, voided!, extended!].map((each) => postingOf(each)),
  ]
  const { answers } = await postCaptures(direct.client, postings.map(pendingOf), direct.number)
  expect(answers.map(([posting]) => posting.referenceKey)).toEqual([postings[0]!.referenceKey])
  // Nor one whose hold had ended when it was read.
  expect(await post(postingOf(await seen(voided!.id)))).toEqual([])
})

/** Locks the wallet, starts the capture of its hold beside one of another, waits until it waits for the row, runs `meanwhile`, and lets go. */
async function captureDuring(meanwhile: (hold: HoldView) => Promise<unknown>) {
  const [hold, neighbour] = [await holdOn(100n, 60n), await holdOn(100n, 60n)]
  const { pool } = opened.service.db
  const other = await pool.connect()
  await other.query('begin')
  await other.query('select 1 from wallets where id = $1 for update', [hold.walletId])
  const posted = post(postingOf(hold), postingOf(neighbour)).then(
    (answers) => `${answers.length} answers`,
    (error: Error) => ('column' in error ? `no ${String(error.column)}` : String(error)),
  )
  await eventually(async () => ((await pool.query(lockWaitsSql)).rowCount ?? 0) > 0, true)
  await meanwhile(hold)
  await other.query('commit')
  other.release()
  return { hold, neighbour, posted: await posted }
}

describe('a capture that waits for the row of its wallet', () => {
  test('posts when nothing happens meanwhile', async () => {
    const { hold, posted } = await captureDuring(() => Promise.resolve())
    expect(posted).toBe('2 answers')
    expect((await seen(hold.id)).status).toBe('CAPTURED')
  })

  test.each([
    ['has expired', () => letHoldsAge(opened, 601)],
    [
      'has ended',
      ({ id }: HoldView) =>
        opened.service.db.pool.query(
          `update holds set released = amount, closed_at = now(), ended_by = 'void', steps = 1 where id = $1`,
          [id],
        ),
    ],
    [
      'has changed',
      ({ id }: HoldView) =>
        opened.service.db.pool.query('update holds set captured = 1, steps = 1 where id = $1', [id]),
    ],
  ] as const)('writes nothing of its batch when its hold %s meanwhile', async (_, meanwhile) => {
    const { hold, neighbour, posted } = await captureDuring(meanwhile)
    expect(posted).toBe('no number')
    expect([(await rowsOf(hold.walletId)).balance, (await rowsOf(neighbour.walletId)).balance]).toEqual([100n, 100n])
    // The books of this wallet are repaired: the change above left them without its step.
    const undo = `update holds set captured = 0, released = 0, steps = 0, closed_at = null, ended_by = null where id = $1`
    await opened.service.db.pool.query(undo, [hold.id])
  })
})

test('a capture takes the fast lane; the lane of holds has those to be reported, and those that are left undecided', async () => {
  const lanes: string[] = []
  const steps: string[] = []
  const writer = openWriter(opened.service.db.connection, 1, {
    batch: (lane) => void lanes.push(lane),
    fault: () => {},
    hold: (step) => void steps.push(step),
    nodeFault: () => {},
    outage: () => {},
  })
  const lanesOf = async (posting: HoldPosting) => {
    lanes.length = 0
    steps.length = 0
    await writer.postHold(posting)
    await eventually(() => Object.values(writer.depths()).every((depth) => depth === 0), true)
    return [...lanes, ...steps]
  }
  const hold = await holdOn(100n, 60n)
  expect(await lanesOf(part(hold))).toEqual(['fast', 'captured'])
  expect(
    await lanesOf({ ...postingOf(await seen(hold.id), { amountMinor: 1n, isFinal: false }), hasEvents: true }),
  ).toEqual(['holds', 'captured'])
  // It was seen before these two.
  expect(await lanesOf(part(hold))).toEqual(['fast', 'holds', 'captured'])
  await writer.close()
})

test('a capture of a locked wallet fails the captures of one batch and no debit, and later ones go to the lane that skips it', async () => {
  const [locked, ...others] = await Promise.all(Array.from({ length: 9 }, () => holdOn(100n, 60n)))
  const user = await newUser(opened.service, credentials)
  await move(user.userId, 100n)
  const faults: string[] = []
  const lanes = new Set<string>()
  const writer = openWriter(opened.service.db.connection, 1, {
    batch: (lane) => void lanes.add(lane),
    fault: (lane) => void faults.push(lane),
    hold: () => {},
    nodeFault: () => {},
    outage: () => {},
  })
  const stranger = await opened.service.db.pool.connect()
  await beginPatiently(stranger)
  await stranger.query('select 1 from wallets where id = $1 for update', [locked!.walletId])
  // A slow machine may hold the row past the deadline.
  const postStuck = () => writer.postHold(part(locked!)).catch(() => undefined)
  const stuck = [postStuck()]
  const { hold: _, ...debit } = part(locked!)
  const [posted] = await Promise.all([
    writer.post({ ...debit, by: { clientId: app.clientId, serviceUserId: user.serviceUserId } }),
    ...others.slice(0, 4).map((hold) => writer.postHold(part(hold))),
  ])
  expect(posted).toMatchObject({ kind: 'outcome', outcome: { balanceMinor: 99n } })
  expect(posted).not.toHaveProperty('replay')
  expect([...lanes]).not.toContain('careful')
  for (const hold of others.slice(4)) {
    stuck.push(postStuck())
    await writer.postHold(part(hold))
  }
  expect(faults).toEqual(['fast'])
  await stranger.query('rollback')
  stranger.release()
  await Promise.all(stuck)
  await writer.close()
})
