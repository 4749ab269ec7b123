import { afterAll, beforeAll, expect, test } from 'bun:test'
import { newClient } from '../../../test/client.ts'
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
    wallet: { balance: 0, currency: 'USD', isActive: true },
    apps: [{ name: 'Test shop', disconnectedAt: null }],
    devices: [],
    topups: [],
    history: [{ action: 'user.data-exported', by: 'you', address: '10.0.0.1' }],
    transactions: [],
  })
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
