/** What the fast lane sends while a batch is being written. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { beginPatiently } from '../../../test/lock-waits.ts'
import { expectBalancedBooks } from '../../../test/books.ts'
import { eventually } from '../../../test/eventually.ts'
import { findCluster } from '../../../test/postgres.ts'
import { newPosting } from '../../../test/postings.ts'
import { newApp, newUsers, openTestService, type TestService, type TestUser } from '../../../test/service.ts'
import { isShared } from './turns.ts'
import { openWriter, type Writer } from './writer.ts'

setDefaultTimeout(60_000)

let opened: TestService
let writer: Writer
let clientId: string
let users: TestUser[]
const sizes: number[] = []

beforeAll(async () => {
  opened = await openTestService()
  clientId = (await newApp(opened.service)).clientId
  users = await newUsers(opened.service, { clientId }, 50)
  writer = openWriter(opened.service.db.connection, 1, {
    batch: (lane, size) => lane === 'fast' && sizes.push(size),
    fault: () => {},
    hold: () => {},
    nodeFault: () => {},
    outage: () => {},
  })
})
afterAll(async () => {
  await writer.close()
  await expectBalancedBooks(opened.service)
  await opened.close()
})

const credit = (user: number) => newPosting({ clientId, serviceUserId: users[user % users.length]!.serviceUserId }, 1n)
const turn = () => new Promise((resolve) => void setImmediate(resolve))

/** A batch is counted after its postings are answered. */
const untilIdle = () => eventually(() => writer.depths().fast, 0)

/** A batch waits 200 ms for a locked row. */
const surelyWaitsMs = 150

/**
 * The sizes of the batches when each of these groups arrives in its own turn of the event loop, while a batch of one posting waits for a locked
 * row. Tried again when the machine was so slow that it may not have waited until the end.
 */
async function sizesBeside(groups: readonly number[]): Promise<number[]> {
  for (;;) {
    await writer.post(credit(0))
    await untilIdle()
    // An app of another test file in this process halves the batches for a second.
    await eventually(isShared, false)
    sizes.length = 0
    const stranger = await opened.service.db.pool.connect()
    await beginPatiently(stranger)
    await stranger.query('select 1 from wallets where id = $1 for update', [users[0]!.userId])
    const startedAt = performance.now()
    const results = [writer.post(credit(0))]
    for (const length of groups) {
      await turn()
      await turn()
      for (let i = 1; i <= length; i++) results.push(writer.post(credit(1 + (i % 49))))
    }
    await turn()
    await stranger.query('rollback')
    const isCertain = performance.now() - startedAt < surelyWaitsMs
    stranger.release()
    await Promise.all(results)
    await untilIdle()
    // A large batch is answered in several turns, and may be counted after the next one.
    if (isCertain) return sizes.toSorted((a, b) => a - b)
  }
}

// A cluster never has a batch behind another one.
test.skipIf((await findCluster()) !== undefined).each([
  ['few postings wait for the end of the batch under way, and share the next one', [3, 4], [1, 7]],
  ['256 postings are sent behind it, and later ones are in another batch', [256, 4], [1, 4, 256]],
])('%s', async (_, groups, expected) => {
  expect(await sizesBeside(groups)).toEqual(expected)
})
