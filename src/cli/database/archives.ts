/** Writes a closed period of the ledger into files, and checks such files. */
import { createReadStream, existsSync } from 'node:fs'
import { mkdir, readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { manifestName, sha256Of, type Manifest } from '../../store/closing/archive/archive-file.ts'
import { checkArchive, parseManifest } from '../../store/closing/archive/check-archive.ts'
import { refuseWithoutNodes } from '../../store/closing/close-ledger.ts'
import { getCountedClosing, writeArchive } from '../../store/closing/archive/write-archive.ts'
import type { Connection } from '../../store/connection/open-client.ts'
import { withPatientClient } from '../../store/connection/patient-client.ts'
import { archivePeriod, restorePeriod, type ArchiveOptions } from '../../actions/money/archive-period.ts'
import type { Actor } from '../../actions/audit.ts'
import {
  actorOf,
  CommandRefused,
  textOf,
  UsageMistake,
  wholeNumber,
  type Command,
  type Invocation,
} from '../command.ts'
import { withData, type Data } from '../data.ts'
import { openProgress } from '../progress.ts'
import { writeWholeFile } from '../whole-file.ts'

const fromFlag = { from: { value: 'FOLDER', about: 'the folder of the files', isRequired: true } } as const

export const archiveCommands: readonly Command[] = [
  {
    name: 'archive write',
    database: 'reads',
    summary: 'write a closed period of the ledger into files that are readable without the service',
    positionals: ['period'],
    flags: { to: { value: 'FOLDER', about: 'the folder of the files; it is created', isRequired: true } },
    details: `Writes the entries and the references of the period as lines of JSON, compressed by zstd, and last a manifest with their counts, sums and
checksums. docs/operations/periods.md describes the lines. The period stays in the database, and the service goes on. The files are readable only by you.
An interrupted run leaves no manifest, and the next one begins again. Store the SHA-256 that it prints elsewhere: a
person who can change all files can also write another manifest.`,
    examples: ['archive write 1 --to ./archive', 'archive write 1 --to /mnt/archive --json'],
    run: async (invocation) => {
      const period = periodOf(invocation)
      return await withData(invocation, async (data) => {
        const { text, manifest } = await writeFiles(invocation, data, period, textOf(invocation, 'to')!)
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
  {
    name: 'archive drop',
    database: 'writes',
    summary: 'remove a closed period, whose files were written, from the database',
    positionals: ['period'],
    flags: fromFlag,
    details: `Reads the files again and compares them with the rows of the period, line by line. Then it builds what the database keeps: the outcomes of all
references, in compact blocks; the last entry of each wallet, with its tree; and sums. At the end one short transaction exchanges them for the tables of
the period. The service goes on. Interrupted before that, it changes nothing that anything reads, and the next run begins again.
References are answered as before. What needs the archived entries says that they are in the archive. docs/operations/periods.md has the conditions.
Keep the files, and a copy of them elsewhere: the database no longer has what they have.`,
    examples: ['archive drop 1 --from /mnt/archive', 'archive drop 1 --from /mnt/archive --as "Ann Example" --json'],
    run: async (invocation) => {
      const period = periodOf(invocation)
      return await withData(invocation, async (data) => {
        const { sha256 } = await runArchiving(invocation, data, period, archivePeriod)
        return {
          json: { period, sha256 },
          text: `Period ${period} is in files. SHA-256 of ${manifestName(period)}: ${sha256}`,
        }
      })
    },
  },
  {
    name: 'archive restore',
    database: 'writes',
    summary: 'bring an archived period back into the database, from its files',
    positionals: ['period'],
    flags: fromFlag,
    details: `Checks that the files are those of the archived period, by the SHA-256 that the database keeps, loads them into new tables, and compares those
with the files, line by line. At the end one short transaction puts them in place. The service goes on. Interrupted before that, it changes nothing
that anything reads, and the next run begins again. The newest archived period comes first.`,
    examples: ['archive restore 1 --from /mnt/archive', 'archive restore 1 --from /mnt/archive --json'],
    run: async (invocation) => {
      const period = periodOf(invocation)
      return await withData(invocation, async (data) => {
        await runArchiving(invocation, data, period, restorePeriod)
        return { json: { period }, text: `Period ${period} is in the database again.` }
      })
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
  const progress = openProgress(io)
  try {
    const file = join(folder, manifestName(period))
    const manifest = await withPatientClient(connection, 'billfold archive', async (client) => {
      await refuseWithoutNodes(connection, client)
      await getCountedClosing(client, period)
      if (existsSync(file)) throw new CommandRefused(`${file} already exists: this period is written.`)
      await mkdir(folder, { recursive: true, mode: 0o700 }).catch((error: NodeJS.ErrnoException) => {
        throw new CommandRefused(`${folder} cannot be created: ${error.code}.`)
      })
      return await writeArchive(client, period, {
        currency: config.currency.code,
        // Without a manifest, files of these names are left of an interrupted run.
        writeFile: (name, write) => writeWholeFile(join(folder, name), io.signal, write, { replaces: true }),
        onProgress: (done, of) => progress.show(`${done} of ${of} entries`, done / of),
      })
    })
    const text = `${JSON.stringify(manifest, null, 2)}\n`
    await writeWholeFile(file, io.signal, async (output) => {
      await new Promise<void>((resolve, reject) => void output.on('error', reject).end(text, resolve))
    })
    return { text, manifest }
  } finally {
    progress.clear()
  }
}

async function runArchiving<T>(
  invocation: Invocation,
  { connection, config }: Data,
  period: number,
  run: (connection: Connection, actor: Actor, period: number, options: ArchiveOptions) => Promise<T>,
): Promise<T> {
  const { io } = invocation
  const folder = textOf(invocation, 'from')!
  const file = join(folder, manifestName(period))
  const manifest = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    throw new CommandRefused(`${file} cannot be read: ${error.code}.`)
  })
  const progress = openProgress(io)
  try {
    return await run(connection, actorOf(invocation), period, {
      currency: config.currency.code,
      manifest,
      openFile: (name) => createReadStream(join(folder, name), { signal: io.signal }),
      onProgress: (what, done, of) => progress.show(`${what}: ${done} of ${of}`, done / of),
      signal: io.signal,
    })
  } finally {
    progress.clear()
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
