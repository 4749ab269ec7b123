/** The schema, brought up to date by hand; the service does the same when it starts. */
import { migrationStatus } from '../store/migrations/migrate.ts'
import { openDatabase } from '../store/connection/database.ts'
import type { Command } from './command.ts'
import { withData } from './data.ts'

export const migrateCommands: readonly Command[] = [
  {
    name: 'migrate',
    summary: 'bring the database to the newest migration; npm start does so by itself',
    details: 'Safe while others do the same. A database that is newer than this program is refused.',
    examples: ['migrate', 'migrate --json'],
    run: async (invocation) =>
      await withData(invocation, async ({ connection, applied }) => {
        const db = openDatabase(connection, 1)
        const { current } = await migrationStatus(db.pool)
        await db.pool.end()
        const text = applied.length === 0 ? 'Nothing to do' : `Applied ${applied.join(', ')}`
        return { json: { applied, current }, text: `${text}: the database is at migration ${current}.` }
      }),
  },
]
