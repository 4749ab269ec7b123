import { afterAll, beforeAll, expect, test } from 'bun:test'
import { newClient } from '../../test/client.ts'
import { newApp, newUsers, openTestService, operator, type TestService } from '../../test/service.ts'
import { freezeWallet } from '../actions/money/manage-wallets.ts'
import { getMoment } from './connection/database.ts'
import { findStirred, findWallet } from './wallets.ts'

let opened: TestService

beforeAll(async () => {
  opened = await openTestService()
})
afterAll(() => opened.close())

test('wallets have stirred when money moved or they were frozen, and the moment is another one', async () => {
  const { service, app } = opened
  const { pool } = service.db
  const credentials = await newApp(service)
  const users = await newUsers(service, credentials, 5)
  const look = async () => await Promise.all(users.map(async ({ userId }) => (await findWallet(pool, userId))!))
  const seenNow = async () =>
    (await look()).map(({ id, sequence, frozenFor }) => ({ walletId: id, sequence, frozenFor }))
  const seen = await seenNow()
  const moment = await getMoment(pool)
  expect(await findStirred(pool, seen)).toEqual([])
  expect(await findStirred(pool, [])).toEqual([])
  const client = newClient(app.fetch, credentials)
  await client.credit(users[1]!.serviceUserId, 5)
  await freezeWallet(service, operator, users[3]!.userId, 'a look at it')
  expect((await findStirred(pool, seen)).toSorted()).toEqual([users[1]!.userId, users[3]!.userId].toSorted())
  expect(await getMoment(pool)).not.toBe(moment)
  expect(await findStirred(pool, await seenNow())).toEqual([])
})
