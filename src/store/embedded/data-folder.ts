import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { chmod, chown, mkdir, open, readdir, readFile, rename, rm, stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { canReach, type Account } from './system-account.ts'
import type { Native } from './native.ts'
import { EmbeddedRefused, errorCode, explainFailure } from './refused.ts'
import { serverSettings, usableMemory } from './server-settings.ts'

/** The whole environment of PostgreSQL's processes: PGDATA, PGOPTIONS and similar variables would change their behaviour. */
export const serverEnvironment = { PATH: '/usr/local/bin:/usr/bin:/bin', LC_ALL: 'C', TZ: 'UTC' }

/** Creates the database folder if there is none yet, and refuses one of another major version. */
export async function prepareFolder(databaseDir: string, account: Account, native: Native): Promise<void> {
  const version = await readVersion(databaseDir, account)
  if (version === null) await createFolder(databaseDir, account, native)
  else if (version !== native.major) throw new EmbeddedRefused(wrongVersion(databaseDir, version, native.major))
  await removeOldDrafts(databaseDir)
}

/**
 * Removes the draft folders of processes that were killed while they created a database. Creating one takes less than an hour,
 * so older drafts are abandoned.
 */
async function removeOldDrafts(databaseDir: string): Promise<void> {
  for (const name of await readdir(dirname(databaseDir))) {
    if (!name.startsWith(`${basename(databaseDir)}-new-`)) continue
    const path = join(dirname(databaseDir), name)
    const madeAt = await stat(path).then(
      ({ mtimeMs }) => mtimeMs,
      () => Date.now(),
    )
    if (madeAt < Date.now() - 3_600_000) await rm(path, { recursive: true, force: true })
  }
}

export async function writeSettings(databaseDir: string, account: Account): Promise<void> {
  const path = join(databaseDir, 'billfold.conf')
  await writeOwned(path, serverSettings(usableMemory()), account).catch((error) => {
    throw describe(error, databaseDir)
  })
}

/**
 * The path of the folder for PostgreSQL. Below a folder its account may not enter, such as /root, the server is started inside
 * the database folder and gets the path /proc/self/cwd, which passes through no parent. So no folder's permissions are widened,
 * and the data stays in DATA_DIR. The same serves paths longer than PostgreSQL's buffers.
 */
export async function folderArgument(folder: string, account: Account): Promise<string> {
  const isPlain = Buffer.byteLength(folder) < 800 && !folder.includes('\n')
  if (isPlain && (account.spawn.uid === undefined || (await canReach(account, folder)))) return folder
  if (process.platform === 'linux') return '/proc/self/cwd'
  throw new EmbeddedRefused(
    `PostgreSQL's account cannot reach ${folder}: set DATA_DIR to a folder every user may enter, or do not run as root.`,
  )
}

async function readVersion(databaseDir: string, account: Account): Promise<number | null> {
  try {
    return Number.parseInt(await readFile(join(databaseDir, 'PG_VERSION'), 'utf8'), 10)
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return null
    if (errorCode(error) !== 'EACCES') throw error
    throw new EmbeddedRefused(
      `The database in ${databaseDir} belongs to another user than ours (${account.uid}): run as its owner, or as root.`,
    )
  }
}

function wrongVersion(databaseDir: string, found: number, ours: number): string {
  const made = `The database in ${databaseDir} was made by PostgreSQL ${found}, and this version of Billfold brings ${ours}`
  return found > ours
    ? `${made}: use the newer version of Billfold that made it.`
    : `${made}: with the version that made it run "npx billfold export", then "npx billfold import" here into an empty DATA_DIR.`
}

/**
 * initdb fills a draft folder, which is renamed to the database folder when complete: after a crash, and for a second process,
 * the database folder is complete or absent.
 */
async function createFolder(databaseDir: string, account: Account, native: Native): Promise<void> {
  const draft = `${databaseDir}-new-${randomUUID()}`
  try {
    await mkdir(draft, { mode: 0o700 })
    await chmod(draft, 0o700)
    if (account.spawn.uid !== undefined) await chown(draft, account.uid, account.gid)
    await runInitdb(draft, databaseDir, account, native)
    await writeOwned(join(draft, 'postgresql.conf'), `include 'billfold.conf'\n`, account)
    // Any user may connect without a password: the socket is the only way in, and its folder is closed to other accounts.
    await writeOwned(join(draft, 'pg_hba.conf'), 'local all all trust\n', account)
    await rename(draft, databaseDir).catch(async (error) => {
      if ((await readVersion(databaseDir, account)) === null) throw error
    })
  } catch (error) {
    throw describe(error, databaseDir)
  } finally {
    await rm(draft, { recursive: true, force: true })
  }
}

function describe(error: unknown, databaseDir: string): unknown {
  const code = errorCode(error)
  if (error instanceof EmbeddedRefused || code === undefined) return error
  if (code === 'ENOTEMPTY' || code === 'EEXIST' || code === 'ENOTDIR') {
    return new EmbeddedRefused(`${databaseDir} holds something that is not a PostgreSQL database: move it away.`)
  }
  const message = error instanceof Error ? error.message : code
  return new EmbeddedRefused(explainFailure(message, databaseDir), { cause: error })
}

async function runInitdb(draft: string, databaseDir: string, account: Account, native: Native): Promise<void> {
  const folder = await folderArgument(draft, account)
  const locale = ['--encoding=UTF8', '--locale=C', '--locale-provider=builtin', '--builtin-locale=C.UTF-8']
  const { status, output } = await run(
    join(native.root, 'bin', 'initdb'),
    ['-D', folder, '--username=postgres', '--auth=trust', '--no-instructions', ...locale],
    { cwd: draft, env: serverEnvironment, ...account.spawn },
  )
  if (status !== 0) throw new EmbeddedRefused(explainFailure(output, databaseDir))
}

function run(
  program: string,
  args: string[],
  options: { cwd: string; env: Record<string, string>; uid?: number; gid?: number },
): Promise<{ status: number | null; output: string }> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { ...options, stdio: ['ignore', 'pipe', 'pipe'] })
    let output = ''
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += String(chunk)))
    child.on('error', (error) => reject(cannotRun(program, error)))
    child.on('close', (status) => resolve({ status, output }))
  })
}

export function cannotRun(program: string, error: Error): EmbeddedRefused {
  return new EmbeddedRefused(
    `${program} cannot be run on this system (${errorCode(error) ?? error.message}; it needs glibc on Linux): set DATABASE_URL to a PostgreSQL of your own.`,
    { cause: error },
  )
}

/**
 * Root writes here into a folder that another account owns. That account may have put a symbolic link at `path`; a new file,
 * created exclusively and renamed to `path`, follows no link.
 */
async function writeOwned(path: string, text: string, account: Account): Promise<void> {
  const draft = `${path}.${randomUUID()}`
  const file = await open(draft, 'wx', 0o600)
  try {
    await file.writeFile(text)
    if (account.spawn.uid !== undefined) await file.chown(account.uid, account.gid)
    await file.sync()
  } finally {
    await file.close()
  }
  await rename(draft, path)
}

/** Removes all but the newest log files: PostgreSQL begins one every 10 MB or day, and removes none. */
export async function pruneLogs(databaseDir: string, keep = 5): Promise<void> {
  const folder = join(databaseDir, 'log')
  const names = await readdir(folder).catch(() => [])
  const logs = names.filter((name) => /^postgres-[0-9T]+\.log$/.test(name)).sort()
  for (const name of logs.slice(0, -keep)) await rm(join(folder, name), { force: true })
}

/** The end of the newest log file: the server writes its errors there, and no longer to stderr, once that file is open. */
export async function readLogTail(databaseDir: string): Promise<string> {
  const folder = join(databaseDir, 'log')
  const names = (await readdir(folder).catch(() => [])).filter((name) => /^postgres-[0-9T]+\.log$/.test(name)).sort()
  const newest = names.at(-1)
  return newest === undefined ? '' : (await readFile(join(folder, newest), 'utf8').catch(() => '')).slice(-4_000)
}
