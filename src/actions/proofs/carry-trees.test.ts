/** The trees of an archived period grow in pages of entries: a wallet may have millions of them. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import type { QueryConfig } from 'pg'
import { openArchiveBench, type ArchiveBench } from '../../../test/archived-period.ts'
import { findCluster } from '../../../test/postgres.ts'
import { sealAll } from '../../../test/sealed-books.ts'
import { newUser } from '../../../test/service.ts'
import type { Queryable } from '../../store/connection/database.ts'
import { carryTrees } from './carry-trees.ts'

setDefaultTimeout(180_000)

const isOnCluster = (await findCluster()) !== undefined

let bench: ArchiveBench
const entries = [23, 1, 4]

beforeAll(async () => {
  bench = await openArchiveBench()
  if (isOnCluster) return
  const { service, client, credentials } = bench
  const users = await Promise.all(entries.map(() => newUser(service, credentials)))
  for (const [i, { serviceUserId }] of users.entries())
    for (let n = 0; n < entries[i]!; n++) await client.credit(serviceUserId, 1, `entry-${i}-${n}`)
  await bench.close()
  // The sealed trees reach beyond the period.
  for (let n = 0; n < 6; n++) await client.debit(users[0]!.serviceUserId, 1, `later-${n}`)
  await sealAll(service)
})
afterAll(async () => await bench.stop())

/** What the period leaves of its entries, and the most entries that one query read. */
async function carry(db: Queryable, entriesPerPage?: number) {
  let most = 0
  const query = async (asked: QueryConfig | string, values?: unknown[]) => {
    if (typeof asked === 'string') return await db.query(asked, values)
    const answer = await db.query<{ count: number }>(asked)
    if (asked.name === 'entries-of-ranges') most = Math.max(most, answer.rows[0]!.count)
    return answer
  }
  await carryTrees({ query } as Queryable, 1, {
    currency: 'USD',
    entries: 28,
    ...(entriesPerPage && { entriesPerPage }),
  })
  const { rows } = await db.query('select r::text as row from archived_entries_1 r order by wallet_id')
  return { rows, most }
}

describe.skipIf(isOnCluster)('the trees of a period', () => {
  test('are the same in pages of any size, and no more entries are read at once', async () => {
    const whole = await carry(bench.service.db.pool)
    expect(whole).toMatchObject({ most: 34, rows: { length: 3 } })
    for (const size of [1, 4, 23, 29])
      expect(await carry(bench.service.db.pool, size)).toEqual({ rows: whole.rows, most: size })
  })

  test.each([
    [
      'lost an entry',
      'delete from closed_transfers_1 where (wallet_id, sequence) in (select wallet_id, 2 from wallet_heads where size > 5)',
    ],
    ['changed one', 'update closed_transfers_1 set amount = amount + 1 where sequence = 3'],
    ['have a changed entry of a later period', 'update transfers set amount = amount + 1 where sequence = 26'],
  ])('are refused where they %s', async (_, change) => {
    const connection = await bench.service.db.pool.connect()
    try {
      await connection.query('begin')
      for (const table of ['transfers', 'closed_transfers_1'])
        await connection.query(`alter table ${table} disable trigger user; grant all on ${table} to current_user`)
      await connection.query(change)
      const refused = await carry(connection, 4).catch((error: Error) => error.message)
      expect(refused).toContain('are not those that were sealed')
    } finally {
      await connection.query('rollback')
      connection.release()
    }
  })
})
