/** Restores a copy into an empty database: all of it, tables included and verified, or nothing. */
import type { Readable } from 'node:stream'
import { completeArchived, createArchived, readArchived } from './copied-archives.ts'
import { copiedNames, listCopied, migrationsTable } from './copied-tables.ts'
import {
  archivesFormat,
  copyFormat,
  CopyRefused,
  getMigration,
  isRow,
  openChecksum,
  textSettings,
} from './copy-file.ts'
import type { CopyEnd, CopyHead, TableEnd, TableHead } from './copy-file.ts'
import { openLines, type Lines } from './lines.ts'
import { continueSerials } from '../events/journal.ts'
import { sqlState } from '../connection/database-unavailable.ts'
import { beginSchemaChange } from '../cluster/snapshot.ts'
import { commandConnectMs, type Connection, type OpenClient, type Queryable } from '../connection/open-client.ts'
import { openClient } from '../connection/servers.ts'
import { describeForeign, migrateInTransaction, migrationStatus } from '../migrations/migrate.ts'
import { listTables, quoted, type Table } from '../migrations/tables.ts'
import type { Fault } from '../verify/fault.ts'
import { verifySnapshot, type VerifyResult } from '../verify/verify.ts'

export type ImportOptions = {
  readonly currency: string
  readonly onProgress?: (table: string, rows: number) => void
  readonly onFault?: (fault: Fault) => void
  /** Runs in the transaction of the import, before it commits. */
  readonly onRestored?: (db: Queryable, imported: Imported) => Promise<void>
  /** Restores books that were faulty when copied, so that they can be repaired. */
  readonly acceptsFaults?: boolean
}

export type Imported = { readonly head: CopyHead; readonly end: CopyEnd; readonly verified: VerifyResult }

export async function importBooks(connection: Connection, input: Readable, options: ImportOptions): Promise<Imported> {
  // The copy may arrive slowly, and no other process uses a database that is being restored.
  const settings = { idle_in_transaction_session_timeout: '0' }
  const client = await openClient(connection, { name: 'billfold import', settings, connectWithinMs: commandConnectMs })
  try {
    await client.query(beginSchemaChange)
    await client.query(textSettings)
    await createTables(client)
    const imported = await restore(client, input, options)
    await options.onRestored?.(client, imported)
    await client.query('commit')
    return imported
  } finally {
    // Without a commit, the server drops every row of the import when the connection ends.
    await client.end()
    input.destroy()
  }
}

/** In the transaction of the import, so that a refused copy leaves no table behind. */
async function createTables(db: Queryable): Promise<void> {
  const { current } = await migrationStatus(db)
  if (current === 0 && (await listTables(db)).length > 0) throw new CopyRefused(await describeForeign(db))
  await migrateInTransaction(db)
}

async function restore(db: OpenClient, input: Readable, options: ImportOptions): Promise<Imported> {
  const all = (await listTables(db)).filter((table) => table.name !== migrationsTable)
  await holdEmpty(db, all)
  const lines = openLines(input)
  const head = await readHead(db, lines, options)
  const archived = readArchived(head)
  await createArchived(db, archived)
  const tables = await listCopied(db, archived)
  const whole = openChecksum().update(lines.current)
  let rows = 0
  let count = 0
  let end: CopyEnd | undefined
  while (!end) {
    const line = parse(await lines.next()) as TableHead | CopyEnd
    if ('table' in line) {
      whole.update(lines.current)
      const table = findTable(tables, line)
      rows += await restoreTable(db, table, line, lines, options)
      whole.update(lines.current)
      count++
    } else end = line
  }
  if (end.tables !== count || end.rows !== rows || end.sha256 !== whole.digest('hex') || count !== tables.length)
    throw new CopyRefused('The copy is damaged: its parts do not add up to what its end says.')
  await continueSerials(db)
  for (const { name } of all) await db.query(`alter table ${quoted(name)} enable trigger user`)
  await completeArchived(db, archived)
  for (const name of new Set([...all, ...tables].map((table) => table.name))) await db.query(`analyze ${quoted(name)}`)
  const verified = await verifySnapshot(db, options.onFault ? { onFault: options.onFault } : {})
  if (verified.faults > 0 && !options.acceptsFaults)
    throw new CopyRefused(`The books in the copy have ${verified.faults} faults, and had them when they were copied.`)
  return { head, end, verified }
}

/**
 * Rows that a service creates by itself when it starts do not count as data, and are replaced by the copy's: tables with one
 * row, which a migration fills, and short-lived counts.
 */
function isFilledByItself({ name, primaryKey }: Table): boolean {
  return primaryKey.join() === 'only_row' || ['minutes', 'limits'].includes(name)
}

/**
 * A copy already contains the effects of triggers, so they are disabled. That also locks the tables until the commit, so no
 * service writes into a database that is being restored.
 */
async function holdEmpty(db: Queryable, tables: readonly Table[]): Promise<void> {
  for (const { name } of tables) await db.query(`alter table ${quoted(name)} disable trigger user`)
  for (const table of tables) {
    const { name } = table
    if (isFilledByItself(table)) await db.query(`delete from ${quoted(name)}`)
    const { rows } = await db.query(`select 1 from ${quoted(name)} limit 1`)
    if (rows.length > 0) throw new CopyRefused(`The database is not empty: there are ${name}. Import into a new one.`)
  }
}

async function readHead(db: Queryable, lines: Lines, options: ImportOptions): Promise<CopyHead> {
  const head = parse(await lines.next()) as CopyHead
  if (!isFormat(head.format)) throw new CopyRefused(describeFormat(head.format))
  const { migration } = head as Partial<CopyHead>
  if (!migration) throw new CopyRefused('The copy is damaged: its head names no migration.')
  const here = await getMigration(db)
  if (migration.checksum !== here.checksum)
    throw new CopyRefused(
      `The copy is of migration ${migration.name} (${migration.checksum.slice(0, 8)}), the database is at ${here.name} (${here.checksum.slice(0, 8)}). Import it with the version that made it, then upgrade.`,
    )
  if (head.currency !== options.currency)
    throw new CopyRefused(`The copy is in ${head.currency}, this service in ${options.currency}: set CURRENCY.`)
  return head
}

const isFormat = (format: unknown) => format === copyFormat || format === archivesFormat

function describeFormat(format: unknown): string {
  return typeof format === 'string' && /^billfold copy \d{1,9}$/.test(format)
    ? `The copy is of another version of Billfold, which this one cannot read: ${format}. Import it with the version that made it, then upgrade.`
    : 'This is not a copy made by `billfold export`.'
}

function findTable(tables: readonly Table[], { table: name, columns }: Partial<TableHead>): Table {
  const table = tables.find((candidate) => candidate.name === name)
  if (!table || copiedNames(table).join() !== columns?.join())
    throw new CopyRefused(`The database has no table ${name} with the columns of the copy.`)
  return table
}

const maxBatchLength = 1_000_000

/** Reads up to the table's end line, which is then the current line. */
async function restoreTable(
  db: Queryable,
  table: Table,
  { columns }: TableHead,
  lines: Lines,
  { onProgress }: ImportOptions,
): Promise<number> {
  const types = new Map(table.columns.map((column) => [column.name, column.type]))
  const values = columns.map((name, i) => `(line->>${i})::${types.get(name)}`).join(', ')
  const sql = `insert into ${quoted(table.name)} (${columns.map(quoted).join(', ')}) overriding system value
    select ${values} from json_array_elements($1::json) line`
  const checksum = openChecksum()
  let rows = 0
  let held: string[] = []
  let length = 0
  const flush = async () => {
    if (held.length > 0)
      await db.query({ text: sql, values: [`[${held.join(',')}]`] }).catch((error: unknown) => {
        throw isNoSuchRow(error) ? new CopyRefused(damagedRows(table), { cause: error }) : error
      })
    held = []
    length = 0
    onProgress?.(table.name, rows)
  }
  for (;;) {
    const line = await lines.next()
    if (!isRow(line)) break
    checksum.update(lines.current)
    held.push(line)
    rows++
    length += line.length
    if (length > maxBatchLength) await flush()
  }
  await flush()
  const end = parse(lines.current) as TableEnd
  if (end.rows !== rows || end.sha256 !== checksum.digest('hex')) throw new CopyRefused(damagedRows(table))
  return rows
}

function damagedRows({ name }: Table): string {
  return `The copy is damaged: the rows of ${name} are not those that were written.`
}

/** The database refuses a value or a combination of rows. Exported rows satisfied all constraints, so the copy is damaged. */
function isNoSuchRow(error: unknown): boolean {
  return /^2[23]/.test(sqlState(error) ?? '')
}

/** An object with any content. */
function parse(line: string): unknown {
  try {
    const parsed: unknown = JSON.parse(line)
    if (typeof parsed === 'object' && parsed !== null) return parsed
  } catch {
    // The line was damaged.
  }
  throw new CopyRefused('The copy is damaged: a line cannot be read.')
}
