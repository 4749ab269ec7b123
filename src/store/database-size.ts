/** How much room the whole database takes, its indexes included. */
import type { Queryable } from './database.ts'

export async function getDatabaseBytes(db: Queryable): Promise<number> {
  const { rows } = await db.query<{ bytes: bigint }>('select pg_database_size(current_database()) as bytes')
  return Number(rows[0]!.bytes)
}
