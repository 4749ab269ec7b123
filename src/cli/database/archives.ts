/** Writes a closed period of the ledger into files, and checks such files. */
import { createReadStream, existsSync } from 'node:fs'
import { mkdir, readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { ArchiveRefused, manifestName, sha256Of, type Manifest } from '../../store/closing/archive/archive-file.ts'
import { checkArchive, parseManifest } from '../../store/closing/archive/check-archive.ts'
import { getCountedClosing, writeArchive } from '../../store/closing/archive/write-archive.ts'
import { openClient } from '../../store/connection/servers.ts'
import { CommandRefused, textOf, UsageMistake, wholeNumber, type Command, type Invocation } from '../command.ts'
import { withData, type Data } from '../data.ts'
import { openProgress } from '../progress.ts'
import { writeWholeFile } from '../whole-file.ts'

export const archiveCommands: readonly Command[] = [
  {
    name: 'archive write',
    database: 'reads',
    summary: 'write a closed period of the ledger into files that are readable without the service',
    positionals: ['period'],
    flags: { to: { value: 'FOLDER', about: 'the folder of the files; it is created', isRequired: true } },
    details: `Writes the entries and the references of the period as lines of JSON, compressed by zstd, and last a manifest with their counts, sums and
checksums. docs/scaling.md describes the lines. The period stays in the database, and the service goes on. The files are readable only by you.
An interrupted run leaves no manifest, and the next one begins again. Store the SHA-256 that it prints elsewhere: a
person who can change all files can also write another manifest.`,
    examples: ['archive write 1 --to ./archive', 'archive write 1 --to /mnt/archive --json'],
    run: async (invocation) => {
      const period = periodOf(invocation)
      return await withData(invocation, async (data) => {
        const { text, manifest } = await refusing(writeFiles(invocation, data, period, textOf(invocation, 'to')!))
        const { entries, outcomes } = manifest
        const size = entries.bytes + outcomes.bytes
        return {
          json: { ...manifest, sha256: sha256Of(text) },
          text: `Period ${period} is written: ${describe(manifest)}, ${size} bytes.\nSHA-256 of ${manifestName(period)}: ${sha256Of(text)}`,
        }
      })
    },
  },
  {
    name: 'archive check',
    database: 'none',
    summary: 'check the files of archived periods, without a database; exit code 1 if one is damaged',
    positionals: ['folder'],
    details: `Checks each period of the folder: the checksums of its files, the counts and the sums of each counter account, the order of the entries,
and every balance. It says whether the files are those of their manifest: compare the SHA-256 of the manifest with the one that
archive write printed.`,
    examples: ['archive check ./archive', 'archive check /mnt/archive --json'],
    run: async (invocation) => {
      const periods = await checkFolder(invocation, invocation.positionals[0]!)
      const lines = periods.flatMap(({ period, faults, summary, sha256 }) => [
        ...faults.map((fault) => `Period ${period}: ${fault}`),
        ...(faults.length === 0 ? [`Period ${period} is whole: ${summary}. SHA-256: ${sha256}`] : []),
      ])
      const isWhole = periods.every(({ faults }) => faults.length === 0)
      return { json: { isWhole, periods }, text: lines.join('\n'), exitCode: isWhole ? 0 : 1 }
    },
  },
]

function periodOf({ positionals }: Invocation): number {
  const period = wholeNumber(positionals[0]!)
  if (!period) throw new UsageMistake('The period is a number: npx billfold period list shows them.')
  return period
}

function describe({ entries, outcomes, wallets }: Manifest): string {
  return `${entries.rows} entries of ${wallets} wallets, ${outcomes.rows} references that moved nothing`
}

async function writeFiles(
  { io }: Invocation,
  { connection, config }: Data,
  period: number,
  folder: string,
): Promise<{ text: string; manifest: Manifest }> {
  const settings = { statement_timeout: '0', idle_in_transaction_session_timeout: '0' }
  const client = await openClient(connection, { name: 'billfold archive', settings })
  const progress = openProgress(io)
  try {
    await getCountedClosing(client, period)
    const file = join(folder, manifestName(period))
    if (existsSync(file)) throw new CommandRefused(`${file} already exists: this period is written.`)
    await mkdir(folder, { recursive: true, mode: 0o700 }).catch((error: NodeJS.ErrnoException) => {
      throw new CommandRefused(`${folder} cannot be created: ${error.code}.`)
    })
    const manifest = await writeArchive(client, period, {
      currency: config.currency.code,
      // Without a manifest, files of these names are left of an interrupted run.
      writeFile: (name, write) => writeWholeFile(join(folder, name), io.signal, write, { replaces: true }),
      onProgress: (done, of) => progress.show(`${done} of ${of} entries`, done / of),
    })
    const text = `${JSON.stringify(manifest, null, 2)}\n`
    await writeWholeFile(file, io.signal, async (output) => {
      await new Promise<void>((resolve, reject) => void output.on('error', reject).end(text, resolve))
    })
    return { text, manifest }
  } finally {
    progress.clear()
    await client.end()
  }
}

async function refusing<T>(work: Promise<T>): Promise<T> {
  try {
    return await work
  } catch (error) {
    throw error instanceof ArchiveRefused ? new CommandRefused(error.message) : error
  }
}

type Checked = { period: number; sha256: string; summary: string; faults: string[] }

const maxFaultsShown = 100

async function checkFolder({ io }: Invocation, folder: string): Promise<Checked[]> {
  const names = await readdir(folder).catch((error: NodeJS.ErrnoException) => {
    throw new CommandRefused(`${folder} cannot be read: ${error.code}.`)
  })
  const periods = names.map((name) => Number(/^period-([1-9]\d{0,8})\.json$/.exec(name)?.[1] ?? 0)).filter(Boolean)
  if (periods.length === 0) throw new CommandRefused(`${folder} has no archived period.`)
  const progress = openProgress(io)
  const checked: Checked[] = []
  for (const period of periods.sort((a, b) => a - b)) {
    io.signal.throwIfAborted()
    const text = await readFile(join(folder, manifestName(period)), 'utf8')
    const manifest = parseManifest(text, period)
    const faults: string[] = []
    const onFault = (fault: string) => void (faults.length < maxFaultsShown && faults.push(fault))
    if (!manifest) onFault(`${manifestName(period)} is not the manifest of this period.`)
    else
      await checkArchive(manifest, {
        openFile: (name) => createReadStream(join(folder, name), { signal: io.signal }),
        onFault,
        onProgress: (done, of) => progress.show(`period ${period}: ${done} of ${of} entries`, done / of),
      })
    io.signal.throwIfAborted()
    checked.push({ period, sha256: sha256Of(text), summary: manifest ? describe(manifest) : '', faults })
  }
  progress.clear()
  return checked
}
