/** Holds in the lanes of the writer: the rules against the database, and races decided by the lock on the wallet's row. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { expectBalancedBooks } from '../../../test/books.ts'
import { newClient, type Client } from '../../../test/client.ts'
import { heldCases } from '../../../test/decide-cases.ts'
import { eventually } from '../../../test/eventually.ts'
import { holdClient, holdOf, letHoldsAge, sweepHolds } from '../../../test/holds.ts'
import { lockWaitsSql } from '../../../test/lock-waits.ts'
import { postFastHere } from '../../../test/post-fast.ts'
import { newPosting, pendingOf } from '../../../test/postings.ts'
import {
  newApp,
  newUser,
  openTestService,
  type Credentials,
  type TestService,
  type TestUser,
} from '../../../test/service.ts'
import { postForApp, postForService } from '../../actions/money/post.ts'
import { captureHold, placeHold, voidHold } from '../../actions/money/manage-holds.ts'
import type { Wallet } from '../../ledger/decide.ts'
import { counterAccountOfApp } from '../../ledger/reference.ts'
import type { App } from '../apps.ts'
import type { Queryable } from '../connection/database.ts'
import { postLocked } from './careful-statement.ts'
import { openWriterClient, type WriterClient } from './connection.ts'
import type { HoldResult } from './posting.ts'
import { openWriter } from './writer.ts'

let opened: TestService
let credentials: Credentials
let app: App
let client: Client
let holds: ReturnType<typeof holdClient>

beforeAll(async () => {
  opened = await openTestService()
  credentials = await newApp(opened.service)
  app = (await opened.service.apps.find(credentials.clientId))!
  client = newClient(opened.app.fetch, credentials)
  holds = holdClient(client, credentials)
})
afterAll(async () => {
  await expectBalancedBooks(opened.service)
  await opened.close()
})

let count = 0
const reference = () => ({ referenceType: 'TEST', referenceId: `writer-${++count}` })
const now = () => performance.now()
const move = (user: TestUser, amountMinor: bigint, isReversal = false) =>
  postForService(opened.service, {
    walletId: user.userId,
    counterAccount: 'cards',
    amountMinor,
    isReversal,
    ...reference(),
    description: null,
  })
const reserve = (user: TestUser, amountMinor: bigint, seconds = 600) =>
  placeHold(opened.service, app, {
    ...user,
    amountMinor,
    ...reference(),
    description: null,
    seconds,
    arrivedAt: now(),
  })
const debit = (user: TestUser, amountMinor: bigint) =>
  postForApp(opened.service, app, { direction: 'debit', ...user, amountMinor, ...reference(), description: null })
const idOf = (result: HoldResult) => (result.kind === 'outcome' ? result.hold!.id : '')

/** A wallet in that state, reached by movements; `id` is its hold, if it has one. */
async function walletWith(balance: bigint, held: bigint, frozenFor: Wallet['frozenFor']) {
  const user = await newUser(opened.service, credentials)
  const most = balance > held ? balance : held
  if (most > 0n) await move(user, most)
  const id = held > 0n ? idOf(await reserve(user, held)) : ''
  if (balance < most) await move(user, balance - most, true)
  if (frozenFor === 'operator')
    await opened.service.db.pool.query(`update wallets set frozen_for = 'operator' where id = $1`, [user.userId])
  return { user, id }
}

const stateOf = async ({ userId }: TestUser) => {
  const { rows } = await opened.service.db.pool.query(
    `select balance, held, coalesce(frozen_for, 'active') as freeze from wallets where id = $1`,
    [userId],
  )
  const [{ balance, held, freeze }] = rows
  return `${balance} ${held} ${freeze}`
}
const said = (result: HoldResult) => {
  if (result.kind === 'inactive') return 'WALLET_INACTIVE'
  if (result.kind === 'hold-refused') return result.refusal
  return (result.kind === 'outcome' && result.outcome.refusal) || undefined
}

describe('the database agrees with the rules', () => {
  test.each(heldCases)(
    'balance %p, held %p, frozen for %p, amount %p, change of held %p, %s: %s',
    async (balance, held, frozenFor, amountMinor, change, kind, expected) => {
      const { user, id } = await walletWith(balance, held, frozenFor)
      const before = await stateOf(user)
      const result = await (() => {
        if (kind === 'reversal') return move(user, amountMinor, true)
        if (kind === 'capture') {
          const isFinal = change === -held && amountMinor > change
          const asked = { amountMinor: -amountMinor, isFinal, allowsExtra: amountMinor < change }
          return captureHold(opened.service, app, {
            holdId: id,
            ...asked,
            reference: reference(),
            description: null,
            arrivedAt: now(),
          })
        }
        if (change > 0n) return reserve(user, change)
        if (amountMinor > 0n) return move(user, amountMinor)
        return change < 0n ? voidHold(opened.service, app, id, now()) : debit(user, -amountMinor)
      })()
      // A void gives back all that is held: the case of a part is for several holds.
      if (change < 0n && kind === 'plain' && change !== -held) return
      expect(said(result) ?? (await stateOf(user))).toBe(expected)
      if (said(result)) expect(await stateOf(user)).toBe(before)
    },
  )
})

describe('a lone debit of a wallet with holds', () => {
  test('is refused by the careful lane, with what is available', async () => {
    const { user } = await walletWith(100n, 60n, null)
    expect(await debit(user, 41n)).toMatchObject({
      outcome: { refusal: 'INSUFFICIENT_BALANCE', balanceMinor: 100n, heldMinor: 60n },
    })
    expect(await debit(user, 40n)).toMatchObject({ outcome: { refusal: null, balanceMinor: 60n, heldMinor: 60n } })
  })

  test('many at once with a hold pay exactly what is available', async () => {
    const { user } = await walletWith(50n, 0n, null)
    const results = await Promise.all(
      Array.from({ length: 60 }, (_, i) => (i % 3 === 0 ? reserve(user, 2n) : debit(user, 1n))),
    )
    const paid = results.filter((result) => said(result) === undefined).length
    expect(paid).toBeLessThan(60)
    const { rows } = await opened.service.db.pool.query('select balance - held as free from wallets where id = $1', [
      user.userId,
    ])
    // A hold of 2 may be the last that is refused.
    expect([0n, 1n]).toContain(rows[0].free)
  })
})

const pendingHold = (user: TestUser, amountMinor: bigint) =>
  pendingOf(
    newPosting({ clientId: credentials.clientId, serviceUserId: user.serviceUserId }, -amountMinor, {
      hold: { kind: 'reserve', seconds: 600 },
    }),
  )

/** A connection of a lane that waits for a row longer than any lane does. */
async function withWriter<T>(work: (writer: WriterClient) => Promise<T>): Promise<T> {
  const opening = await openWriterClient(opened.service.db.connection, 60_000, () => {})
  try {
    return await work(opening)
  } finally {
    await opening.client.end()
  }
}

test('a hold of another app is not found, whatever the caller asked before', async () => {
  const { user, id } = await walletWith(100n, 60n, null)
  const actor = counterAccountOfApp('stranger')
  const hold = { kind: 'void', holdId: id, actor, reason: null } as const
  const by = { walletId: user.userId, clientId: 'stranger' }
  const result = await opened.service.writer.post(newPosting(by, 0n, { hold }))
  expect([said(result), await stateOf(user)]).toEqual(['HOLD_NOT_FOUND', '100 60 active'])
})

describe('a new hold', () => {
  const cases = heldCases.filter(([, , , , change]) => change > 0n)

  test.each(cases)(
    'with balance %p, held %p, frozen for %p is decided the same by both statements',
    async (balance, held, frozenFor, _, change, __, expected) => {
      const [fast, careful] = [await walletWith(balance, held, frozenFor), await walletWith(balance, held, frozenFor)]
      const results = await withWriter(async ({ client: db, number: writer }) => {
        const options = { isPatient: true, writer }
        return [
          await postFastHere(db, [pendingHold(fast.user, change)], writer),
          await postLocked(db, [pendingHold(careful.user, change)], options),
        ].map(({ answers }) => answers[0]?.[1])
      })
      const states = [await stateOf(fast.user), await stateOf(careful.user)]
      expect(results[1] && said(results[1])).toBe(states[1] === expected ? undefined : expected)
      // On a wallet with holds, one of which may have expired, the fast statement refuses nothing.
      const isUndecided = states[1] !== expected && held > 0n
      expect(results[0] && said(results[0])).toBe(isUndecided || states[1] === expected ? undefined : expected)
      expect(results[0] === undefined).toBe(isUndecided)
      expect(states[0]).toBe(states[1])
    },
  )

  test('takes the fast lane, reported to its app or not; the lane of holds has those that may be refused', async () => {
    const lanes: string[] = []
    const { connection } = opened.service.db
    const events = {
      batch: (lane: string) => void lanes.push(lane),
      fault: () => {},
      hold: () => {},
      nodeFault: () => {},
      outage: () => {},
    }
    const writer = openWriter(connection, 1, events)
    const { user } = await walletWith(100n, 0n, null)
    const lanesOf = async (amountMinor: bigint, hasEvents: boolean) => {
      lanes.length = 0
      const { hold, ...posting } = pendingHold(user, amountMinor)
      const result = await writer.postHold({ ...posting, hasEvents, hold: hold! })
      await eventually(() => Object.values(writer.depths()).every((depth) => depth === 0), true)
      return [said(result), ...lanes]
    }
    expect(await lanesOf(10n, false)).toEqual([undefined, 'fast'])
    expect(await lanesOf(10n, true)).toEqual([undefined, 'fast'])
    expect(await lanesOf(100n, false)).toEqual(['INSUFFICIENT_BALANCE', 'fast', 'holds'])
    await writer.close()
  })

  test('that waits for the row while another is made does not pass the limit', async () => {
    const { user } = await walletWith(1_000n, 0n, null)
    await Promise.all(Array.from({ length: 99 }, () => reserve(user, 1n)))
    await withWriter(async ({ client: db, number }) => {
      const { answers } = await whileLocked(
        user,
        () => postFastHere(db, [pendingHold(user, 1n)], number),
        (other) => postFastHere(other, [pendingHold(user, 1n)], number),
      )
      expect(answers).toEqual([])
    })
    expect(said(await reserve(user, 1n))).toBe('HOLD_LIMIT')
  })
})

/** Locks the wallet, starts `work`, waits until it waits for the row, runs `meanwhile`, and lets go. */
async function whileLocked<T>(
  user: TestUser,
  work: () => Promise<T>,
  meanwhile: (other: Queryable) => Promise<unknown>,
): Promise<T> {
  const { pool } = opened.service.db
  const other = await pool.connect()
  await other.query('begin')
  await other.query('select 1 from wallets where id = $1 for update', [user.userId])
  const working = work()
  await eventually(async () => ((await pool.query(lockWaitsSql)).rowCount ?? 0) > 0, true)
  await meanwhile(other)
  await other.query('commit')
  other.release()
  return await working
}

const placed = async () => {
  const user = await newUser(opened.service, credentials)
  await client.credit(user.serviceUserId, 100)
  const { id } = holdOf(await holds.place(user.serviceUserId, 60, { expiresIn: 60 }))
  return { user, id }
}
const figures = async ({ serviceUserId }: TestUser) => {
  const { balance, held } = (await client.wallet(serviceUserId)).body
  return [balance, held]
}

describe('who comes first under the lock of the wallet decides', () => {
  test('a capture that waits for the row while its hold expires is refused: the clock is read under the lock', async () => {
    const { user, id } = await placed()
    const late = await whileLocked(
      user,
      () => holds.capture(id),
      () => letHoldsAge(opened, 61),
    )
    expect([late.status, late.body['code']]).toEqual([409, 'HOLD_EXPIRED'])
    expect(await figures(user)).toEqual([100, 0])
  })

  test('a sweep after a capture of an expired-looking hold gives nothing back twice', async () => {
    const { user, id } = await placed()
    await holds.capture(id, { amount: 10, final: false, referenceType: 'PART', referenceId: id })
    await letHoldsAge(opened, 61)
    await sweepHolds(opened)
    await sweepHolds(opened)
    expect(holdOf(await holds.read(id))).toMatchObject({ status: 'EXPIRED', captured: 10, remaining: 0 })
    expect(await figures(user)).toEqual([90, 0])
  })

  test('a sweep that waits while the hold is extended leaves it open', async () => {
    const { user, id } = await placed()
    await letHoldsAge(opened, 61)
    const { pool } = opened.service.db
    await whileLocked(
      user,
      () => sweepHolds(opened),
      () => pool.query(`update holds set expires_at = now() + interval '1 hour' where id = $1`, [id.slice(5)]),
    )
    expect(holdOf(await holds.read(id)).status).toBe('OPEN')
    expect(await figures(user)).toEqual([100, 60])
  })

  test.each(['capture', 'void'] as const)(
    'of a capture and a void at once only the first, a %s, counts',
    async (first) => {
      let wins = 0
      for (let round = 0; round < 20 && wins < 5; round++) {
        const { user, id } = await placed()
        const [other, ours] = first === 'capture' ? [holds.void, holds.capture] : [holds.capture, holds.void]
        // Both wait for the row. The lane takes them in the order in which they came, unless the first one waits too long on a busy machine.
        const replies = await whileLocked(
          user,
          () =>
            Promise.all([
              ours(id),
              eventually(async () => opened.service.writer.depths().holds, 1).then(() => other(id)),
            ]),
          () => eventually(async () => opened.service.writer.depths().holds, 2),
        )
        const isFirst = replies[0].status === 200
        expect(replies.map(({ status }) => status)).toEqual(isFirst ? [200, 409] : [409, 200])
        expect(replies[isFirst ? 1 : 0].body['code']).toBe('HOLD_CLOSED')
        expect(await figures(user)).toEqual([isFirst === (first === 'capture') ? 40 : 100, 0])
        if (isFirst) wins++
      }
      expect(wins).toBe(5)
    },
  )

  test('of two captures at once with different references one posts', async () => {
    const { user, id } = await placed()
    const replies = await whileLocked(
      user,
      () =>
        Promise.all(
          ['a', 'b'].map((name) => holds.capture(id, { referenceType: 'TWICE', referenceId: `${id} ${name}` })),
        ),
      () => eventually(async () => opened.service.writer.depths().holds, 2),
    )
    expect(replies.map(({ status }) => String(status)).toSorted()).toEqual(['200', '409'])
    expect(await figures(user)).toEqual([40, 0])
  })
})
