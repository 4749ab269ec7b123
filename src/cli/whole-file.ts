/** Writes a file that is complete under its name, or absent. */
import { randomBytes } from 'node:crypto'
import { createWriteStream, existsSync, linkSync, renameSync, rmSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { Writable } from 'node:stream'
import { CommandRefused } from './command.ts'

/**
 * The draft is beside the file, because a name can be given only within one file system. No existing file is overwritten, unless
 * `replaces` says that one of this name is left of an interrupted run.
 */
export async function writeWholeFile<T>(
  file: string,
  signal: AbortSignal,
  write: (output: Writable) => Promise<T>,
  { replaces = false } = {},
): Promise<T> {
  if (!replaces && existsSync(file)) throw alreadyExists(file)
  const draft = `${file}.${randomBytes(4).toString('hex')}.partial`
  const handle = await open(draft, 'wx', 0o600).catch((error: NodeJS.ErrnoException) => {
    throw new CommandRefused(`${file} cannot be written: ${error.code}.`)
  })
  // Synchronous: after a signal the process may exit before this function continues.
  const discard = () => rmSync(draft, { force: true })
  signal.addEventListener('abort', discard)
  try {
    signal.throwIfAborted()
    const result = await write(createWriteStream(draft, { fd: handle.fd, autoClose: false }))
    await handle.sync()
    signal.throwIfAborted()
    if (replaces) renameSync(draft, file)
    else publish(draft, file)
    await syncFolder(dirname(file))
    return result
  } finally {
    signal.removeEventListener('abort', discard)
    discard()
    await handle.close()
  }
}

function publish(draft: string, file: string): void {
  try {
    linkSync(draft, file)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST' || existsSync(file)) throw alreadyExists(file)
    // A file system without hard links.
    renameSync(draft, file)
  }
}

function alreadyExists(file: string): CommandRefused {
  return new CommandRefused(`${file} already exists.`)
}

/** After a power cut the name is there too. */
async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder)
  // Some file systems cannot sync a folder.
  await handle.sync().catch(() => {})
  await handle.close()
}
