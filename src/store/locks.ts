/**
 * Every advisory lock of the service: numbers that stand for no row. A number is taken once, and never given to another
 * lock, because an older process on the same database still means the old one by it.
 */
import {
  longRunningLimitMs,
  longRunningStatementMs,
  transact,
  type Database,
  type Transaction,
} from './connection/database.ts'
import { openClient, within } from './connection/open-client.ts'
import { one } from './connection/rows.ts'

export const locks = {
  /** In the embedded server's database `postgres`, shared: each service that uses the server holds it. */
  embeddedService: 0xb111f01d,
  /** One process at a time makes the demo. */
  demo: 0xb111f03d,
  /** One process at a time checks a slice of the books. */
  booksCheck: 0xb111f04d,
  /** One process at a time applies a migration. */
  migration: 0xb111f05d,
  /** One process at a time removes what has expired. */
  cleanup: 0xb111f06d,
  /** One process at a time merges the positions of days that are over. */
  mergePositions: 0xb111f07d,
  /** One process at a time merges minutes that are long over. */
  mergeMinutes: 0xb111f08d,
  /** The first of two numbers; the second is the writer's own, so that no two connections write the same position rows. */
  writerNumber: 0x62696c6c,
  /** The first of two numbers; the second stands for a wallet of a cluster. */
  wallet: 0x62696c77,
} as const

/** Waits for its turn, as patiently as all work that no request waits for. On a connection of its own, so that the work has all the others, however few, and takes its time. */
export async function withDemoLock<T>(db: Database, work: () => Promise<T>): Promise<T> {
  const settings = { statement_timeout: String(longRunningStatementMs) }
  const client = await openClient(db.connection, { name: 'billfold demo', settings })
  try {
    await within(client, longRunningLimitMs, client.query('select pg_advisory_lock($1)', [locks.demo]))
    return await work()
  } finally {
    await client.end()
  }
}

/** False when another transaction holds it; otherwise held until this one ends. */
export async function tryLock(tx: Transaction, lock: number): Promise<boolean> {
  const { rows } = await tx.query<{ taken: boolean }>('select pg_try_advisory_xact_lock($1) as taken', [lock])
  return one(rows).taken
}

/**
 * Step after step, each a transaction of its own, until one finds nothing to do or another process is at it. What the steps
 * did, added up.
 */
export async function runInSteps(
  db: Database,
  lock: number,
  step: (tx: Transaction) => Promise<number>,
): Promise<number> {
  for (let total = 0; ;) {
    const done = await transact(db, async (tx) => ((await tryLock(tx, lock)) ? await step(tx) : 0))
    total += done
    if (done === 0) return total
  }
}
