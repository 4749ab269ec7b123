/** Entries of a real ledger, sealed by the service and proven without it. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { publishedKey } from '../../src/proof/sign-note.ts'
import { proveEntry } from '../../src/actions/proofs/prove-entry.ts'
import { logOrigin, readLogSeed } from '../../src/actions/proofs/checkpoint.ts'
import { sealBooks } from '../../src/actions/proofs/seal-books.ts'
import { verifyProof } from '../../sdk/verify.ts'
import { findLog } from '../../src/store/proofs/proof-log.ts'
import { findTree } from '../../src/store/proofs/wallet-trees.ts'
import { newClient, type Client } from '../client.ts'
import { newApp, newUser, openTestService, type TestService, type TestUser } from '../service.ts'

let opened: TestService
let client: Client
let ann: TestUser
let bob: TestUser

beforeAll(async () => {
  opened = await openTestService()
  const app = await newApp(opened.service)
  client = newClient(opened.app.fetch, app)
  ann = await newUser(opened.service, app)
  bob = await newUser(opened.service, app)
})
afterAll(async () => await opened.close())

async function keyOf(): Promise<string> {
  const log = (await findLog(opened.service.db.pool))!
  return await publishedKey(logOrigin(opened.service, log), await readLogSeed(opened.service, log))
}

async function prove(user: TestUser, sequence: number) {
  const result = await proveEntry(opened.service, { walletId: user.userId, sequence })
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

test('a pass seals what the check found right, once', async () => {
  await client.credit(ann.serviceUserId, 1)
  await sealBooks(opened.service)
  const sizeOf = async () => (await findTree(opened.service.db.pool, ann.userId))!.peaks.size
  // The check has not seen the entry yet.
  expect(await sizeOf()).toBe(1)
})
