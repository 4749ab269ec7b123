/** Exports a copy of all data, and imports it. */
import { createReadStream } from 'node:fs'
import { open } from 'node:fs/promises'
import { Writable, type Readable } from 'node:stream'
import { recordAudit } from '../actions/audit.ts'
import { openSecrets } from '../actions/secrets/open-secrets.ts'
import { sealPlainSecrets } from '../actions/secrets/reseal.ts'
import type { CopyHead } from '../store/copy/copy-file.ts'
import { getDatabaseBytes } from '../store/connection/server-info.ts'
import { exportBooks } from '../store/copy/export.ts'
import { importBooks } from '../store/copy/import.ts'
import { CommandRefused, UsageMistake, actorOf, isSet, type Invocation, type Command, type Reply } from './command.ts'
import { openForCommand, withData, type Data } from './data.ts'
import { openProgress } from './progress.ts'
import { writeWholeFile } from './whole-file.ts'

export const copyCommands: readonly Command[] = [
  {
    name: 'export',
    database: 'reads',
    summary: 'write a consistent copy of all data, while the service runs',
    positionals: ['[file]'],
    details: `Without a file, or with -, the copy goes to stdout. It is gzipped text with checksums and contains all data, password hashes
included: the file is readable only by you, has its name only when it is complete, and overwrites no other. Secrets in it, such as second factors,
are encrypted with SECRETS_KEY: keep that key too, in another place. The entries of archived periods are
not in it, but in their files: keep those too. For a database above 1 GB use pg_dump instead (docs/operations/backup.md).`,
    examples: ['export backup.billfold', 'export | ssh backup "cat > backup.billfold"'],
    run: async (invocation) => {
      const file = invocation.positionals[0] ?? '-'
      if (file === '-' && invocation.isJson)
        throw new UsageMistake('--json and the copy cannot both be on stdout: name a file.')
      if (file === '-' && invocation.io.output.isTTY)
        throw new UsageMistake('The copy is not for a terminal: name a file, or pipe it with |.')
      return await withData(invocation, async (data) => {
        await prepareExport(invocation, data)
        return await (file === '-' ? exportToOutput(invocation, data) : exportToFile(invocation, data, file))
      })
    },
  },
  {
    name: 'import',
    database: 'restores',
    summary: 'restore a copy into an empty database, and verify it',
    positionals: ['file'],
    flags: { 'accept-faults': { about: 'restore books that were faulty when they were copied' } },
    details: `Restores everything or nothing: a refused copy leaves no table behind. The database must have no data and the same migration
and currency, every checksum must be right, and the books must be exact. Archived periods stay archived, and archive restore brings them back
from the same files. - reads from stdin. The secrets need the SECRETS_KEY of the service that made the copy.`,
    examples: ['import backup.billfold', 'DATA_DIR=./restored npx billfold import backup.billfold'],
    run: async (invocation) =>
      await withData(invocation, (data) => importFrom(invocation, data, invocation.positionals[0]!)),
  },
]

const largeBytes = 1e9

async function prepareExport({ io }: Invocation, { config, connection }: Data): Promise<void> {
  const db = openForCommand(connection, 1)
  try {
    const bytes = await getDatabaseBytes(db.pool)
    if (bytes > largeBytes) io.errors.write(`${largeSentence(bytes, config)}\n`)
    // A database on which no service of this version was started may still have plain secrets.
    await sealPlainSecrets(db, openSecrets(config))
  } finally {
    await db.pool.end()
  }
}

/** The copy uses one process and one stream, and its restore one transaction: PostgreSQL's own tools are faster. */
function largeSentence(bytes: number, { databaseUrls }: Data['config']): string {
  const better =
    databaseUrls.length > 0
      ? 'pg_dump --format=directory --jobs=4 --file=backup.dump "$DATABASE_URL" (docs/operations/backup.md)'
      : 'pg_dump with your own PostgreSQL (DATABASE_URL)'
  return `The database has ${(bytes / 1e9).toFixed(1)} GB. For a copy of that size use ${better}. This export continues.`
}

/** The key that a restore needs. */
function keySentence({ secretsKeys }: CopyHead): string {
  if (secretsKeys.length === 0) return 'It has no secrets that need SECRETS_KEY.'
  return `Its secrets are encrypted: a restore needs SECRETS_KEY with the key ${secretsKeys.join(', ')}, which is not in the copy.`
}

function archivedSentence({ archived = [] }: CopyHead): string {
  const last = archived.at(-1)
  if (last === undefined) return ''
  const which = last === 1 ? 'Period 1 is archived: its' : `Periods 1 to ${last} are archived: their`
  return `\n${which} entries are in files, which are not in the copy. Keep the files: archive restore needs them, also in a database made from the copy.`
}

function describeContents(head: CopyHead): string {
  return `${head.contains} ${keySentence(head)}${archivedSentence(head)}`
}

async function exportToOutput(invocation: Invocation, data: Data): Promise<Reply> {
  // The process's own output cannot be ended.
  const output = new Writable({
    write: (chunk, _encoding, done) => void invocation.io.output.write(chunk as Buffer, done),
  })
  const { head } = await exportBooks(data.connection, output, exportOptions(invocation, data))
  invocation.io.errors.write(`${describeContents(head)}\n`)
  return { json: {}, text: undefined }
}

async function exportToFile(invocation: Invocation, data: Data, file: string): Promise<Reply> {
  const { head, end } = await writeWholeFile(file, invocation.io.signal, (output) =>
    exportBooks(data.connection, output, exportOptions(invocation, data)),
  )
  const { contains, secretsKeys, archived = [] } = head
  return {
    json: { file, ...end, contains, secretsKeys, archived },
    text: `${end.rows} rows of ${end.tables} tables are in ${file}.\n${describeContents(head)}`,
  }
}

function exportOptions({ io }: Invocation, { config }: Data) {
  const progress = openProgress(io)
  const onProgress = (table: string, rows: number) => progress.show(`${table}: ${rows} rows`)
  return { currency: config.currency.code, now: new Date(), onProgress }
}

async function importFrom(invocation: Invocation, { config, connection }: Data, file: string): Promise<Reply> {
  const input: Readable = file === '-' ? invocation.io.input : await openFile(file)
  const progress = openProgress(invocation.io)
  const { head, end, verified } = await importBooks(connection, input, {
    currency: config.currency.code,
    acceptsFaults: isSet(invocation, 'accept-faults'),
    onProgress: (table, rows) => progress.show(`${table}: ${rows} rows`),
    onRestored: async (db, { head, end }) =>
      await recordAudit(db, actorOf(invocation), 'books.imported', 'books', {
        createdAt: head.createdAt,
        rows: end.rows,
      }),
    onFault: (fault) => {
      progress.clear()
      invocation.io.errors.write(`${fault.check}: ${fault.message}\n`)
    },
  })
  progress.clear()
  const known = (await openSecrets(config).knownKeys()).map(({ id }) => id)
  const missingKeys = head.secretsKeys.filter((id) => !known.includes(id))
  const state = verified.faults === 0 ? 'the books are exact' : `the books have ${verified.faults} faults`
  return {
    json: {
      createdAt: head.createdAt,
      ...end,
      isExact: verified.faults === 0,
      archived: head.archived ?? [],
      verified: { ...verified, balanceMinor: String(verified.balanceMinor) },
      missingKeys,
    },
    text: `${end.rows} rows of ${end.tables} tables, copied ${head.createdAt}, are restored; ${state}.${missingSentence(missingKeys)}${archivedSentence(head)}`,
  }
}

function missingSentence(missingKeys: readonly string[]): string {
  if (missingKeys.length === 0) return ''
  return `\nIts secrets were encrypted with the key ${missingKeys.join(', ')}, which is missing here: before the start, add it to
SECRETS_KEY, or copy the file secrets.key from the other service's data folder.`
}

async function openFile(file: string): Promise<Readable> {
  const handle = await open(file).catch((error: NodeJS.ErrnoException) => {
    throw new CommandRefused(`${file} cannot be read: ${error.code}.`)
  })
  await handle.close()
  return createReadStream(file)
}
