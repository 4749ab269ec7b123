import { afterAll, beforeAll, expect, test } from 'bun:test'
import { newClient } from '../../test/client.ts'
import { holdClient, holdOf, letHoldsAge, sweepHolds } from '../../test/holds.ts'
import { newApp, newUsers, openTestService, operator, type TestService } from '../../test/service.ts'
import { freezeWallet } from '../actions/money/manage-wallets.ts'
import { getSnapshot } from './connection/database.ts'
import { findChangedWallets, findWallet } from './wallets.ts'

let opened: TestService

beforeAll(async () => {
  opened = await openTestService()
})
afterAll(() => opened.close())

test('wallets have changed when money moved, a hold was made or ended, or they were frozen, and the snapshot is another one', async () => {
  const { service, app } = opened
  const { pool } = service.db
  const credentials = await newApp(service)
  const users = await newUsers(service, credentials, 5)
  const look = async () => await Promise.all(users.map(async ({ userId }) => (await findWallet(pool, userId))!))
  const seenNow = async () =>
    (await look()).map(({ id, sequence, heldMinor, frozenFor }) => ({ walletId: id, sequence, heldMinor, frozenFor }))
  const seen = await seenNow()
  const moment = await getSnapshot(pool)
  expect(await findChangedWallets(pool, seen)).toEqual([])
  expect(await findChangedWallets(pool, [])).toEqual([])
  const client = newClient(app.fetch, credentials)
  await client.credit(users[1]!.serviceUserId, 5)
  await freezeWallet(service, operator, users[3]!.userId, 'a look at it')
  expect((await findChangedWallets(pool, seen)).toSorted()).toEqual([users[1]!.userId, users[3]!.userId].toSorted())
  expect(await getSnapshot(pool)).not.toBe(moment)
  expect(await findChangedWallets(pool, await seenNow())).toEqual([])

  const before = await seenNow()
  const holds = holdClient(client, credentials)
  const { id } = holdOf(await holds.place(users[1]!.serviceUserId, 2, { expiresIn: 60 }))
  expect(await findChangedWallets(pool, before)).toEqual([users[1]!.userId])
  const held = await seenNow()
  expect(await findChangedWallets(pool, held)).toEqual([])
  // An expired hold counts as ended before the job has closed it.
  await letHoldsAge(opened, 61)
  expect(await findChangedWallets(pool, held)).toEqual([users[1]!.userId])
  const expired = await seenNow()
  await sweepHolds(opened)
  expect(await findChangedWallets(pool, expired)).toEqual([])
  expect((await holds.read(id)).body).toMatchObject({ hold: { status: 'EXPIRED' } })
})
