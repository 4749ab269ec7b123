/** Deleting an account that has card top-ups: no top-up is lost, and later reversals are still booked. */
import { afterAll, afterEach, beforeAll, expect, test } from 'bun:test'
import { createUser } from '../../src/actions/people/create-user.ts'
import { refundTopup } from '../../src/actions/topups/refund-topup.ts'
import { resolveTopup } from '../../src/actions/topups/resolve-topup.ts'
import { deviceOf } from '../devices.ts'
import { newEmail } from '../page.ts'
import { operator } from '../service.ts'
import { openBench, type Bench } from './rig.ts'

let bench: Bench

beforeAll(async () => {
  bench = await openBench()
})
afterEach(() => bench.expectReconciled())
afterAll(() => bench.close())

const password = 'seven tired llamas'

async function newMember() {
  const person = { email: newEmail(), password, firstName: 'Ada', lastName: 'Lovelace' }
  const { clientId } = bench.credentials
  const created = (await createUser(bench.service, operator, { ...person, clientId }))!
  const known = { userId: created.userId, serviceUserId: created.serviceUserId! }
  const payer = await bench.newPayer(bench.app.fetch, undefined, known)
  return {
    ...payer,
    remove: async () => {
      const path = `/api/widget/account/delete?session=${payer.session()}`
      const { cookie } = await deviceOf(bench.service, { userId: created.userId, clientId })
      const { status, body } = await payer.page.call('POST', path, JSON.stringify({ password }), { cookie })
      return status === 200 ? 'deleted' : String(body['reason'] ?? body['code'])
    },
    wallet: async () =>
      (
        await bench.service.db.pool.query<{ balance: bigint; frozen_for: string | null }>(
          'select balance, frozen_for from wallets where id = $1',
          [created.userId],
        )
      ).rows[0]!,
  }
}

test('a top-up that was begun and not paid is cancelled, and does not keep the account', async () => {
  const member = await newMember()
  const id = await member.begin(25)
  expect(await member.remove()).toBe('deleted')
  expect(await bench.topup(id)).toMatchObject({ state: 'cancelled' })
})

test('a top-up that was just paid is credited, and keeps the account', async () => {
  const member = await newMember()
  const id = await member.begin(25)
  bench.standIn.state.pay(id)
  expect(await member.remove()).toBe('balance')
  expect(await member.balance()).toBe(25)
})

test('a payment that still arrives after the deletion is credited to no user, and an operator can pay it back', async () => {
  const member = await newMember()
  const id = await member.begin(25)
  expect(await member.remove()).toBe('deleted')
  // Simulates a processor that takes the money although the payment was cancelled.
  await bench.service.db.pool.query(`update topups set state = 'created' where payment_intent_id = $1`, [id])
  bench.standIn.state.pay(id)
  await resolveTopup(bench.service, (await bench.topup(id)).id)
  const topup = await bench.topup(id)
  expect(topup).toMatchObject({ state: 'succeeded', problem: 'credit-refused', creditedMinor: 0n })
  const order = { topupId: topup.id, amountMinor: 2500n, key: crypto.randomUUID(), reason: 'The account is gone.' }
  expect(await refundTopup(bench.service, operator, order)).toMatchObject({ kind: 'refunded' })
  expect(await member.wallet()).toEqual({ balance: 0n, frozen_for: 'closed' })
})

test('an open dispute keeps the account; a dispute after the deletion is booked, and so is its end', async () => {
  const member = await newMember()
  const id = await member.begin(25)
  bench.standIn.state.pay(id)
  await member.confirm(id)
  bench.standIn.state.dispute(id)
  await resolveTopup(bench.service, (await bench.topup(id)).id)
  expect(await member.remove()).toBe('dispute')
  bench.standIn.state.winDispute(id)
  await resolveTopup(bench.service, (await bench.topup(id)).id)
  await member.client.debit(member.serviceUserId, 25)
  expect(await member.remove()).toBe('deleted')

  const other = await newMember()
  const late = await other.begin(30)
  bench.standIn.state.pay(late)
  await other.confirm(late)
  await other.client.debit(other.serviceUserId, 30)
  expect(await other.remove()).toBe('deleted')
  bench.standIn.state.dispute(late)
  await resolveTopup(bench.service, (await bench.topup(late)).id)
  expect(await other.wallet()).toEqual({ balance: -3000n, frozen_for: 'closed' })
  bench.standIn.state.winDispute(late)
  await resolveTopup(bench.service, (await bench.topup(late)).id)
  expect(await other.wallet()).toEqual({ balance: 0n, frozen_for: 'closed' })
})
