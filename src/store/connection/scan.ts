/** Scans that no index can answer at once: in steps, newest first, until they have enough or their time is up. */
import { sqlState, transact, type Database, type Transaction } from './database.ts'

/**
 * Calls the step until it returns true, for at most `budgetMs`. Returns false when the time was up; the step keeps what it found
 * until then. Sequential scans are switched off, because each step reads its part by an index.
 */
export async function scanInSteps(
  db: Database,
  budgetMs: number,
  step: (tx: Transaction) => Promise<boolean>,
): Promise<boolean> {
  const endsAt = performance.now() + budgetMs
  try {
    return await transact(db, async (tx) => {
      for (;;) {
        const leftMs = Math.floor(endsAt - performance.now())
        if (leftMs <= 0) return false
        await tx.query(
          `select set_config('enable_seqscan', 'off', true), set_config('statement_timeout', '${leftMs}', true)`,
        )
        if (await step(tx)) return true
      }
    })
  } catch (error) {
    // 57014: cancelled by statement_timeout.
    if (sqlState(error) === '57014') return false
    throw error
  }
}
