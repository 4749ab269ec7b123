import { execFile, spawn, type ChildProcess } from 'node:child_process'
import { readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import type { Account } from './system-account.ts'
import { cannotRun, folderArgument, readLogTail, serverEnvironment } from './data-folder.ts'
import type { Native } from './native.ts'
import { errorCode } from './refused.ts'

/** The contents of postmaster.pid; the line for `socketDir` is missing while the server starts. */
export type PidFile = { pid: number; socketDir: string | null }

/** A server process started by us: when it has ended, `failure` is what it wrote to stderr or its log. */
export type ServerProcess = { failure: string | null }

export async function readPidFile(databaseDir: string): Promise<PidFile | null> {
  const text = await readFile(join(databaseDir, 'postmaster.pid'), 'utf8').catch(() => null)
  if (text === null) return null
  const [pid, , , , socketDir] = text.split('\n')
  const number = Number(pid)
  return Number.isSafeInteger(number) && number > 1 ? { pid: number, socketDir: socketDir || null } : null
}

/**
 * The identity of the database folder, which its server carries on its command line and as its cluster_name. A folder that
 * is moved keeps its identity, a copy of it gets another, and a process that merely has the server's old number has none.
 */
export async function folderMark(databaseDir: string): Promise<string> {
  const { dev, ino } = await stat(databaseDir)
  return `billfold-${dev}-${ino}`
}

export async function isOurServer(pid: number, mark: string): Promise<boolean> {
  return (await commandLine(pid)).includes(`cluster_name=${mark}`)
}

async function commandLine(pid: number): Promise<string> {
  if (process.platform === 'linux') return readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')
  const run = promisify(execFile)
  return run('ps', ['-ww', '-o', 'command=', '-p', String(pid)]).then(
    ({ stdout }) => stdout,
    () => '',
  )
}

export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return errorCode(error) === 'EPERM'
  }
}

/**
 * Starts the server in a separate session, so that Ctrl-C reaches only the service. `strangerPid` is the pid in a left-over
 * postmaster.pid that now belongs to another program. PostgreSQL would refuse to start while that program runs.
 * PG_GRANDPARENT_PID declares it to be PostgreSQL's grandparent (as pg_ctl does with its own parent): PostgreSQL then makes its
 * real check, whether any process still uses the folder's shared memory, and replaces postmaster.pid itself. So we never delete
 * postmaster.pid, and two servers cannot start.
 */
export async function spawnServer(
  databaseDir: string,
  socketDir: string,
  strangerPid: number | null,
  account: Account,
  native: Native,
): Promise<ServerProcess> {
  const program = join(native.root, 'bin', 'postgres')
  const settings = {
    cluster_name: await folderMark(databaseDir),
    listen_addresses: '',
    unix_socket_directories: `"${socketDir}"`,
    unix_socket_permissions: '0700',
    port: '5432',
  }
  const flags = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])
  const child = spawn(program, ['-D', await folderArgument(databaseDir, account), ...flags], {
    cwd: databaseDir,
    env: { ...serverEnvironment, ...(strangerPid === null ? {} : { PG_GRANDPARENT_PID: String(strangerPid) }) },
    detached: true,
    stdio: ['ignore', 'ignore', 'pipe'],
    ...account.spawn,
  })
  return watch(child, program, databaseDir)
}

function watch(child: ChildProcess, program: string, databaseDir: string): ServerProcess {
  let output = ''
  const server: ServerProcess = { failure: null }
  child.stderr?.on('data', (chunk) => (output = (output + String(chunk)).slice(-8_000)))
  child.on('error', (error) => {
    server.failure = cannotRun(program, error).message
  })
  child.on('close', () => {
    // Once the server has opened its log file, it writes its errors there and no longer to stderr.
    const said = /redirecting log output/.test(output) ? readLogTail(databaseDir) : Promise.resolve(output)
    void said.then((text) => {
      server.failure = text
    })
  })
  // Neither the server process nor the pipe of its stderr keeps a finished program running.
  child.unref()
  if (child.stderr instanceof Socket) child.stderr.unref()
  return server
}

/** A fast shutdown: running statements are cut off, everything committed is on disk. False if it takes longer than a minute. */
export async function stopServer(databaseDir: string, pid: number): Promise<boolean> {
  process.kill(pid, 'SIGINT')
  for (const deadline = Date.now() + 60_000; Date.now() < deadline; await sleep(20)) {
    // A server removes postmaster.pid as its last act; its process may stay a zombie until its parent has waited for it.
    if ((await readPidFile(databaseDir))?.pid !== pid || !isAlive(pid)) return true
  }
  return false
}
