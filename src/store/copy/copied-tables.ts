/**
 * What a copy has of a database: every table; the ledger, as one open period; and what the database keeps of the periods that are in files. Of
 * such a period no entry and no filter could be made again from the rest, so its tables are copied as they are.
 */
import { carriedTable, carriedTables } from '../closing/archive/archived-periods.ts'
import type { Queryable } from '../connection/database.ts'
import { describeTables, listTables, quoted, type Column, type Table } from '../migrations/tables.ts'

export type CopiedTable = Table & {
  /** Where its rows are read, in an SQL expression. */
  readonly from: string
  readonly rowsPerFetch: number
}

/** Its rows come from `migrate`, never from a copy. */
export const migrationsTable = 'billfold_migrations'

/** What each has of a period that is in the database is left out: there it is open again where the copy is imported. */
const periodColumns: Readonly<Record<string, string>> = {
  closings: 'id',
  closed_references: 'closing_id',
  archives: 'closing_id',
}

/** For tables whose rows are large: a block of references is 16 kB as text, and a part of a filter 2 MB. */
const usualRows = 2_000
const fewRows = 10

/** In the order in which they can be filled. `archived`: the periods that are in files. */
export async function listCopied(db: Queryable, archived: readonly number[]): Promise<CopiedTable[]> {
  const tables = (await listTables(db)).filter(
    ({ name }) => name !== migrationsTable && (archived.length > 0 || !(name in periodColumns)),
  )
  const names = archived.flatMap((id) => carriedTables.map((name) => carriedTable(name, id)))
  return [
    ...tables.map((table) => ({
      ...table,
      from: sourceOf(table, archived),
      rowsPerFetch: table.name === 'closed_references' ? fewRows : usualRows,
    })),
    ...(await describeTables(db, names)).map((table) => ({
      ...table,
      from: quoted(table.name),
      rowsPerFetch: table.columns.some(isBits) ? fewRows : usualRows,
    })),
  ]
}

function sourceOf({ name }: Table, archived: readonly number[]): string {
  if (name === 'transfers') return 'all_transfers where not is_archived'
  if (name === 'outcomes') return 'all_outcomes'
  const column = periodColumns[name]
  return column ? `${name} where ${column} in (${archived.join()})` : quoted(name)
}

const isBits = ({ type }: Column) => type === 'bit varying'

/** A generated column is computed again from the others. */
export function copiedColumns(table: Table): Column[] {
  return table.columns.filter((column) => !column.isGenerated)
}

export const copiedNames = (table: Table) => copiedColumns(table).map(({ name }) => name)

/**
 * A value as text that PostgreSQL reads back. Bits as hex digits, of which a block has a whole number: a text of zeros and ones took gzip nine
 * times as long.
 */
export function textOf(column: Column): string {
  const name = quoted(column.name)
  return isBits(column)
    ? `'x' || left(encode(substring(varbit_send(${name}) from 5), 'hex'), length(${name}) / 4)`
    : `${name}::text`
}
