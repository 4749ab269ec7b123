/**
 * Every advisory lock of the service: numbers that belong to no row. A number is never reused for another lock, because
 * an older process on the same database still uses it for the old one.
 */
import { commandLimits, transact, type Database, type Transaction } from './connection/database.ts'
import { within } from './connection/open-client.ts'
import { openClient } from './connection/servers.ts'
import { one } from './connection/rows.ts'

export const locks = {
  /** In the embedded server's database `postgres`, in shared mode: each service that uses the server holds it. */
  embeddedService: 0xb111f01d,
  /** One process at a time creates the demo. */
  demo: 0xb111f03d,
  /** One process at a time checks a slice of the books. */
  booksCheck: 0xb111f04d,
  /** One process at a time applies a migration. */
  migration: 0xb111f05d,
  /** One process at a time deletes expired rows. */
  cleanup: 0xb111f06d,
  /** One process at a time merges the positions of past days. */
  mergePositions: 0xb111f07d,
  /** One process at a time merges old minutes. */
  mergeMinutes: 0xb111f08d,
  /** One process at a time compares a day with the processor: each day also resolves the differences of the others. */
  reconciliation: 0xb111f09d,
  /** One process at a time adds to the refused credentials: it also keeps the number of addresses bounded. */
  refusedCredentials: 0xb111f0bd,
  /** One process at a time converts hashes of addresses. */
  keyAddresses: 0xb111f0ad,
  /** One process at a time seals the books. */
  sealBooks: 0xb111f0dd,
  /** One process at a time gives events their numbers. */
  numberEvents: 0xb111f0cd,
  /** One process at a time closes expired holds. */
  sweepHolds: 0xb111f0ed,
  /**
   * The first of two numbers; the second is the writer's number, so that no two connections write the same rows of
   * positions.
   */
  writerNumber: 0x62696c6c,
  /** The first of two numbers; the second is the hash of a wallet's id, on a cluster. */
  wallet: 0x62696c77,
  /** The first of two numbers; the second is the hash of an operator's name: one order of money per operator at a time. */
  operatorOrders: 0x62696c6f,
} as const

/**
 * Waits for the lock with the limits of a start. It uses a separate connection, so that the pool stays free
 * for the work itself.
 */
export async function withDemoLock<T>(db: Database, work: () => Promise<T>): Promise<T> {
  const { connectMs: connectWithinMs, statementMs, answerMs } = commandLimits
  const settings = { statement_timeout: String(statementMs) }
  const client = await openClient(db.connection, { name: 'billfold demo', settings, connectWithinMs })
  try {
    await within(client, answerMs, client.query('select pg_advisory_lock($1)', [locks.demo]))
    return await work()
  } finally {
    await client.end()
  }
}

/** False when another transaction holds it; otherwise the lock is held until this transaction ends. */
export async function tryLock(tx: Transaction, lock: number): Promise<boolean> {
  const { rows } = await tx.query<{ taken: boolean }>('select pg_try_advisory_xact_lock($1) as taken', [lock])
  return one(rows).taken
}

/**
 * Runs the step in one transaction after another, until it returns 0 or another process holds the lock. Returns the
 * sum.
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

/** Held until this transaction ends. */
export async function lockRefusedCredentials(tx: Transaction): Promise<void> {
  await tx.query('select pg_advisory_xact_lock($1)', [locks.refusedCredentials])
}

/** Held until this transaction ends. An operator's next order then sees the sum of all earlier ones. */
export async function lockOperatorOrders(tx: Transaction, person: string): Promise<void> {
  await tx.query('select pg_advisory_xact_lock($1, hashtext($2))', [locks.operatorOrders, person])
}
