/** A copy of books with open holds, restored: they are as they were, and a service on the restored books goes on with them. */
import { expect, setDefaultTimeout, test } from 'bun:test'
import { Readable, Writable } from 'node:stream'
import { closeService, openService } from '../src/actions/service.ts'
import { buildApp } from '../src/app.ts'
import { openDatabase } from '../src/store/connection/database.ts'
import { exportBooks } from '../src/store/copy/export.ts'
import { importBooks } from '../src/store/copy/import.ts'
import { openMetrics } from '../src/platform/metrics.ts'
import { expectBalancedBooks } from './books.ts'
import { newClient } from './client.ts'
import { holdClient, holdOf, letHoldsAge, sweepHolds } from './holds.ts'
import { testDatabase } from './postgres.ts'
import { newApp, newUser, openTestService } from './service.ts'

setDefaultTimeout(120_000)

test('holds survive an export and an import: open, ended, and expired while nothing ran', async () => {
  const opened = await openTestService()
  const restored = await testDatabase()
  try {
    const app = await newApp(opened.service)
    const client = newClient(opened.app.fetch, app)
    const holds = holdClient(client, app)
    const { serviceUserId: su } = await newUser(opened.service, app)
    await client.credit(su, 100)
    const expired = holdOf(await holds.place(su, 10, { expiresIn: 60 })).id
    const open = holdOf(await holds.place(su, 20)).id
    const captured = holdOf(await holds.place(su, 30)).id
    await holds.capture(captured, { amount: 25 })
    // A copy may be restored long after a hold has expired: that is no fault of the books.
    await letHoldsAge(opened, 3_600)
    const before = await Promise.all([expired, open, captured].map(async (id) => (await holds.read(id)).body))
    const chunks: Buffer[] = []
    const output = new Writable({
      write(chunk: Buffer, _, done) {
        chunks.push(chunk)
        done()
      },
    })
    await exportBooks(opened.service.db.connection, output, { currency: 'USD', now: new Date() })
    const faults: string[] = []
    const onFault = ({ message }: { message: string }) => faults.push(message)
    await importBooks(restored.connection, Readable.from([Buffer.concat(chunks)]), { currency: 'USD', onFault })
    expect(faults).toEqual([])

    const { config, log, now } = opened.service
    const db = openDatabase(restored.connection)
    const service = openService({ config, db, log, metrics: openMetrics(), now })
    const there = newClient(buildApp(service).fetch, app)
    const theirs = holdClient(there, app)
    expect(await Promise.all([expired, open, captured].map(async (id) => (await theirs.read(id)).body))).toEqual(before)
    await sweepHolds({ service })
    const { rows } = await db.pool.query(`select held from wallets where held <> 0`)
    expect(rows).toEqual([{ held: 2_000n }])
    const again = await theirs.capture(captured, { amount: 25 })
    expect([again.status, again.body['replayed']]).toEqual([200, true])
    expect((await theirs.capture(open)).body).toMatchObject({ balance: 55, available: 55, held: 0 })
    await expectBalancedBooks(service)
    await closeService(service)
    await db.pool.end()
  } finally {
    await restored.drop()
    await opened.close()
  }
})
