/** Checks that could not be made, because the database did not answer: each is named, with the reason. */
import { diskFull, sqlState } from '../../store/connection/database.ts'
import { DatabaseRefused } from '../../store/prepare.ts'
import type { Check } from '../apps/examine-embedding.ts'

/** Checks of tables, in the order of the report. */
export const workChecks: readonly string[] = [
  'Books',
  'Periods',
  'SECRETS_KEY',
  'Disk',
  'Top-ups',
  'Mails',
  'Holds',
  'Background work',
  'Seal of the books',
  'Checkpoints',
  'Events',
  'Webhooks',
]

/** All checks that ask the database. */
export const databaseChecks: readonly string[] = [
  ...workChecks,
  'PostgreSQL',
  'Writes',
  'fsync',
  'full_page_writes',
  'synchronous_commit',
  'data_checksums',
  'Back-up',
  'Standby',
  'Migrations',
  'Role',
  'Tables',
  'Connections',
  'Connection to the database',
  'Distance to the database',
  'Vacuum',
  'Clock',
]

export async function orNotMade(names: readonly string[], read: () => Promise<Check[]>): Promise<Check[]> {
  try {
    return await read()
  } catch (error) {
    return notMade(names, error)
  }
}

export function notMade(names: readonly string[], error: unknown): Check[] {
  const reason = error instanceof Error ? error.message : String(error)
  const trouble = isFull(error) ? 'the-disk-is-full' : 'the-database-is-away-or-slow'
  // A refusal says itself what to do.
  const fix = error instanceof DatabaseRefused ? {} : { fix: `docs/operations/runbooks.md#${trouble}.` }
  return [
    { name: 'Database', state: 'bad', text: reason, ...fix },
    ...names.map((name): Check => ({ name, state: 'unknown', text: `Not checked: ${reason}` })),
  ]
}

/** The refusal of a connection has the error of the server as its cause. */
function isFull(error: unknown): boolean {
  return [error, error instanceof Error && error.cause].some((each) => sqlState(each) === diskFull)
}
