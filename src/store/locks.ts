/** Locks that stand for no row. */
import type { Transaction } from './database.ts'

const demoLock = 0xb111f03d

/** One process at a time makes the demo; held until the transaction ends. */
export async function lockDemo(tx: Transaction): Promise<void> {
  await tx.query('select pg_advisory_xact_lock($1)', [demoLock])
}
