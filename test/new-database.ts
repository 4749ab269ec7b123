/** An unused database, for tests of everything but its creation: initdb costs most of a second each time. */
import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { chmod, mkdir, mkdtemp, readFile, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { startEmbedded } from '../src/store/embedded/embedded.ts'
import { testDataDir } from './postgres.ts'

const root = new URL('..', import.meta.url)
/** What decides how a database is made. */
const makers = ['package-lock.json', 'src/store/embedded/data-folder.ts', 'src/store/embedded/registration.ts']

/** Puts a copy of one that is made once for all runs into the data folder, as if a service had started and stopped there. */
export async function copyNewDatabase(dataDir: string): Promise<void> {
  await mkdir(dataDir, { recursive: true })
  await chmod(dataDir, 0o711)
  const child = Bun.spawn(['cp', '-a', join(await findOriginal(), 'postgres'), dataDir])
  if ((await child.exited) !== 0) throw new Error(`the new database could not be copied into ${dataDir}`)
}

async function findOriginal(): Promise<string> {
  const hash = createHash('sha256')
  for (const path of makers) hash.update(await readFile(new URL(path, root)))
  const original = `${testDataDir()}-new-${hash.digest('hex').slice(0, 12)}`
  if (!existsSync(original)) await makeOriginal(original)
  return original
}

/** Under another name first, so that a run cut short leaves none that is half made; of two made at once one stays. */
async function makeOriginal(original: string): Promise<void> {
  const draft = await mkdtemp(`${original}-`)
  const { release } = await startEmbedded({ dataDir: draft, log: () => undefined })
  await release()
  await rename(draft, original).catch(() => rm(draft, { recursive: true }))
}
