/** Which schema a database has, as one checksum over all its migrations. */
import { createHash } from 'node:crypto'
import type { CopyHead } from './copy-format.ts'
import type { Queryable } from './database.ts'

/** Its rows are the program's own and come from `migrate`, never from a copy. */
export const migrationsTable = 'billfold_migrations'

export async function getMigration(db: Queryable): Promise<CopyHead['migration']> {
  const { rows } = await db.query<{ number: number; name: string; checksum: string }>(
    `select number, name, checksum from ${migrationsTable} order by number`,
  )
  const last = rows.at(-1)!
  const checksum = createHash('sha256')
  for (const row of rows) checksum.update(`${row.number} ${row.name} ${row.checksum}\n`)
  return { number: last.number, name: last.name, checksum: checksum.digest('hex') }
}
