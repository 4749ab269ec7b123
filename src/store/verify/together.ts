/** Several connections that see one moment and share the work. */
import type { Queryable } from '../database.ts'

export type Several = readonly [Queryable, ...Queryable[]]

/** Each connection works until there is nothing left. When one fails, the others end what they are at, and no more. */
export async function inParallel(all: Several, work: (db: Queryable) => Promise<boolean>): Promise<void> {
  let hasFailed = false
  const results = await Promise.allSettled(
    all.map(async (db) => {
      try {
        while (!hasFailed && (await work(db)));
      } catch (error) {
        hasFailed = true
        throw error
      }
    }),
  )
  for (const result of results) if (result.status === 'rejected') throw result.reason
}
