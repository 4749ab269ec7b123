import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { newApp, newUsers, openTestService, type TestService } from '../../../test/service.ts'
import { grantBonus } from '../../actions/money/grant-bonus.ts'
import { postForApp } from '../../actions/money/post.ts'
import { findApp } from '../apps.ts'
import { verifyBooks, type VerifyResult } from './verify.ts'

setDefaultTimeout(180_000)

let opened: TestService

beforeAll(async () => {
  opened = await openTestService()
})

afterAll(async () => await opened.close())

test('verify sees one snapshot: money that moves meanwhile is no fault', async () => {
  const { service } = opened
  const { clientId } = await newApp(service)
  const app = (await findApp(service.db.pool, clientId))!
  const users = await newUsers(service, { clientId }, 20)
  for (const { userId } of users)
    await grantBonus(
      service,
      { name: 'test', address: null },
      { walletId: userId, amountMinor: 900n, referenceId: userId, reason: 'x' },
    )

  const over = new AbortController()
  let posted = 0
  const spend = async (serviceUserId: string) => {
    // Some are refused, and their outcomes are recorded too.
    for (let i = 0; !over.signal.aborted; i++, posted++)
      await postForApp(service, app, {
        direction: i % 3 === 2 ? 'credit' : 'debit',
        serviceUserId,
        amountMinor: 100n,
        referenceType: 'T',
        referenceId: `${serviceUserId} ${i}`,
        description: null,
      })
  }
  const spending = users.map((user) => spend(user.serviceUserId))
  const results: VerifyResult[] = []
  for (let i = 0; i < 10; i++)
    results.push(await verifyBooks(service.db.connection, { jobs: 1 + (results.length % 3) }))
  // Each user has come to refusals by then, however little of the time the spending got.
  while (posted < users.length * 40) await Bun.sleep(5)
  over.abort()
  await Promise.all(spending)
  results.push(await verifyBooks(service.db.connection, { jobs: 1 + (results.length % 3) }))
  expect(results.map((result) => result.faults)).toEqual(results.map(() => 0))
  const last = results.at(-1)!
  expect(last.transfers + last.refusals).toBe(posted + users.length)
  expect(last.refusals).toBeGreaterThan(0)
})
