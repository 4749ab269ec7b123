/** Moves a closed period out of the database, whose files were written before, and brings it back. */
import type { Readable } from 'node:stream'
import { ArchiveRefused, sha256Of, type Manifest } from '../../store/closing/archive/archive-file.ts'
import { listArchives, type Archive } from '../../store/closing/archive/archived-periods.ts'
import { computeCarried } from '../../store/closing/archive/carried-checksums.ts'
import { hashFilter } from '../../store/closing/archive/carried-filter.ts'
import { completeCarriedEntries, deleteCarried, freezeCarried } from '../../store/closing/archive/carry-entries.ts'
import { carryReferences } from '../../store/closing/archive/carry-references.ts'
import { parseManifest } from '../../store/closing/archive/check-archive.ts'
import { compareArchive } from '../../store/closing/archive/compare-archive.ts'
import { dropPeriod } from '../../store/closing/archive/drop-period.ts'
import { findObstacle } from '../../store/closing/archive/obstacles.ts'
import { deleteRestored, loadPeriod, restoredTables, swapRestored } from '../../store/closing/archive/restore-period.ts'
import { getCountedClosing } from '../../store/closing/archive/write-archive.ts'
import { refuseWithoutNodes } from '../../store/closing/close-ledger.ts'
import { listClosings, periodsIn } from '../../store/closing/closings.ts'
import { indexClosing } from '../../store/closing/index-closing.ts'
import type { Connection, OpenClient, Queryable } from '../../store/connection/open-client.ts'
import { withPatientClient } from '../../store/connection/patient-client.ts'
import { recordAudit, type Actor } from '../audit.ts'
import { carryTrees } from '../proofs/carry-trees.ts'

export type ArchiveOptions = {
  readonly currency: string
  /** The manifest as it is in the file. */
  readonly manifest: string
  readonly openFile: (name: string) => Readable
  readonly onProgress?: (what: string, done: number, of: number) => void
  readonly signal?: AbortSignal
  readonly attempts?: number
}

/** Interrupted before its end, it leaves the period in the database, and tables that nothing reads: the next run replaces them. */
export async function archivePeriod(
  connection: Connection,
  actor: Actor,
  period: number,
  options: ArchiveOptions,
): Promise<Pick<Archive, 'sha256' | 'carried'>> {
  return await withPatientClient(connection, 'billfold archive', async (client) => {
    const manifest = readManifest(period, options)
    await refuseWithoutNodes(connection, client)
    const closing = await getDroppable(client, period)
    if (manifest.closedAt !== closing.closedAt.toISOString() || manifest.currency !== options.currency)
      throw new ArchiveRefused('The files are those of another period: their manifest says another time or currency.')
    await compareArchive(client, manifest, { openFile: options.openFile, onProgress: progressOf(options, 'comparing') })
    return await orRemove(client, deleteCarried(period), () =>
      carryAndDrop(connection, client, actor, closing, options),
    )
  })
}

async function carryAndDrop(
  connection: Connection,
  client: OpenClient,
  actor: Actor,
  closing: Droppable,
  options: ArchiveOptions,
): Promise<Pick<Archive, 'sha256' | 'carried'>> {
  const { id: period, transfers, outcomes } = closing
  const { onProgress, signal } = options
  const counts = await carryReferences(client, period, (done) => onProgress?.('references', done, outcomes))
  signal?.throwIfAborted()
  await carryTrees(client, period, { ...options, entries: transfers })
  await completeCarriedEntries(client, period, (await listArchives(client)).at(-1)?.id)
  await freezeCarried(client, period)
  // After the drop nothing can build it.
  await recordAudit(client, actor, 'period.index', `period:${period}`)
  await indexClosing(client, closing, signal ? { signal } : {})
  const carried = { ...(await computeCarried(client, period)), filter: await hashFilter(client, period) }
  const sha256 = sha256Of(options.manifest)
  const record = (db: Queryable) =>
    recordAudit(db, actor, 'period.archive', `period:${period}`, { sha256, ...carried, entries: transfers })
  signal?.throwIfAborted()
  await refuseObstacle(client, period)
  await dropPeriod(connection, client, { ...options, period, archive: { sha256, carried, ...counts }, record })
  return { sha256, carried }
}

/** A refused run leaves nothing. One that was killed leaves tables that nothing reads, and the next one replaces them. */
async function orRemove<T>(client: OpenClient, removeSql: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    await client.query(removeSql).catch(() => {})
    throw error
  }
}

/** Interrupted before its end, it leaves the period in files, and tables that nothing reads: the next run replaces them. */
export async function restorePeriod(
  connection: Connection,
  actor: Actor,
  period: number,
  options: ArchiveOptions,
): Promise<void> {
  await withPatientClient(connection, 'billfold archive', async (client) => {
    const manifest = readManifest(period, options)
    await refuseWithoutNodes(connection, client)
    const archives = await listArchives(client)
    const archive = archives.find(({ id }) => id === period)
    if (!archive)
      throw new ArchiveRefused(`Period ${period} is not archived: npx billfold period list shows the periods.`)
    if (archives.at(-1) !== archive)
      throw new ArchiveRefused(`Restore period ${archives.at(-1)!.id} first: the newest archived one is the next.`)
    const sha256 = sha256Of(options.manifest)
    if (sha256 !== archive.sha256)
      throw new ArchiveRefused(
        `These are not the files of the archived period: the SHA-256 of their manifest is ${sha256}, and that of the period is ${archive.sha256}.`,
      )
    await orRemove(client, deleteRestored(period), () => loadAndSwap(connection, client, actor, manifest, options))
  })
}

async function loadAndSwap(
  connection: Connection,
  client: OpenClient,
  actor: Actor,
  manifest: Manifest,
  options: ArchiveOptions,
): Promise<void> {
  const { period } = manifest
  const { openFile, signal } = options
  await loadPeriod(client, manifest, { openFile, onProgress: progressOf(options, 'loading') })
  signal?.throwIfAborted()
  const tables = restoredTables(period)
  await compareArchive(client, manifest, { openFile, tables, onProgress: progressOf(options, 'comparing') })
  signal?.throwIfAborted()
  const sha256 = sha256Of(options.manifest)
  const record = (db: Queryable) => recordAudit(db, actor, 'period.restore', `period:${period}`, { sha256 })
  await swapRestored(connection, client, period, { ...options, record })
}

function readManifest(period: number, { manifest: text }: ArchiveOptions): Manifest {
  const manifest = parseManifest(text, period)
  if (!manifest) throw new ArchiveRefused(`The folder has no manifest of period ${period}.`)
  return manifest
}

const progressOf =
  ({ onProgress }: ArchiveOptions, what: string) =>
  (done: number, of: number) =>
    onProgress?.(what, done, of)

type Droppable = Awaited<ReturnType<typeof getDroppable>>

/** The period, if the database can do without it. */
async function getDroppable(client: OpenClient, period: number) {
  const closing = await getCountedClosing(client, period)
  if (!closing.isIndexed)
    throw new ArchiveRefused(`Period ${period} has no filter of its references: run npx billfold period index.`)
  const [oldest] = periodsIn(await listClosings(client), 'database')
  if (oldest !== period)
    throw new ArchiveRefused(`Archive period ${oldest} first: the oldest one in the database is the next.`)
  await refuseObstacle(client, period)
  return closing
}

async function refuseObstacle(client: Queryable, period: number): Promise<void> {
  const obstacle = await findObstacle(client, period)
  if (obstacle) throw new ArchiveRefused(obstacle)
}
