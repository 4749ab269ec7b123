/** Rounds without the jobs that follow every change. */
import { Client } from 'pg'
import { locks } from '../src/store/locks.ts'
import type { Site } from './stage.ts'

/**
 * Keeps the check of the books and their sealing out of the rounds: their steps find the lock taken. A pass takes seconds, and would fall
 * into the rounds of one side. The result ends it.
 */
export async function holdChecks({ database }: Site): Promise<() => Promise<void>> {
  const client = new Client(database.connection)
  await client.connect()
  for (const lock of [locks.booksCheck, locks.sealBooks]) await client.query('select pg_advisory_lock($1)', [lock])
  return async () => await client.end()
}
