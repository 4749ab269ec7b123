import { afterAll, beforeAll, expect, test } from 'bun:test'
import { newApp, newUser, openTestService, type Credentials, type TestService } from '../../../test/service.ts'
import { postForApp, postForService } from '../../actions/money/post.ts'

let opened: TestService
let credentials: Credentials
beforeAll(async () => {
  opened = await openTestService()
  credentials = await newApp(opened.service)
})
afterAll(() => opened.close())

const paddingOf = async (walletId: string) =>
  (
    await opened.service.db.pool.query<{ length: number | null }>(
      'select length(padding) as length from wallets where id = $1',
      [walletId],
    )
  ).rows[0]!.length

const reference = { referenceType: 'TEST', referenceId: 'padding', description: null }

test('the first movement of a wallet removes its padding in the fast lane', async () => {
  const { service } = opened
  const { userId, serviceUserId } = await newUser(service, credentials)
  expect(await paddingOf(userId)).toBe(32)
  const app = (await service.apps.find(credentials.clientId))!
  const posted = await postForApp(service, app, { ...reference, direction: 'credit', serviceUserId, amountMinor: 1n })
  expect([posted.kind, await paddingOf(userId)]).toEqual(['outcome', null])
})

test('and in the careful lane', async () => {
  const { service } = opened
  const { userId: walletId } = await newUser(service, credentials)
  const movement = { ...reference, walletId, counterAccount: 'cards', amountMinor: 1n, isReversal: false } as const
  const posted = await postForService(service, movement)
  expect([posted.kind, await paddingOf(walletId)]).toEqual(['outcome', null])
})
