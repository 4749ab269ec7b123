import { spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { existsSync } from 'node:fs'
import { chmod, chown, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { Client } from 'pg'
import { canReach } from '../src/store/embedded/system-account.ts'
import { isAlive, readPidFile } from '../src/store/embedded/server-process.ts'
import type { EmbeddedConnection } from '../src/store/embedded/registration.ts'
import { isRoot } from './root.ts'

export const unprivileged = { uid: 65_534, gid: 65_534 }

export type ServiceProcess = {
  pid: number
  connection: EmbeddedConnection
  logs: string[]
  /** Ends its input and waits for its exit. */
  leave: () => Promise<void>
  /** kill -9, and waits until the process is gone. */
  kill: () => Promise<void>
}

export type Owner = { uid: number; gid: number }
type Options = { as?: Owner; project?: string }

const projectDir = fileURLToPath(new URL('..', import.meta.url))

/** False if another user cannot read the program, as in a checkout below /root. */
export const canBeUnprivileged = isRoot && (await canEnter(projectDir)) && (await canEnter(dirname(process.execPath)))

function canEnter(folder: string): Promise<boolean> {
  return canReach({ ...unprivileged, spawn: unprivileged }, folder)
}

/** A folder for one test; `removeFolder` removes it, and ends a server that still runs in it. */
export async function makeFolder(owner?: Owner): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'billfold-embedded-'))
  await chmod(folder, 0o755)
  if (owner) await chown(folder, owner.uid, owner.gid)
  return folder
}

export async function removeFolder(folder: string): Promise<void> {
  const pidFile = await readPidFile(join(folder, 'data', 'postgres'))
  if (pidFile && isPostgres(pidFile.pid)) {
    process.kill(pidFile.pid, 'SIGQUIT')
    while (isAlive(pidFile.pid) && isPostgres(pidFile.pid)) await Bun.sleep(20)
  }
  if (pidFile?.socketDir) await rm(pidFile.socketDir, { recursive: true, force: true })
  await rm(folder, { recursive: true, force: true })
}

function isPostgres(pid: number): boolean {
  const { stdout } = spawnSync('ps', ['-o', 'stat=,command=', '-p', String(pid)], { encoding: 'utf8' })
  return stdout.includes('postgres') && !stdout.startsWith('Z')
}

/** Starts a service process and waits until it has joined; rejects with its error message if it was refused. */
export async function startService(dataDir: string, options: Options = {}): Promise<ServiceProcess> {
  const project = options.project ?? projectDir
  const child = spawn(process.execPath, [join(project, 'test', 'embedded-service.ts'), dataDir], {
    cwd: '/',
    env: { PATH: process.env['PATH'] ?? '', TMPDIR: tmpdir(), HOME: '/nonexistent' },
    stdio: ['pipe', 'pipe', 'inherit'],
    ...options.as,
  })
  const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  const logs: string[] = []
  const connection = await waitForJoin(child, logs)
  return {
    pid: child.pid!,
    connection,
    logs,
    leave: () => (child.stdin?.end(), exited),
    kill: () => (child.kill('SIGKILL'), exited),
  }
}

function waitForJoin(child: ChildProcess, logs: string[]): Promise<EmbeddedConnection> {
  return new Promise((resolve, reject) => {
    createInterface({ input: child.stdout! }).on('line', (line) => {
      const said = JSON.parse(line) as { event: string; message: string; connection: EmbeddedConnection }
      if (said.event === 'log') logs.push(said.message)
      if (said.event === 'joined') resolve(said.connection)
      if (said.event === 'refused') reject(new Error(said.message))
    })
    child.once('exit', (status) => reject(new Error(`The service ended with ${status} before it joined.`)))
  })
}

export async function query<T extends object>(connection: EmbeddedConnection, sql: string): Promise<T[]> {
  const client = new Client(connection)
  client.on('error', () => undefined)
  await client.connect()
  try {
    return (await client.query<T>(sql)).rows
  } finally {
    await client.end().catch(() => undefined)
  }
}

export async function postmasterPid(dataDir: string): Promise<number | null> {
  return (await readPidFile(join(dataDir, 'postgres')))?.pid ?? null
}

export function isStopped(dataDir: string): boolean {
  return !existsSync(join(dataDir, 'postgres', 'postmaster.pid'))
}

/** The error message of an attempt that must fail; no test expects the text for success. */
export function complaintOf(attempt: Promise<unknown>): Promise<string> {
  return attempt.then(
    () => 'it did not fail',
    (error: unknown) => (error instanceof Error ? error.message : String(error)),
  )
}
