/** Entries of a real ledger, sealed by the service and proven without it. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { proveEntry } from '../../src/actions/proofs/prove-entry.ts'
import { readPublicKey } from '../../src/actions/proofs/checkpoint.ts'
import { sealBooks } from '../../src/actions/proofs/seal-books.ts'
import { compareProofs, verifyProof } from '../../sdk/verify.ts'
import { checkBooks } from '../../src/actions/money/check-books.ts'
import { closeAccount } from '../../src/actions/people/delete-account.ts'
import { verifyLog } from '../../src/actions/proofs/verify-log.ts'
import { transact } from '../../src/store/connection/database.ts'
import { lockUser } from '../../src/store/people/users.ts'
import { findLog } from '../../src/store/proofs/proof-log.ts'
import { findTree } from '../../src/store/proofs/wallet-trees.ts'
import { newClient, type Client } from '../client.ts'
import { newestSigned, queryEach, sealAll } from '../sealed-books.ts'
import { newApp, newUser, openTestService, operator } from '../service.ts'
import type { Credentials, TestService, TestUser } from '../service.ts'

let opened: TestService
let client: Client
let app: Credentials
let ann: TestUser
let bob: TestUser

beforeAll(async () => {
  opened = await openTestService()
  app = await newApp(opened.service)
  client = newClient(opened.app.fetch, app)
  ann = await newUser(opened.service, app)
  bob = await newUser(opened.service, app)
})
afterAll(async () => await opened.close())

async function keyOf(): Promise<string> {
  const log = (await findLog(opened.service.db.pool))!
  return await readPublicKey(opened.service, log)
}

async function prove(user: TestUser, sequence: number, since?: number) {
  const result = await proveEntry(opened.service, { walletId: user.userId, sequence, since })
  if (result.kind !== 'proof') throw new Error(result.kind)
  return { file: result.file, verdict: await verifyProof(result.file, { keys: [await keyOf()] }) }
}

test('a new entry is sealed when its proof is asked for, and the file proves it', async () => {
  await client.credit(ann.serviceUserId, 12.5)
  const { verdict, file } = await prove(ann, 1)
  expect(verdict).toMatchObject({
    ok: true,
    entry: { sequence: 1, amountMinor: 1250n, currency: 'USD', walletSize: 1 },
  })
  expect(file.length).toBeLessThan(4_096)
  expect(await proveEntry(opened.service, { walletId: ann.userId, sequence: 2 })).toEqual({ kind: 'not-found' })
  expect(await proveEntry(opened.service, { walletId: bob.userId, sequence: 1 })).toEqual({ kind: 'not-found' })
})

test('every entry of a wallet with hundreds is proven, the first and the last of each tile too', async () => {
  for (let i = 0; i < 520; i++) await client.credit(bob.serviceUserId, 1, `r"É|${i}\\`)
  for (const sequence of [1, 2, 255, 256, 257, 300, 511, 512, 513, 519, 520]) {
    const { verdict } = await prove(bob, sequence)
    expect(verdict).toMatchObject({ ok: true, entry: { sequence, walletSize: 520 } })
  }
})

test('two wallets that fill a tile in the same step are each proven', async () => {
  const users = [await newUser(opened.service, app), await newUser(opened.service, app)]
  const credits = users.flatMap(({ serviceUserId }) => Array.from({ length: 257 }, () => serviceUserId))
  await Promise.all(credits.map(async (serviceUserId) => await client.credit(serviceUserId, 1)))
  await sealAll(opened.service)
  for (const user of users)
    expect((await prove(user, 257)).verdict).toMatchObject({ ok: true, entry: { sequence: 257, walletSize: 257 } })
})

test('a pass seals what the check found right, once, and one of two sealers', async () => {
  const { db } = opened.service
  const leavesOf = async () =>
    (await db.pool.query('select number from log_leaves where subject = $1', [ann.userId])).rows.length
  const sizeOf = async () => (await findTree(db.pool, ann.userId))!.peaks.size
  await sealAll(opened.service)
  const before = await leavesOf()
  await client.credit(ann.serviceUserId, 1)
  await db.pool.query('update log_state set next_pass_at = now()')
  await sealBooks(opened.service)
  // The check has not seen the entry yet.
  expect([await sizeOf(), await leavesOf()]).toEqual([1, before])
  await db.pool.query('update books_check set next_pass_at = now()')
  await checkBooks(opened.service)
  await sealBooks(opened.service)
  // The next pass is not due.
  expect([await sizeOf(), await leavesOf()]).toEqual([1, before])
  await db.pool.query('update log_state set next_pass_at = now()')
  await Promise.all(Array.from({ length: 6 }, async () => await sealBooks(opened.service)))
  expect([await sizeOf(), await leavesOf()]).toEqual([2, before + 1])
  await sealAll(opened.service)
  expect([await sizeOf(), await leavesOf()]).toEqual([2, before + 1])
})

test('a wallet with a fault is not sealed, and a proof of it is not made', async () => {
  const { db } = opened.service
  const eve = await newUser(opened.service, app)
  await client.credit(eve.serviceUserId, 5)
  await db.pool.query('update wallets set balance = balance + 1 where id = $1', [eve.userId])
  expect(await proveEntry(opened.service, { walletId: eve.userId, sequence: 1 })).toEqual({ kind: 'not-yet' })
  await sealAll(opened.service)
  expect(await findTree(db.pool, eve.userId)).toBeUndefined()
  await db.pool.query('update wallets set balance = balance - 1 where id = $1', [eve.userId])
  expect((await prove(eve, 1)).verdict.ok).toBe(true)
})

test('a later proof since an earlier one shows that the history was kept', async () => {
  const carl = await newUser(opened.service, app)
  for (let i = 0; i < 3; i++) await client.credit(carl.serviceUserId, 1)
  const earlier = await prove(carl, 2)
  for (let i = 0; i < 300; i++) await client.credit(carl.serviceUserId, 1)
  const keys = [await keyOf()]
  for (const sequence of [1, 2, 303]) {
    const later = await prove(carl, sequence, 3)
    expect((await compareProofs([earlier.file, later.file], { keys })).kind).toBe('kept')
  }
  expect(await proveEntry(opened.service, { walletId: carl.userId, sequence: 1, since: 304 })).toEqual({
    kind: 'not-since',
  })
})

test('many proofs at once, of many wallets, are all right', async () => {
  const users = await Promise.all(Array.from({ length: 12 }, async () => await newUser(opened.service, app)))
  await Promise.all(users.map(async ({ serviceUserId }) => await client.credit(serviceUserId, 3)))
  const proofs = await Promise.all(users.map(async (user) => await prove(user, 1)))
  expect(proofs.every(({ verdict }) => verdict.ok)).toBe(true)
  expect(await Array.fromAsync(verifyLog(opened.service.db.pool, await newestSigned(opened.service), 'USD'))).toEqual(
    [],
  )
})

test('proofs of a deleted account stay, those that were made and those that are made later', async () => {
  const gone = await newUser(opened.service, app)
  await client.credit(gone.serviceUserId, 4)
  await client.debit(gone.serviceUserId, 4)
  const { file } = await prove(gone, 1)
  const closed = await transact(opened.service.db, async (tx) => {
    const user = (await lockUser(tx, gone.userId))!
    return await closeAccount(tx, operator, user, { detail: {}, notification: { kind: 'deleted' } })
  })
  expect(closed).toBeUndefined()
  await sealAll(opened.service)
  expect(await verifyProof(file, { keys: [await keyOf()] })).toMatchObject({ ok: true })
  expect((await prove(gone, 2)).verdict).toMatchObject({ ok: true, entry: { amountMinor: -400n } })
  expect(await Array.fromAsync(verifyLog(opened.service.db.pool, await newestSigned(opened.service), 'USD'))).toEqual(
    [],
  )
})

test('no proof is made of an entry that was changed after it was sealed', async () => {
  const { db } = opened.service
  await prove(ann, 1)
  await queryEach(
    db.pool,
    `alter table transfers disable trigger user; grant update on transfers to current_user;
    update transfers set description = 'other' where wallet_id = '${ann.userId}' and sequence = 1`,
  )
  expect(await proveEntry(opened.service, { walletId: ann.userId, sequence: 1 })).toEqual({ kind: 'contradiction' })
  expect(opened.logged.join()).toContain('an entry is not what was sealed')
})

test('a wallet that lost a checked entry is not sealed, and the others are', async () => {
  const { db } = opened.service
  const people = [await newUser(opened.service, app), await newUser(opened.service, app)].toSorted((a, b) =>
    a.userId < b.userId ? -1 : 1,
  )
  const [broken, whole] = people as [TestUser, TestUser]
  for (const { serviceUserId } of people) for (let i = 0; i < 3; i++) await client.credit(serviceUserId, 1)
  await db.pool.query('update books_check set next_pass_at = now()')
  await checkBooks(opened.service)
  const asOwner = async (sql: string) =>
    await queryEach(
      db.pool,
      `alter table transfers disable trigger user; grant all on transfers to current_user; ${sql};
      alter table transfers enable trigger user; revoke update, delete, truncate on transfers from current_user`,
    )
  await asOwner(`create table lost as select * from transfers where wallet_id = '${broken.userId}' and sequence = 2;
    delete from transfers where wallet_id = '${broken.userId}' and sequence = 2`)
  const seal = async () => {
    await db.pool.query('update log_state set next_pass_at = now()')
    await sealBooks(opened.service)
    return await Promise.all(people.map(async ({ userId }) => (await findTree(db.pool, userId))?.peaks.size))
  }
  expect(await seal()).toEqual([undefined, 3])
  expect(await proveEntry(opened.service, { walletId: broken.userId, sequence: 3 })).toEqual({ kind: 'not-yet' })
  expect((await prove(whole, 3)).verdict).toMatchObject({ ok: true })
  await asOwner('insert into transfers select * from lost; drop table lost')
  expect(await seal()).toEqual([3, 3])
})
