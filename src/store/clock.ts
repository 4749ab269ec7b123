/** The database's clock. Whatever ends, ends by it, so that two processes never disagree. */
import type { Queryable } from './database.ts'

export async function getDatabaseTime(db: Queryable): Promise<Date> {
  const { rows } = await db.query<{ now: Date }>('select clock_timestamp() as now')
  return rows[0]!.now
}
