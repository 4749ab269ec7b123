import { expect, test } from 'bun:test'
import { listMinutes } from '../store/minutes.ts'
import { newApp, newUser, openTestService } from '../../test/service.ts'
import { countMinutes, quantileMs } from './count-minutes.ts'

test('what every process did adds up, minute by minute', async () => {
  let skippedMs = 0
  const rig = await openTestService({}, { now: () => new Date(Date.UTC(2026, 0, 1, 12) + skippedMs) })
  const app = await newApp(rig.service)
  const { serviceUserId } = await newUser(rig.service, app)
  const send = async (direction: string, amount: number, referenceId: string) => {
    const body = JSON.stringify({ ...app, serviceUserId, amount, referenceType: 'T', referenceId })
    const headers = { 'content-type': 'application/json' }
    await rig.app.fetch(new Request(`http://x/api/server/wallet/${direction}`, { method: 'POST', body, headers }))
  }
  await countMinutes(rig.service)
  await send('credit', 10, 'a')
  await send('debit', 3, 'b')
  await send('debit', 3, 'b')
  await countMinutes(rig.service)
  await send('debit', 300, 'c')
  await rig.app.fetch(new Request('http://x/admin/sign-in'))
  skippedMs += 60_000
  await countMinutes(rig.service)
  await send('credit', 1, 'd')
  await countMinutes(rig.service)
  // Another process, in the same minute.
  await rig.service.db.pool.query(
    `insert into minutes select minute, gen_random_uuid(), 5, 0, 2, 3, 0, took, 4 from minutes order by minute limit 1`,
  )
  const minutes = await listMinutes(rig.service.db.pool, new Date(0))
  expect(
    minutes.map(({ requests, debits, credits, refusals, processes }) => [
      requests,
      debits,
      credits,
      refusals,
      processes,
    ]),
  ).toEqual([
    [4 + 5, 1 + 2, 1 + 3, 1, 2],
    [1, 0, 1, 0, 1],
  ])
  expect(minutes[1]!.took.reduce((sum, count) => sum + count)).toBe(1)
  await rig.close()
})

test.each([
  [[], 0.5, null],
  [[10], 0.5, 0.5],
  [[0, 0, 0, 100], 0.5, 7.5],
  [[98, 0, 0, 0, 0, 0, 2], 0.99, 75],
  [[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 3], 0.99, 8000],
])('of %j the part %d took at most %p ms', (took, part, ms) => {
  expect(quantileMs(took, part)).toBe(ms)
})
