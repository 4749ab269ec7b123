/** Several connections that see one moment and share the work. */
import type { Queryable } from '../connection/database.ts'

export type Connections = readonly [Queryable, ...Queryable[]]

/** Each connection works until there is nothing left. When one fails, the others end what they are at, and no more. */
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
