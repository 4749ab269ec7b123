import { afterAll, beforeAll, expect, test } from 'bun:test'
import { newClient } from '../../../test/client.ts'
import { holdClient, holdOf } from '../../../test/holds.ts'
import { newApp, newUser, openTestService, type TestService } from '../../../test/service.ts'
import { exportData } from './export-data.ts'

const acting = { address: '10.0.0.1', userAgent: null }

let opened: TestService

beforeAll(async () => {
  opened = await openTestService()
})
afterAll(() => opened.close())

async function dataOf(userId: string) {
  const chunks = await exportData(opened.service, userId, acting)
  const sizes: number[] = []
  let text = ''
  for await (const chunk of chunks!) {
    sizes.push(chunk.length)
    text += chunk
  }
  return { data: JSON.parse(text) as Record<string, unknown[]>, largest: Math.max(...sizes) }
}

test('the file of an empty wallet is whole JSON, and says that it was asked for', async () => {
  const { userId } = await newUser(opened.service, await newApp(opened.service))
  const { data } = await dataOf(userId)
  expect(data).toMatchObject({
    format: 'billfold-user-data',
    version: 1,
    account: { email: `${userId}@example.com`, firstName: 'Ada' },
    wallet: { balance: 0, available: 0, held: 0, currency: 'USD', isActive: true },
    apps: [{ name: 'Test shop', disconnectedAt: null }],
    devices: [],
    topups: [],
    history: [{ action: 'user.data-exported', by: 'you', address: '10.0.0.1' }],
    holds: [],
    transactions: [],
  })
})

test('every hold is in it with what happened to it, and no operator is named', async () => {
  const credentials = await newApp(opened.service, { name: 'Bookshop' })
  const { userId, serviceUserId } = await newUser(opened.service, credentials)
  const client = newClient(opened.app.fetch, credentials)
  await client.credit(serviceUserId, 500)
  const holds = holdClient(client, credentials)
  // More than a page.
  for (let i = 0; i < 95; i++) await holds.place(serviceUserId, 1)
  const captured = holdOf(await holds.place(serviceUserId, 20, { description: 'Order 1042' }))
  await holds.extend(captured.id, 900_000)
  await holds.capture(captured.id, { amount: 15 })
  for (let i = 0; i < 5; i++) await holds.void(holdOf(await holds.place(serviceUserId, 1)).id)
  const { data } = await dataOf(userId)
  expect(data).toMatchObject({ wallet: { balance: 485, available: 390, held: 95 } })
  const listed = data['holds'] as { id: string; status: string }[]
  expect(new Set(listed.map(({ id }) => id)).size).toBe(101)
  expect(listed.filter(({ status }) => status === 'VOIDED')).toHaveLength(5)
  expect(listed.find(({ id }) => id === captured.id)).toMatchObject({
    with: 'Bookshop',
    status: 'CAPTURED',
    amount: 20,
    captured: 15,
    remaining: 0,
    description: 'Order 1042',
    steps: [
      { kind: 'extend', amount: 0, sequence: null, by: 'Bookshop' },
      { kind: 'capture', amount: 15, sequence: 2, by: 'Bookshop' },
    ],
  })
  const { rows } = await opened.service.db.pool.query<{ id: string }>(
    'select id from holds where wallet_id = $1 limit 1',
    [userId],
  )
  await opened.service.db.pool.query(
    `insert into hold_steps (wallet_id, hold_id, number, kind, amount, actor, reason, at)
     values ($1, $2, 9, 'extend', 0, 'operator:grace', 'a complaint', now())`,
    [userId, rows[0]!.id],
  )
  const again = JSON.stringify((await dataOf(userId)).data)
  expect([again.includes('grace'), again.includes('a complaint')]).toEqual([false, false])
})

test('every entry is in it, in order, and no more than a page of them in memory; nothing of another user is', async () => {
  const credentials = await newApp(opened.service)
  const [{ userId, serviceUserId }, other] = [
    await newUser(opened.service, credentials),
    await newUser(opened.service, credentials),
  ]
  const client = newClient(opened.app.fetch, credentials)
  await client.credit(other.serviceUserId, 77)
  await Promise.all(Array.from({ length: 1_203 }, () => client.credit(serviceUserId, 0.01)))
  const { data, largest } = await dataOf(userId)
  const entries = data['transactions'] as { sequence: number; amount: number; balanceAfter: number }[]
  expect(entries.map(({ sequence }) => sequence)).toEqual(Array.from({ length: 1_203 }, (_, i) => i + 1))
  expect(entries.at(-1)).toMatchObject({ amount: 0.01, balanceAfter: 12.03, with: 'Test shop' })
  expect(largest).toBeLessThan(500 * 500)
  expect(JSON.stringify(data)).not.toContain(other.userId)
  // An id of the user at an app is for that app alone.
  expect(JSON.stringify(data)).not.toContain('su_')
})

test('there is no file of a user who is gone', async () => {
  expect(await exportData(opened.service, crypto.randomUUID(), acting)).toBeUndefined()
})
