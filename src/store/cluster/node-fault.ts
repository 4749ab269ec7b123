/** Errors of a cluster's nodes, as the coordinator passes them on. */
import { DatabaseError } from 'pg'

/** For rows copied to a node, the coordinator repeats only the message, with its own code for “internal error”. */
const internalError = 'XX000'
const codes: readonly (readonly [message: RegExp, code: string])[] = [
  [/unique constraint/, '23505'],
  [/check constraint/, '23514'],
  [/lock timeout/, '55P03'],
  [/deadlock/, '40P01'],
  [/could not serialize/, '40001'],
  [/canceling statement/, '57014'],
  [/connection|shutting down|starting up|recovery mode|failed to complete COPY/, '57P01'],
]

/** The name of a shard's constraint is that of the table's, followed by a number. */
const shardKey = /"((transfers|outcomes|wallets|repeats|holds|hold_steps)_\w+?)_\d+"/

/** Restores the error's code, table and constraint. */
export function restoreNodeFault(error: unknown): void {
  if (!(error instanceof DatabaseError)) return
  const { code, message } = error
  if (code === internalError) error.code = codes.find(([pattern]) => pattern.test(message))?.[1] ?? code
  const [, constraint, table] = shardKey.exec(message) ?? []
  if (constraint !== undefined) Object.assign(error, { constraint, table })
}
