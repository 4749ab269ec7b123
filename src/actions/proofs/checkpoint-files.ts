/**
 * Checkpoints in files: one that always holds the newest, or a folder with one file for each, named by incarnation and size. Nothing is
 * ever half written, and in a folder nothing is ever replaced.
 */
import { randomBytes } from 'node:crypto'
import { link, open, readdir, rename, unlink, type FileHandle } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { CheckpointTarget } from '../../platform/checkpoint-targets.ts'

type FileTarget = Pick<CheckpointTarget, 'kind' | 'place'>

/** Longer than any checkpoint. */
const maxBytes = 100_000

const nameOf = (id: string, size: number) => `${id}-${String(size).padStart(15, '0')}.txt`

/** The newest text there, of any name in a file, of this incarnation in a folder. */
export async function readNewestFile({ kind, place }: FileTarget, id: string): Promise<string | undefined> {
  // An operator may have made an empty file, to give the service the right to it.
  if (kind === 'file') return (await readText(place)) || undefined
  const names = (await readdir(place)).filter((name) => name.startsWith(`${id}-`) && /-\d{15}\.txt$/.test(name))
  const newest = names.sort().at(-1)
  return newest === undefined ? undefined : await readText(join(place, newest))
}

async function readText(path: string): Promise<string | undefined> {
  let file: FileHandle | undefined
  try {
    file = await open(path, 'r')
    const bytes = Buffer.alloc(maxBytes)
    const { bytesRead } = await file.read(bytes, 0, maxBytes, 0)
    return bytes.toString('utf8', 0, bytesRead)
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined
    throw error
  } finally {
    await file?.close()
  }
}

/** Returns false if a folder has another text under this name already. */
export async function writeCheckpointFile(
  { kind, place }: FileTarget,
  id: string,
  { size, note }: { readonly size: number; readonly note: string },
): Promise<boolean> {
  const path = kind === 'file' ? place : join(place, nameOf(id, size))
  const unfinished = join(dirname(path), `.checkpoint-${randomBytes(8).toString('hex')}`)
  try {
    await writeDurably(unfinished, note)
    if (kind === 'file') await rename(unfinished, path)
    else if (!(await linkNew(unfinished, path))) return (await readText(path)) === note
    await syncFolder(dirname(path))
    return true
  } finally {
    await unlink(unfinished).catch(() => {})
  }
}

async function writeDurably(path: string, text: string): Promise<void> {
  const file = await open(path, 'wx', 0o644)
  try {
    await file.writeFile(text)
    await file.sync()
  } finally {
    await file.close()
  }
}

/** Some network mounts have no links. There, a rename after a look is the best there is. */
const withoutLinks = ['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS']

/** False if the name is taken. Of two processes at once, one gets it. */
async function linkNew(from: string, to: string): Promise<boolean> {
  try {
    await link(from, to)
    return true
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return false
    if (!withoutLinks.includes(codeOf(error))) throw error
    if ((await readText(to)) !== undefined) return false
    await rename(from, to)
    return true
  }
}

async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r')
  try {
    await folder.sync()
  } catch (error) {
    // Some mounts cannot sync a folder; the file itself is synced.
    if (!['EINVAL', 'ENOTSUP', 'EBADF'].includes(codeOf(error))) throw error
  } finally {
    await folder.close()
  }
}

const codeOf = (error: unknown) => String((error as { code?: unknown }).code)

const faults: Readonly<Record<string, string>> = {
  ENOENT: 'The folder is not there.',
  ENOTDIR: 'The folder is a file.',
  EISDIR: 'It is a folder; end its path with a slash.',
  EACCES: 'The service may not write there.',
  EPERM: 'The service may not write there.',
  EROFS: 'The disk is read-only.',
  ENOSPC: 'The disk is full.',
  EDQUOT: 'The disk is full.',
}

export function describeFileFault(error: unknown): string {
  return faults[codeOf(error)] ?? `It could not be written: ${codeOf(error)}.`
}
