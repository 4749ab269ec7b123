/** What a node of a cluster said of a fault, as far as Citus passes it on. */
import { DatabaseError } from 'pg'

/** Of rows that are copied to a node, the coordinator repeats the words alone, and its own code for “internal error”. */
const internalError = 'XX000'
const codes: readonly (readonly [words: RegExp, code: string])[] = [
  [/unique constraint/, '23505'],
  [/check constraint/, '23514'],
  [/lock timeout/, '55P03'],
  [/deadlock/, '40P01'],
  [/could not serialize/, '40001'],
  [/canceling statement/, '57014'],
  [/connection|shutting down|starting up|recovery mode|failed to complete COPY/, '57P01'],
]

/** The key of a shard has the name of the table's own, and a number. */
const shardKey = /"((transfers|outcomes|wallets|repeats)_\w+?)_\d+"/

/** Gives the fault back its code, its table and its constraint. */
export function readNodeFault(error: unknown): void {
  if (!(error instanceof DatabaseError)) return
  const { code, message } = error
  if (code === internalError) error.code = codes.find(([words]) => words.test(message))?.[1] ?? code
  const [, constraint, table] = shardKey.exec(message) ?? []
  if (constraint !== undefined) Object.assign(error, { constraint, table })
}
