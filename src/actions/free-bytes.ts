/** Free disk space of the embedded database; undefined with DATABASE_URL, where only the database's server knows. */
import { statfs } from 'node:fs/promises'
import type { Config } from '../config.ts'

export async function freeBytes({ databaseUrls, dataDir }: Config): Promise<number | undefined> {
  if (databaseUrls.length > 0) return undefined
  const found = await statfs(dataDir).catch(() => undefined)
  return found && found.bavail * found.bsize
}
