/** Applies migrations by hand; the service does the same when it starts. */
import { migrationStatus } from '../../store/migrations/migrate.ts'
import type { Command } from '../command.ts'
import { openForCommand, withData } from '../data.ts'

export const migrateCommands: readonly Command[] = [
  {
    name: 'migrate',
    database: 'writes',
    summary: 'apply all pending migrations to the database; npm start does so too',
    details: 'Several processes may run it at once. It refuses a database that is newer than this program.',
    examples: ['migrate', 'migrate --json'],
    run: async (invocation) =>
      await withData(invocation, async ({ connection, applied }) => {
        const db = openForCommand(connection, 1)
        const { current } = await migrationStatus(db.pool)
        await db.pool.end()
        const text = applied.length === 0 ? 'Nothing to do' : `Applied ${applied.join(', ')}`
        return { json: { applied, current }, text: `${text}: the database is at migration ${current}.` }
      }),
  },
]
