/** Several connections that share one snapshot and the work. */
import type { Checking } from '../cluster/agreement.ts'
import type { Queryable } from '../connection/database.ts'

export type Connections = readonly [Checking, ...Checking[]]

/** Each connection calls `work` until it returns false. When one call fails, the others finish their current call and stop. */
export async function inParallel(all: Connections, work: (db: Queryable) => Promise<boolean>): Promise<void> {
  const over = new AbortController()
  const results = await Promise.allSettled(
    all.map(async (db) => {
      try {
        let isMore = true
        while (isMore && !over.signal.aborted) isMore = await work(db)
      } catch (error) {
        over.abort()
        throw error
      }
    }),
  )
  for (const result of results) if (result.status === 'rejected') throw result.reason
}
