/** Writes a copy of the whole database, in one snapshot, while the service continues. */
import { once } from 'node:events'
import type { Writable } from 'node:stream'
import { finished } from 'node:stream/promises'
import { createGzip } from 'node:zlib'
import { listArchives } from '../closing/archive/archived-periods.ts'
import {
  archivesFormat,
  contents,
  copyFormat,
  getMigration,
  openChecksum,
  textSettings,
  type CopyEnd,
  type CopyHead,
} from './copy-file.ts'
import { copiedColumns, copiedNames, listCopied, textOf, type CopiedTable } from './copied-tables.ts'
import { beginSnapshot } from '../cluster/snapshot.ts'
import { commandConnectMs, type Connection, type Queryable } from '../connection/open-client.ts'
import { openClient } from '../connection/servers.ts'
import { listKeyIds } from '../sealed.ts'
import { quoted } from '../migrations/tables.ts'

export type ExportOptions = {
  readonly currency: string
  readonly now: Date
  readonly onProgress?: (table: string, rows: number) => void
}

/** The first and the last line of the copy. */
export type Exported = { readonly head: CopyHead; readonly end: CopyEnd }

export async function exportBooks(connection: Connection, output: Writable, options: ExportOptions): Promise<Exported> {
  // A slow reader leaves the transaction idle; it locks no row.
  const settings = { idle_in_transaction_session_timeout: '0' }
  const client = await openClient(connection, { name: 'billfold export', settings, connectWithinMs: commandConnectMs })
  const gzip = createGzip({ level: 6 })
  gzip.pipe(output)
  const done = finished(output)
  // The reader may close the stream at any time. The await below reports it; this only prevents an unhandled rejection.
  done.catch(() => {})
  try {
    await beginSnapshot(connection, [client])
    await client.query(textSettings)
    const exported = await writeAll(client, (text) => writeTo(gzip, output, text), options)
    gzip.end()
    await done
    return exported
  } finally {
    gzip.destroy()
    await client.end()
  }
}

type Write = (text: string) => Promise<void>

async function writeAll(db: Queryable, write: Write, options: ExportOptions): Promise<Exported> {
  const whole = openChecksum()
  const writeLine = async (value: object) => {
    const line = `${JSON.stringify(value)}\n`
    whole.update(line)
    await write(line)
  }
  const { currency, now, onProgress } = options
  const migration = await getMigration(db)
  const secretsKeys = await listKeyIds(db)
  const archived = (await listArchives(db)).map(({ id }) => id)
  const head: CopyHead = {
    ...(archived.length > 0 ? { format: archivesFormat, archived } : { format: copyFormat }),
    createdAt: now.toISOString(),
    currency,
    migration,
    contains: contents,
    secretsKeys,
  }
  await writeLine(head)
  const tables = await listCopied(db, archived)
  let total = 0
  for (const table of tables) {
    await writeLine({ table: table.name, columns: copiedNames(table) })
    const checksum = openChecksum()
    let rows = 0
    for await (const lines of readRows(db, table)) {
      const text = `${lines.join('\n')}\n`
      checksum.update(text)
      await write(text)
      rows += lines.length
      onProgress?.(table.name, rows)
    }
    await writeLine({ rows, sha256: checksum.digest('hex') })
    total += rows
  }
  const end = { tables: tables.length, rows: total, sha256: whole.digest('hex') }
  await write(`${JSON.stringify(end)}\n`)
  return { head, end }
}

async function* readRows(db: Queryable, table: CopiedTable): AsyncGenerator<string[]> {
  const values = copiedColumns(table).map(textOf).join(', ')
  const key = table.primaryKey.map(quoted).join(', ')
  await db.query(
    `declare copied no scroll cursor for select json_build_array(${values})::text as line from ${table.from} ${key && `order by ${key}`}`,
  )
  for (;;) {
    const { rows } = await db.query<[string]>({ text: `fetch ${table.rowsPerFetch} from copied`, rowMode: 'array' })
    if (rows.length === 0) break
    yield rows.map(([line]) => line)
  }
  await db.query('close copied')
}

/** Waits for a slow reader, so that memory stays constant however large the books are. */
async function writeTo(gzip: Writable, output: Writable, text: string): Promise<void> {
  if (output.destroyed || output.errored) throw output.errored ?? new Error('The output was closed.')
  if (gzip.write(text)) return
  const stop = new AbortController()
  const { signal } = stop
  try {
    await Promise.race([once(gzip, 'drain', { signal }), once(output, 'close', { signal })])
  } finally {
    stop.abort()
  }
}
