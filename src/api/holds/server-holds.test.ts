import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { expectBalancedBooks } from '../../../test/books.ts'
import { newClient, type Client } from '../../../test/client.ts'
import { holdClient, holdOf, letHoldsAge, sweepHolds } from '../../../test/holds.ts'
import {
  linkUser,
  newApp,
  newUser,
  openTestService,
  operator,
  type Credentials,
  type TestService,
  type TestUser,
} from '../../../test/service.ts'
import { freezeWallet, unfreezeWallet } from '../../actions/money/manage-wallets.ts'
import { postForService } from '../../actions/money/post.ts'
import { findKeptReason } from '../../actions/people/delete-account.ts'
import { updateLinkDisconnected } from '../../store/links.ts'
import { verifyBooks } from '../../store/verify/verify.ts'

let opened: TestService
let credentials: Credentials
let client: Client
let holds: ReturnType<typeof holdClient>
let user: TestUser
let su: string

beforeAll(async () => {
  opened = await openTestService()
  credentials = await newApp(opened.service)
  client = newClient(opened.app.fetch, credentials)
  holds = holdClient(client, credentials)
})
beforeEach(async () => {
  user = await newUser(opened.service, credentials)
  su = user.serviceUserId
  await client.credit(su, 100)
})
afterAll(async () => {
  await expectBalancedBooks(opened.service)
  const faults: string[] = []
  await verifyBooks(opened.service.db.connection, { onFault: ({ message }) => faults.push(message) })
  expect(faults).toEqual([])
  await opened.close()
})

const figures = async () => {
  const { balance, available, held } = (await client.wallet(su)).body
  return [balance, available, held]
}
const figuresOf = ({ body: { balance, available, held } }: { body: Record<string, unknown> }) => [
  balance,
  available,
  held,
]
const chargeBack = (minor: bigint) =>
  postForService(opened.service, {
    walletId: user.userId,
    counterAccount: 'cards',
    amountMinor: -minor,
    isReversal: true,
    referenceType: 'CHARGEBACK',
    referenceId: String(Math.random()),
    description: null,
  })
const frozenFor = async () =>
  (await opened.service.db.pool.query('select frozen_for from wallets where id = $1', [user.userId])).rows[0].frozen_for

const lifeOf = (hold: { createdAt: string; expiresAt: string }) =>
  Date.parse(hold.expiresAt) - Date.parse(hold.createdAt)
const refusal = ({ status, body }: { status: number; body: Record<string, unknown> }) => [status, body['code']]
const place = async (amount = 80) => holdOf(await holds.place(su, amount, { expiresIn: 60 })).id
const correct = (amountMinor: bigint) =>
  postForService(opened.service, {
    walletId: user.userId,
    counterAccount: 'adjustments',
    amountMinor,
    isByOperator: true,
    referenceType: 'CORRECTION',
    referenceId: String(Math.random()),
    description: null,
  })

describe('it works', () => {
  test('a hold lowers what is available and leaves the balance', async () => {
    const placed = await holds.place(su, 30, { description: 'Order 7', referenceId: 'order-7' })
    expect(placed.status).toBe(200)
    expect(placed.body).toMatchObject({ balance: 100, available: 70, held: 30, message: 'Held 30.00 USD.' })
    expect(placed.body).not.toHaveProperty('transactionId')
    const hold = holdOf(placed)
    expect(hold).toMatchObject({
      status: 'OPEN',
      amount: 30,
      captured: 0,
      remaining: 30,
      currency: 'USD',
      referenceType: 'ORDER',
      referenceId: 'order-7',
      description: 'Order 7',
      closedAt: null,
    })
    expect(hold.id).toMatch(/^hold_[0-9a-f]{32}$/)
    expect(Date.parse(hold.expiresAt) - Date.parse(hold.createdAt)).toBe(7 * 24 * 3_600_000)
    expect(await figures()).toEqual([100, 70, 30])
    expect((await client.wallet(su)).body['transactions']).toHaveLength(1)
  })

  test('a debit and check-balance count what is available', async () => {
    await holds.place(su, 30)
    expect((await client.checkBalance(su, '70')).body).toEqual({
      balance: 100,
      available: 70,
      held: 30,
      requiredAmount: 70,
      hasSufficientBalance: true,
    })
    expect((await client.checkBalance(su, '70.01')).body['hasSufficientBalance']).toBeFalse()
    const refused = await client.debit(su, 80)
    expect(refused.status).toBe(400)
    expect(refused.body).toMatchObject({
      code: 'INSUFFICIENT_BALANCE',
      balance: 100,
      available: 70,
      held: 30,
      requiredAmount: 80,
      shortfall: 10,
    })
    expect(figuresOf(await client.debit(su, 70))).toEqual([30, 0, 30])
  })

  test('a capture of all that remains is a debit with the reference of the hold', async () => {
    const { id } = holdOf(await holds.place(su, 30, { referenceId: 'order-whole', description: 'Whole' }))
    const captured = await holds.capture(id)
    expect(captured.status).toBe(200)
    expect(captured.body).toMatchObject({ balance: 70, available: 70, held: 0, message: 'Debited 30.00 USD.' })
    expect(holdOf(captured)).toMatchObject({ status: 'CAPTURED', captured: 30, remaining: 0 })
    const [entry] = (await client.wallet(su)).body['transactions'] as object[]
    expect(entry).toMatchObject({
      id: captured.body['transactionId'],
      type: 'DEBIT',
      amount: 30,
      balanceAfter: 70,
      referenceType: 'ORDER',
      referenceId: 'order-whole',
      description: 'Whole',
    })
  })

  test('a capture of a part releases the rest at once', async () => {
    const { id } = holdOf(await holds.place(su, 30))
    const captured = await holds.capture(id, { amount: 12.5 })
    expect(figuresOf(captured)).toEqual([87.5, 87.5, 0])
    expect(holdOf(captured)).toMatchObject({ status: 'CAPTURED', captured: 12.5, remaining: 0 })
  })

  test('several captures leave the rest held until the final one', async () => {
    const { id } = holdOf(await holds.place(su, 30))
    const part = (amount: number, referenceId: string, final: boolean) =>
      holds.capture(id, { amount, final, referenceType: 'PART', referenceId })
    const first = await part(10, `${id} 1`, false)
    expect(figuresOf(first)).toEqual([90, 70, 20])
    expect(holdOf(first)).toMatchObject({ status: 'OPEN', captured: 10, remaining: 20, closedAt: null })
    expect(holdOf(await part(5, `${id} 2`, false))).toMatchObject({ status: 'OPEN', captured: 15, remaining: 15 })
    expect(holdOf(await part(1, `${id} 3`, true))).toMatchObject({ status: 'CAPTURED', captured: 16, remaining: 0 })
    expect(await figures()).toEqual([84, 84, 0])
  })

  test('a part that takes all that remains closes the hold', async () => {
    const { id } = holdOf(await holds.place(su, 30))
    const captured = await holds.capture(id, { amount: 30, final: false, referenceType: 'PART', referenceId: id })
    expect(holdOf(captured)).toMatchObject({ status: 'CAPTURED', captured: 30, remaining: 0 })
  })

  test('a capture may take more than was held, as far as it is available', async () => {
    const { id } = holdOf(await holds.place(su, 30))
    const captured = await holds.capture(id, { amount: 100, allowExtra: true })
    expect(figuresOf(captured)).toEqual([0, 0, 0])
    expect(holdOf(captured)).toMatchObject({ status: 'CAPTURED', amount: 30, captured: 100, remaining: 0 })
  })

  test('a void releases what remains', async () => {
    const { id } = holdOf(await holds.place(su, 30))
    await holds.capture(id, { amount: 10, final: false, referenceType: 'PART', referenceId: id })
    const voided = await holds.void(id)
    expect(voided.status).toBe(200)
    expect(figuresOf(voided)).toEqual([90, 90, 0])
    expect(holdOf(voided)).toMatchObject({ status: 'VOIDED', captured: 10, remaining: 0 })
    expect(voided.body).not.toHaveProperty('replayed')
  })

  test('an extension moves the end later, never earlier, and never past 30 days', async () => {
    const placed = holdOf(await holds.place(su, 30, { expiresIn: 600 }))
    const later = holdOf(await holds.extend(placed.id, 3_600))
    expect(lifeOf(later)).toBeGreaterThanOrEqual(3_600_000)
    expect(holdOf(await holds.extend(placed.id, 60)).expiresAt).toBe(later.expiresAt)
    await letHoldsAge(opened, 60)
    expect(lifeOf(holdOf(await holds.extend(placed.id, 2_592_000)))).toBe(2_592_000_000)
    expect(holdOf(await holds.read(placed.id)).status).toBe('OPEN')
  })

  test('a hold is read by its id, and listed by its user, newest first, by pages and by status', async () => {
    const ids: string[] = []
    for (let i = 1; i <= 5; i++) ids.unshift(holdOf(await holds.place(su, i)).id)
    await holds.void(ids[1]!)
    await holds.capture(ids[3]!)
    expect(holdOf(await holds.read(ids[0]!))).toMatchObject({ id: ids[0]!, amount: 5, status: 'OPEN' })
    const listed = async (query: Record<string, string>) => {
      const { body } = await holds.list(su, query)
      return [(body['holds'] as { id: string }[]).map(({ id }) => id), body['nextBefore']]
    }
    expect(await listed({})).toEqual([ids, null])
    expect(await listed({ limit: '2' })).toEqual([ids.slice(0, 2), ids[1]])
    expect(await listed({ limit: '2', before: ids[1]! })).toEqual([ids.slice(2, 4), ids[3]])
    expect(await listed({ limit: '2', before: ids[3]! })).toEqual([ids.slice(4), null])
    expect(await listed({ status: 'OPEN' })).toEqual([[ids[0], ids[2], ids[4]], null])
    expect(await listed({ status: 'VOIDED' })).toEqual([[ids[1]], null])
    expect(await listed({ status: 'CAPTURED' })).toEqual([[ids[3]], null])
    await letHoldsAge(opened, 8 * 24 * 3_600)
    expect(await listed({ status: 'EXPIRED' })).toEqual([[ids[0], ids[2], ids[4]], null])
    expect(await listed({ status: 'OPEN' })).toEqual([[], null])
  })

  test('one that is closed between two pages of the list is listed once', async () => {
    const ids: string[] = []
    for (let i = 1; i <= 4; i++) ids.unshift(holdOf(await holds.place(su, i)).id)
    const pageOf = async (query: Record<string, string>) =>
      ((await holds.list(su, { limit: '2', ...query })).body['holds'] as { id: string; status: string }[]).map(
        ({ id, status }) => `${ids.indexOf(id)} ${status}`,
      )
    expect(await pageOf({})).toEqual(['0 OPEN', '1 OPEN'])
    for (const id of ids.slice(0, 3)) await holds.void(id)
    expect(await pageOf({ before: ids[1]! })).toEqual(['2 VOIDED', '3 OPEN'])
  })

  test('one that an older process closed, which does not write the state in its key, is closed', async () => {
    const [closed, open] = [holdOf(await holds.place(su, 30)).id, holdOf(await holds.place(su, 20)).id]
    await opened.service.db.pool.query(
      `with hold as (
         update holds set released = amount, closed_at = now(), ended_by = 'void', steps = 1 where id = $1 returning *
       ), step as (
         insert into hold_steps (wallet_id, hold_id, number, kind, amount, actor, captured, remaining, expires_at, at)
         select wallet_id, id, 1, 'void', amount, 'app:' || client_id, 0, 0, expires_at, closed_at from hold
       )
       update wallets set held = held - 3000, open_holds = open_holds - 1 where id = $2`,
      [closed.slice(5), user.userId],
    )
    expect(holdOf(await holds.read(closed))).toMatchObject({ status: 'VOIDED', remaining: 0 })
    expect((await holds.capture(closed)).body['code']).toBe('HOLD_CLOSED')
    const listed = async (query: Record<string, string>) =>
      ((await holds.list(su, query)).body['holds'] as { id: string }[]).map(({ id }) => id)
    expect([await listed({ status: 'OPEN' }), await listed({})]).toEqual([[open], [open, closed]])
    await letHoldsAge(opened, 8 * 24 * 3_600)
    expect(await figures()).toEqual([100, 100, 0])
    expect((await client.debit(su, 100)).status).toBe(200)
    expect(holdOf(await holds.read(closed))).toMatchObject({ status: 'VOIDED' })
    await opened.service.db.pool.query('update holds set is_closed = true where id = $1', [closed.slice(5)])
  })
})

describe('a repeat', () => {
  test('of a hold returns the first answer, with the hold as it is now, and reserves nothing', async () => {
    const first = await holds.place(su, 30, { referenceId: `again ${su}` })
    await client.debit(su, 50)
    await holds.capture(holdOf(first).id, { amount: 1 })
    const again = await holds.place(su, 30, { referenceId: `again ${su}` })
    expect(again.status).toBe(200)
    expect(again.headers.get('idempotent-replayed')).toBe('true')
    expect(figuresOf(again)).toEqual([100, 70, 30])
    expect(again.body).toMatchObject({ replayed: true, message: 'Held 30.00 USD.' })
    expect(again.body).not.toHaveProperty('mismatch')
    expect(holdOf(again)).toMatchObject({ id: holdOf(first).id, status: 'CAPTURED', captured: 1 })
    expect(await figures()).toEqual([49, 49, 0])
  })

  test('of a hold with another amount or user says what differs', async () => {
    const other = await newUser(opened.service, credentials)
    await holds.place(su, 30, { referenceId: `differs ${su}` })
    const amount = await holds.place(su, 31, { referenceId: `differs ${su}` })
    expect([amount.status, amount.body['mismatch'], holdOf(amount).amount]).toEqual([200, ['amount'], 30])
    const user = await holds.place(other.serviceUserId, 30, { referenceId: `differs ${su}` })
    expect([user.status, user.body['mismatch'], holdOf(user).amount]).toEqual([200, ['user'], 30])
  })

  test('of a hold that was refused is refused again, after a credit too, and cannot be captured', async () => {
    const refused = await holds.place(su, 101, { referenceId: `refused ${su}` })
    expect(refused.body).toMatchObject({
      code: 'INSUFFICIENT_BALANCE',
      available: 100,
      requiredAmount: 101,
      shortfall: 1,
    })
    await client.credit(su, 100)
    const again = await holds.place(su, 101, { referenceId: `refused ${su}` })
    expect([again.status, again.body['code'], again.body['replayed']]).toEqual([400, 'INSUFFICIENT_BALANCE', true])
    expect((await holds.list(su)).body['holds']).toEqual([])
  })

  test('of a capture returns the first answer, also after the hold was closed or has expired', async () => {
    const { id } = holdOf(await holds.place(su, 30))
    const part = { amount: 10, final: false, referenceType: 'PART', referenceId: `${id} part` }
    const first = await holds.capture(id, part)
    for (const change of [() => holds.void(id), () => letHoldsAge(opened, 8 * 24 * 3_600)]) {
      await change()
      const again = await holds.capture(id, part)
      expect([again.status, again.body['replayed'], again.body['transactionId']]).toEqual([
        200,
        true,
        first.body['transactionId'],
      ])
      expect(figuresOf(again)).toEqual(figuresOf(first))
      expect(again.body).not.toHaveProperty('mismatch')
    }
    expect(await figures()).toEqual([90, 90, 0])
  })

  test('of a capture of everything has no amount to differ in', async () => {
    const { id } = holdOf(await holds.place(su, 30))
    await holds.capture(id, { amount: 5 })
    const again = await holds.capture(id)
    expect([again.status, again.body['replayed'], again.body['mismatch']]).toEqual([200, true, undefined])
    expect((await holds.capture(id, { amount: 6 })).body['mismatch']).toEqual(['amount'])
  })

  test('of a void changes nothing', async () => {
    const { id } = holdOf(await holds.place(su, 30))
    const first = await holds.void(id)
    const again = await holds.void(id)
    expect([again.status, again.body['replayed'], again.headers.get('idempotent-replayed')]).toEqual([
      200,
      true,
      'true',
    ])
    expect(holdOf(again)).toEqual(holdOf(first))
  })

  test('an order is charged once, by its capture or by a plain debit with the same pair', async () => {
    const referenceId = `once ${su}`
    const { id } = holdOf(await holds.place(su, 30, { referenceId }))
    await holds.capture(id)
    const debit = await client.debit(su, 30, referenceId)
    expect([debit.status, debit.body['replayed']]).toEqual([200, true])
    const other = `other way ${su}`
    const open = holdOf(await holds.place(su, 30, { referenceId: other }))
    await client.debit(su, 30, other)
    const capture = await holds.capture(open.id)
    expect([capture.status, capture.body['replayed'], holdOf(capture).status]).toEqual([200, true, 'OPEN'])
    expect(await figures()).toEqual([40, 10, 30])
  })

  test('with strict references and another amount is a conflict', async () => {
    const strict = await newApp(opened.service, { strictReferences: true })
    const theirs = holdClient(newClient(opened.app.fetch, strict), strict)
    const link = await linkUser(opened.service, strict, user.userId)
    await theirs.place(link, 5, { referenceId: 'strict' })
    const { status, body } = await theirs.place(link, 6, { referenceId: 'strict' })
    expect([status, body['code'], body['mismatch']]).toEqual([409, 'REFERENCE_CONFLICT', ['amount']])
  })
})

describe('it refuses', () => {
  test('a hold, an extra and a debit beyond what is available', async () => {
    const { id } = holdOf(await holds.place(su, 60))
    expect(refusal(await holds.place(su, 40.01))).toEqual([400, 'INSUFFICIENT_BALANCE'])
    const extra = await holds.capture(id, { amount: 100.01, allowExtra: true })
    expect(refusal(extra)).toEqual([400, 'INSUFFICIENT_BALANCE'])
    expect(extra.body).toMatchObject({ requiredAmount: 100.01, shortfall: 0.01 })
    expect(holdOf(extra)).toMatchObject({ status: 'OPEN', remaining: 60 })
    expect(await figures()).toEqual([100, 40, 60])
  })

  test('a capture of more than remains, without allowExtra', async () => {
    const { id } = holdOf(await holds.place(su, 30))
    const exceeded = await holds.capture(id, { amount: 30.01 })
    expect(refusal(exceeded)).toEqual([400, 'HOLD_EXCEEDED'])
    expect(exceeded.body['remaining']).toBe(30)
    expect((await holds.capture(id)).status).toBe(200)
  })

  test('anything about a hold that is closed', async () => {
    const [captured, voided] = [holdOf(await holds.place(su, 10)).id, holdOf(await holds.place(su, 10)).id]
    await holds.capture(captured)
    await holds.void(voided)
    const fresh = { amount: 1, referenceType: 'NEW', referenceId: `new ${su}` }
    for (const [id, status] of [
      [captured, 'CAPTURED'],
      [voided, 'VOIDED'],
    ] as const) {
      const again = await holds.capture(id, fresh)
      expect([...refusal(again), holdOf(again).status]).toEqual([409, 'HOLD_CLOSED', status])
      expect(refusal(await holds.extend(id, 3_600))).toEqual([409, 'HOLD_CLOSED'])
    }
    expect(refusal(await holds.void(captured))).toEqual([409, 'HOLD_CLOSED'])
  })

  test('a hold that does not exist, of another app, and one that was refused', async () => {
    const other = await newApp(opened.service)
    const theirs = holdClient(newClient(opened.app.fetch, other), other)
    const { id } = holdOf(await holds.place(su, 10))
    const unknown = `hold_${'0'.repeat(32)}`
    for (const reply of [
      await holds.capture(unknown),
      await holds.void('nothing'),
      await holds.read(unknown),
      await holds.extend(unknown, 60),
      await theirs.capture(id),
      await theirs.void(id),
      await theirs.extend(id, 3_600),
      await theirs.read(id),
    ])
      expect(refusal(reply)).toEqual([404, 'HOLD_NOT_FOUND'])
    expect((await theirs.list(await linkUser(opened.service, other, user.userId))).body['holds']).toEqual([])
    expect(refusal(await theirs.list(su))).toEqual([401, 'USER_NOT_FOUND'])
    expect(refusal(await theirs.place(su, 1))).toEqual([404, 'USER_NOT_FOUND'])
  })

  test('the hundred-and-first open hold of an app on a wallet, and no other app’s', async () => {
    const placed = await Promise.all(Array.from({ length: 100 }, () => holds.place(su, 0.5)))
    expect(new Set(placed.map(({ status }) => status))).toEqual(new Set([200]))
    const referenceId = `limit ${su}`
    expect(refusal(await holds.place(su, 0.5, { referenceId }))).toEqual([409, 'HOLD_LIMIT'])
    const other = await newApp(opened.service)
    const theirs = holdClient(newClient(opened.app.fetch, other), other)
    expect((await theirs.place(await linkUser(opened.service, other, user.userId), 0.5)).status).toBe(200)
    await holds.void(holdOf(placed[0]!).id)
    // The refusal was not recorded: the reference is free.
    expect((await holds.place(su, 0.5, { referenceId })).status).toBe(200)
  })

  test('half a pair, and a part without a pair', async () => {
    const { id } = holdOf(await holds.place(su, 10))
    const fieldsOf = async (values: object) => {
      const { status, body } = await holds.capture(id, values)
      return [status, body['code'], Object.keys(body['fields'] as object)]
    }
    expect(await fieldsOf({ referenceType: 'X' })).toEqual([400, 'INVALID_REQUEST', ['referenceId']])
    expect(await fieldsOf({ referenceId: 'X' })).toEqual([400, 'INVALID_REQUEST', ['referenceType']])
    expect(await fieldsOf({ final: false, amount: 1 })).toEqual([
      400,
      'INVALID_REQUEST',
      ['referenceType', 'referenceId'],
    ])
  })

  test('without the scope', async () => {
    const readOnly = await newApp(opened.service, { scopes: ['wallet:read'] })
    const writeOnly = await newApp(opened.service, { scopes: ['wallet:write'] })
    const [reads, writes] = [readOnly, writeOnly].map((app) => holdClient(newClient(opened.app.fetch, app), app))
    const { id } = holdOf(await holds.place(su, 10))
    for (const reply of [
      await reads!.place(su, 1),
      await reads!.capture(id),
      await reads!.void(id),
      await reads!.extend(id, 60),
    ])
      expect(refusal(reply)).toEqual([403, 'INSUFFICIENT_SCOPE'])
    for (const reply of [await writes!.read(id), await writes!.list(su)])
      expect(refusal(reply)).toEqual([403, 'INSUFFICIENT_SCOPE'])
  })
})

describe('an expired hold', () => {
  test('counts as expired from its instant, before anything has closed it', async () => {
    const id = await place()
    await letHoldsAge(opened, 61)
    expect(holdOf(await holds.read(id))).toMatchObject({ status: 'EXPIRED', remaining: 0 })
    expect(holdOf(await holds.read(id)).closedAt).toBe(holdOf(await holds.read(id)).expiresAt)
    expect(await figures()).toEqual([100, 100, 0])
    expect((await client.checkBalance(su, '100')).body['hasSufficientBalance']).toBeTrue()
    for (const reply of [await holds.capture(id), await holds.void(id), await holds.extend(id, 3_600)])
      expect([reply.status, reply.body['code'], holdOf(reply).status]).toEqual([409, 'HOLD_EXPIRED', 'EXPIRED'])
  })

  test('gives its money to a debit and to a new hold before anything has closed it', async () => {
    await place()
    await letHoldsAge(opened, 61)
    expect(figuresOf(await client.debit(su, 90))).toEqual([10, 10, 0])
    await client.credit(su, 90)
    await place()
    await letHoldsAge(opened, 61)
    expect(figuresOf(await holds.place(su, 95))).toEqual([100, 5, 95])
  })

  test('is closed by the sweep, at the instant of its end', async () => {
    const id = await place()
    await holds.place(su, 5)
    await letHoldsAge(opened, 61)
    const seen = holdOf(await holds.read(id))
    await sweepHolds(opened)
    const { rows } = await opened.service.db.pool.query('select held, open_holds from wallets where id = $1', [
      user.userId,
    ])
    expect(rows).toEqual([{ held: 500n, open_holds: 1 }])
    expect(holdOf(await holds.read(id))).toEqual(seen)
  })

  test('that was extended is left open by the sweep until its new end', async () => {
    const id = await place()
    await holds.extend(id, 3_600)
    await letHoldsAge(opened, 61)
    await sweepHolds(opened)
    expect(holdOf(await holds.read(id)).status).toBe('OPEN')
    await letHoldsAge(opened, 3_600)
    await sweepHolds(opened)
    expect(holdOf(await holds.read(id)).status).toBe('EXPIRED')
    expect(await figures()).toEqual([100, 100, 0])
  })
})

describe('promises are kept', () => {
  test('on a frozen wallet: a capture and a void post, a new hold and an extra do not', async () => {
    const [first, second] = [holdOf(await holds.place(su, 30)).id, holdOf(await holds.place(su, 20)).id]
    await freezeWallet(opened.service, operator, user.userId, 'looked into')
    expect((await holds.place(su, 1)).body['code']).toBe('WALLET_INACTIVE')
    expect((await holds.capture(first, { amount: 31, allowExtra: true })).body['code']).toBe('WALLET_INACTIVE')
    expect((await holds.capture(first)).status).toBe(200)
    expect((await holds.void(second)).status).toBe(200)
    expect(await figures()).toEqual([70, 70, 0])
    expect(await frozenFor()).toBe('operator')
  })

  test('when the user disconnects the app: a capture posts, and a new hold does not', async () => {
    const { id } = holdOf(await holds.place(su, 30))
    await updateLinkDisconnected(opened.service.db.pool, user.userId, su)
    expect((await holds.place(su, 1)).body['code']).toBe('USER_NOT_FOUND')
    expect(holdOf(await holds.read(id)).status).toBe('OPEN')
    expect(figuresOf(await holds.capture(id))).toEqual([70, 70, 0])
  })

  test('after a charge-back as far as the money goes, and the debt ends with the hold', async () => {
    const { id } = holdOf(await holds.place(su, 60))
    await chargeBack(6_000n)
    expect(await figures()).toEqual([40, -20, 60])
    expect(await frozenFor()).toBe('debt')
    expect((await holds.place(su, 1)).body['code']).toBe('WALLET_INACTIVE')
    const uncovered = await holds.capture(id)
    expect([uncovered.status, uncovered.body['code'], holdOf(uncovered).status]).toEqual([
      409,
      'HOLD_UNCOVERED',
      'OPEN',
    ])
    expect(figuresOf(await holds.capture(id, { amount: 40 }))).toEqual([0, 0, 0])
    expect(await frozenFor()).toBeNull()
  })

  test('a wallet frozen for debt is thawed by a void, by the expiry, and by money', async () => {
    for (const end of [
      async (id: string) => void (await holds.void(id)),
      async () => {
        await letHoldsAge(opened, 8 * 24 * 3_600)
        await sweepHolds(opened)
      },
      async () => void (await client.credit(su, 60)),
    ]) {
      await client.credit(su, 1_000)
      const available = Number((await client.wallet(su)).body['available'])
      const { id } = holdOf(await holds.place(su, available))
      await chargeBack(1n)
      expect(await frozenFor()).toBe('debt')
      await end(id)
      expect(await frozenFor()).toBeNull()
      await holds.void(id)
    }
  })

  test('a debit on a wallet frozen for debt posts once the hold that made the debt has expired', async () => {
    await holds.place(su, 100, { expiresIn: 60 })
    await chargeBack(1_000n)
    expect((await client.debit(su, 1)).body['code']).toBe('WALLET_INACTIVE')
    await letHoldsAge(opened, 61)
    expect(figuresOf(await client.debit(su, 1))).toEqual([89, 89, 0])
  })

  test('an operator who unfreezes a wallet whose holds exceed its balance leaves it frozen for debt', async () => {
    await holds.place(su, 100)
    await freezeWallet(opened.service, operator, user.userId, 'looked into')
    await chargeBack(1_000n)
    expect(await unfreezeWallet(opened.service, operator, user.userId, 'settled')).toBe('in-debt')
    expect(await frozenFor()).toBe('debt')
  })

  test('a correction by an operator takes nothing that is held', async () => {
    await holds.place(su, 90)
    expect(await correct(-1_001n)).toMatchObject({ outcome: { refusal: 'INSUFFICIENT_BALANCE', heldMinor: 9_000n } })
    expect(await correct(-1_000n)).toMatchObject({
      outcome: { refusal: null, balanceMinor: 9_000n, heldMinor: 9_000n },
    })
  })

  test('an account with an open hold is not deleted, and the reason is the hold', async () => {
    const { id } = holdOf(await holds.place(su, 100))
    expect(await findKeptReason(opened.service.db.pool, user.userId)).toBe('hold')
    await holds.capture(id)
    expect(await findKeptReason(opened.service.db.pool, user.userId)).toBeUndefined()
    const closing = opened.service.db.pool.query(`update wallets set frozen_for = 'closed', held = 1 where id = $1`, [
      user.userId,
    ])
    expect(await closing.then(String, String)).toContain('wallets_closed_is_empty')
  })
})

test('the database refuses to hold more than the balance, to capture more than was held, and to change a step', async () => {
  const { id } = holdOf(await holds.place(su, 30))
  const { pool } = opened.service.db
  await holds.extend(id, 2_592_000)
  const key = id.slice(5)
  for (const [sql, message] of [
    [`update wallets set held = 10001 where id = '${user.userId}'`, 'wallets_not_overdrawn'],
    [`update wallets set held = -1 where id = '${user.userId}'`, 'wallets_held_check'],
    [
      `update holds set captured = 2000, released = 1001, closed_at = now(), ended_by = 'void' where id = '${key}'`,
      'holds_within_amount',
    ],
    [`update holds set closed_at = now(), ended_by = 'void' where id = '${key}'`, 'holds_closed_has_nothing_left'],
    [`update holds set expires_at = now() + interval '31 days' where id = '${key}'`, 'holds_end_within_thirty_days'],
    [`update hold_steps set amount = 1 where hold_id = '${key}'`, 'permission denied|never|append|changed'],
  ] as const)
    expect(await pool.query(sql).then(String, String)).toMatch(new RegExp(message))
})
