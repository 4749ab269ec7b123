/**
 * A copy of the whole database as gzipped lines of JSON. A head; then for each table its name and columns, one array of
 * texts for each row, and an end with the number of rows and a checksum; then the end of the copy. The texts are
 * PostgreSQL's own, so every value comes back bit for bit. A copy that was cut short lacks its end, and is refused.
 */
import type { Queryable } from '../connection/database.ts'
import { createHash, type Hash } from 'node:crypto'

export const copyFormat = 'billfold copy 1'

export type CopyHead = {
  readonly format: typeof copyFormat
  readonly createdAt: string
  readonly currency: string
  /** The newest migration, and one checksum over all of them: only the very same schema can take the rows back. */
  readonly migration: { readonly number: number; readonly name: string; readonly checksum: string }
  /** For whoever finds the file, in words. */
  readonly contains: string
  /** The ids of the keys that its secrets were encrypted with: they are of no use to a service without these keys. */
  readonly secretsKeys: readonly string[]
}

export const contents =
  'Everything in the database: names, emails, balances and transactions; hashes of passwords, of client secrets and of ' +
  'sessions; second factors, encrypted with SECRETS_KEY, which is not in this copy.'

export type TableHead = { readonly table: string; readonly columns: readonly string[] }
export type TableEnd = { readonly rows: number; readonly sha256: string }
export type CopyEnd = { readonly tables: number; readonly rows: number; readonly sha256: string }

/** Rows are arrays, everything else is an object: the first character tells. */
export function isRow(line: string): boolean {
  return line.startsWith('[')
}

/** Over lines, each with its line end. */
export function openChecksum(): Hash {
  return createHash('sha256')
}

/** A sentence for the operator: the copy cannot be taken, and nothing was changed. */
export class CopyRefused extends Error {
  override name = 'CopyRefused'
}

/** What keeps a value's text the same on every server and in every session. */
export const textSettings = `set local datestyle = 'ISO, YMD'; set local timezone = 'UTC'; set local intervalstyle = 'postgres';
  set local extra_float_digits = 1; set local bytea_output = 'hex'; set local statement_timeout = 0; set local search_path = public`

/* Which schema a database has, as one checksum over all its migrations. */

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
