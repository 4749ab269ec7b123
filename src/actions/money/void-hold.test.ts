/** An operator's void, beside another process that serves the app. */
import { afterAll, beforeAll, beforeEach, expect, setDefaultTimeout, test } from 'bun:test'
import { beginPatiently } from '../../../test/lock-waits.ts'
import { expectBalancedBooks } from '../../../test/books.ts'
import { newClient, type Client } from '../../../test/client.ts'
import { holdClient, holdOf, letHoldsAge } from '../../../test/holds.ts'
import { startProcess, type ServiceProcess } from '../../../test/process.ts'
import {
  newApp,
  newUser,
  openTestService,
  operator,
  type Credentials,
  type TestService,
  type TestUser,
} from '../../../test/service.ts'
import { transact } from '../../store/connection/database.ts'
import { updateLinkDisconnected } from '../../store/links.ts'
import { bindForm } from '../../store/operator-access/operator-forms.ts'
import { verifyBooks } from '../../store/verify/verify.ts'
import { freezeWallet } from './manage-wallets.ts'
import { voidHoldByOperator, type VoidOrder } from './void-hold.ts'

setDefaultTimeout(180_000)

let opened: TestService
let other: ServiceProcess
let credentials: Credentials
let client: Client
let holds: ReturnType<typeof holdClient>
let user: TestUser
let id: string

beforeAll(async () => {
  opened = await openTestService()
  credentials = await newApp(opened.service)
  other = await startProcess({ DATABASE_URL: opened.databaseUrl })
  client = newClient(other.send, credentials, other.url)
  holds = holdClient(client, credentials)
})
beforeEach(newHold)
afterAll(async () => {
  await other.stop()
  await expectBalancedBooks(opened.service)
  const faults: string[] = []
  await verifyBooks(opened.service.db.connection, { onFault: ({ message }) => faults.push(message) })
  expect(faults).toEqual([])
  await opened.close()
})

async function newHold(): Promise<void> {
  user = await newUser(opened.service, credentials)
  await client.credit(user.serviceUserId, 100)
  id = holdOf(await holds.place(user.serviceUserId, 60)).id
}

const orderOf = (changes: Partial<VoidOrder> = {}): VoidOrder => ({
  holdId: id.slice('hold_'.length),
  reason: 'the shop is closed',
  formId: crypto.randomUUID(),
  ...changes,
})
const release = (order = orderOf()) => voidHoldByOperator(opened.service, operator, order)
const walletFigures = async () => {
  const { rows } = await opened.service.db.pool.query<{ balance: bigint; held: bigint; frozen_for: string | null }>(
    'select balance, held, frozen_for from wallets where id = $1',
    [user.userId],
  )
  return Object.values(rows[0]!)
}
const records = async () =>
  (
    await opened.service.db.pool.query<{ action: string; detail: Record<string, string> }>(
      `select action, detail from audit where subject = $1 and action like 'hold.%' order by at`,
      [`wallet:${user.userId}`],
    )
  ).rows
const lastStep = async () =>
  (
    await opened.service.db.pool.query(
      `select kind, actor, reason from hold_steps where hold_id = $1::uuid order by number desc limit 1`,
      [id.slice('hold_'.length)],
    )
  ).rows[0]

test('a void gives the rest back, and says who did it and why', async () => {
  await holds.capture(id, { amount: 10, final: false, referenceType: 'PART', referenceId: id })
  expect(await release()).toMatchObject({ kind: 'voided', hold: { status: 'VOIDED', releasedMinor: 50_00n } })
  expect(await walletFigures()).toEqual([90_00n, 0n, null])
  expect(await lastStep()).toEqual({ kind: 'void', actor: operator.name, reason: 'the shop is closed' })
  expect(await records()).toEqual([
    {
      action: 'hold.void-ordered',
      detail: { hold: id, reason: 'the shop is closed', clientId: credentials.clientId, amountMinor: '6000' },
    },
  ])
  expect((await holds.capture(id)).body).toMatchObject({ code: 'HOLD_CLOSED', hold: { status: 'VOIDED' } })
})

test('the order is on record before the money is free', async () => {
  const { pool } = opened.service.db
  const lock = await pool.connect()
  try {
    await beginPatiently(lock)
    await lock.query('select from wallets where id = $1 for update', [user.userId])
    const voided = release()
    while ((await records()).length === 0) await Bun.sleep(5)
    expect(await walletFigures()).toEqual([100_00n, 60_00n, null])
    await lock.query('commit')
    expect(await voided).toMatchObject({ kind: 'voided' })
  } finally {
    lock.release()
  }
})

test('a repeat changes nothing, also of an order whose process died before the void', async () => {
  const order = orderOf()
  const content = { hold: id, reason: order.reason }
  await transact(opened.service.db, (tx) =>
    bindForm(tx, { id: order.formId, subject: `wallet:${user.userId}`, content }),
  )
  for (let time = 0; time < 3; time++) expect(await release(order)).toMatchObject({ kind: 'voided' })
  expect(await release(orderOf())).toMatchObject({ kind: 'voided' })
  expect(holdOf(await holds.read(id))).toMatchObject({ status: 'VOIDED', remaining: 0 })
  const { rows } = await opened.service.db.pool.query('select from hold_steps where hold_id = $1::uuid', [order.holdId])
  expect(rows).toHaveLength(1)
})

test('an id binds the hold and the reason', async () => {
  const order = orderOf()
  await release(order)
  expect(await release({ ...order, reason: 'another' })).toEqual({ kind: 'reused' })
  await newHold()
  expect(await release(orderOf({ formId: order.formId }))).toEqual({ kind: 'reused' })
  expect(await walletFigures()).toEqual([100_00n, 60_00n, null])
})

test('a hold on a frozen wallet and one of an app that was disconnected can be voided', async () => {
  await freezeWallet(opened.service, operator, user.userId, 'x')
  await updateLinkDisconnected(opened.service.db.pool, user.userId, user.serviceUserId)
  expect(await release()).toMatchObject({ kind: 'voided' })
  expect(await walletFigures()).toEqual([100_00n, 0n, 'operator'])
})

test('a hold that was captured or has expired is not voided, and the record says so', async () => {
  await holds.capture(id, { amount: 25 })
  expect(await release()).toMatchObject({ kind: 'ended', hold: { status: 'CAPTURED' } })
  expect((await records()).map(({ action, detail }) => [action, detail['code']])).toEqual([
    ['hold.void-ordered', undefined],
    ['hold.void-refused', 'HOLD_CLOSED'],
  ])
  expect(await walletFigures()).toEqual([75_00n, 0n, null])
  await newHold()
  await letHoldsAge(opened, 8 * 24 * 60 * 60)
  const late = orderOf()
  expect(await release(late)).toMatchObject({ kind: 'ended', hold: { status: 'EXPIRED' } })
  expect(await release(late)).toMatchObject({ kind: 'ended', hold: { status: 'EXPIRED' } })
  expect((await records()).map(({ detail }) => detail['code'])).toEqual([undefined, 'HOLD_EXPIRED'])
})

test('a hold that does not exist is not known', async () => {
  expect(await release(orderOf({ holdId: '0'.repeat(32) }))).toEqual({ kind: 'unknown-hold' })
})

test('of a void and a capture by another process at once, exactly one counts', async () => {
  const counted = { voided: 0, ended: 0 }
  for (let round = 0; round < 20; round++) {
    await newHold()
    const [capture, voided] = await Promise.all([holds.capture(id), release()])
    if (voided.kind !== 'voided' && voided.kind !== 'ended') throw new Error(voided.kind)
    counted[voided.kind]++
    expect(capture.body['code'] ?? capture.status).toBe(voided.kind === 'voided' ? 'HOLD_CLOSED' : 200)
    expect(await walletFigures()).toEqual([voided.kind === 'voided' ? 100_00n : 40_00n, 0n, null])
  }
  expect(counted.voided + counted.ended).toBe(20)
})
