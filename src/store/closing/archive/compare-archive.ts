/** Compares the files of a period with its rows, line by line. */
import type { Readable } from 'node:stream'
import { isDeepStrictEqual } from 'node:util'
import { beginSnapshotSql } from '../../cluster/snapshot.ts'
import type { Checking } from '../../cluster/agreement.ts'
import { ArchiveRefused, type Manifest, type WrittenFile } from './archive-file.ts'
import { readArchiveFile } from './read-archive-file.ts'
import { openArchiveLines, type LedgerTables } from './write-archive.ts'

export type CompareOptions = {
  readonly openFile: (name: string) => Readable
  /** Where the rows are; those of the closed period without it. */
  readonly tables?: LedgerTables
  readonly onProgress?: (done: number, of: number) => void
}

/** Refuses where a file is not that of the manifest, or has another line than the rows make. */
export async function compareArchive(
  client: Checking,
  manifest: Manifest,
  { openFile, tables, onProgress }: CompareOptions,
): Promise<void> {
  const { period, entries, outcomes } = manifest
  await client.query(beginSnapshotSql)
  try {
    const lines = openArchiveLines(client, period, tables, (done) => onProgress?.(done, entries.rows))
    await compareFile(entries, openFile, lines.entries())
    await compareFile(outcomes, openFile, lines.outcomes())
    const { counts } = lines
    const found = [counts.wallets, counts.entries, counts.outcomes, counts.tally.sums()]
    if (!isDeepStrictEqual(found, [manifest.wallets, entries.rows, outcomes.rows, manifest.accounts]))
      throw new ArchiveRefused(`The manifest of period ${period} has other counts or sums than its rows.`)
  } finally {
    await client.query('rollback').catch(() => {})
  }
}

async function compareFile(
  written: WrittenFile,
  openFile: CompareOptions['openFile'],
  expected: AsyncIterable<readonly string[]>,
): Promise<void> {
  const lines = readArchiveFile(written, openFile)
  let [page, at]: [readonly string[], number] = [[], 0]
  const next = async () => {
    while (at === page.length) {
      const read = await lines.next()
      if (read.done) return undefined
      ;[page, at] = [read.value, 0]
    }
    return page[at++]
  }
  let count = 0
  const refuse = () => {
    throw new ArchiveRefused(`${written.file} is not what the rows of the period make: line ${count} is another.`)
  }
  for await (const rows of expected)
    for (const line of rows) {
      count++
      if ((at < page.length ? page[at++] : await next()) !== line) refuse()
    }
  count++
  if ((await next()) !== undefined) refuse()
}
