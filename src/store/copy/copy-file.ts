/**
 * A copy of the whole database as gzipped lines of JSON. First a head. Then for each table its name and columns, one array of
 * texts per row, and an end with the row count and a checksum. Then the end of the copy. The texts are PostgreSQL's output
 * format, so every value is restored bit for bit. A truncated copy lacks its end, and is refused.
 */
import type { Queryable } from '../connection/database.ts'
import { createHash, type Hash } from 'node:crypto'
import { migrationsTable } from './copied-tables.ts'

export const copyFormat = 'billfold copy 1'
/** With periods that are in files. A version that does not know them refuses the copy. */
export const archivesFormat = 'billfold copy 2'

export type CopyHead = {
  readonly format: typeof copyFormat | typeof archivesFormat
  /** In `archivesFormat`, the periods that are in files: 1, 2, 3 … */
  readonly archived?: readonly number[]
  readonly createdAt: string
  readonly currency: string
  /** The newest migration, and one checksum over all migrations: only the same schema can restore the rows. */
  readonly migration: { readonly number: number; readonly name: string; readonly checksum: string }
  /** A sentence for people who find the file. */
  readonly contains: string
  /** The ids of the keys that encrypted its secrets: without these keys a service cannot read them. */
  readonly secretsKeys: readonly string[]
}

export const contents =
  'Everything in the database: names, emails, balances and transactions; hashes of passwords, of client secrets and of ' +
  'sessions; second factors, encrypted with SECRETS_KEY, which is not in this copy.'

export type TableHead = { readonly table: string; readonly columns: readonly string[] }
export type TableEnd = { readonly rows: number; readonly sha256: string }
export type CopyEnd = { readonly tables: number; readonly rows: number; readonly sha256: string }

/** Rows are arrays, all other lines are objects: the first character distinguishes them. */
export function isRow(line: string): boolean {
  return line.startsWith('[')
}

/** Over lines, including their line ends. */
export function openChecksum(): Hash {
  return createHash('sha256')
}

/** A sentence for the operator: the copy cannot be restored, and nothing was changed. */
export class CopyRefused extends Error {
  override name = 'CopyRefused'
}

/** Settings that keep a value's text the same on every server and in every session. */
export const textSettings = `set local datestyle = 'ISO, YMD'; set local timezone = 'UTC'; set local intervalstyle = 'postgres';
  set local extra_float_digits = 1; set local bytea_output = 'hex'; set local statement_timeout = 0; set local search_path = public`

/* The schema of a database, as one checksum over all its migrations. */

export async function getMigration(db: Queryable): Promise<CopyHead['migration']> {
  const { rows } = await db.query<{ number: number; name: string; checksum: string }>(
    `select number, name, checksum from ${migrationsTable} order by number`,
  )
  const last = rows.at(-1)!
  const checksum = createHash('sha256')
  for (const row of rows) checksum.update(`${row.number} ${row.name} ${row.checksum}\n`)
  return { number: last.number, name: last.name, checksum: checksum.digest('hex') }
}
