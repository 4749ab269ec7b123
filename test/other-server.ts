/** PostgreSQL servers that are not the embedded one: those that this machine has under /usr/lib/postgresql. */
import { existsSync, readdirSync } from 'node:fs'
import { chown, mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from './free-port.ts'
import { isRoot } from './root.ts'

const home = '/usr/lib/postgresql'
export const majors = existsSync(home)
  ? readdirSync(home).filter((major) => Number(major) >= 15 && Number(major) <= 18)
  : []

export async function run(command: string[], environment: Record<string, string> = {}) {
  const child = Bun.spawn(command, {
    cwd: new URL('..', import.meta.url).pathname,
    env: { ...process.env, ...environment },
    stdout: 'pipe',
    stderr: 'pipe',
  })
  const [out, err] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()])
  return { code: await child.exited, output: out + err }
}

async function runWell(command: string[]): Promise<void> {
  const { code, output } = await run(command)
  if (code !== 0) throw new Error(`${command.join(' ')}: ${output}`)
}

/** PostgreSQL refuses root; Debian's package brings a user for it. */
export const asServer = (command: string[]) =>
  isRoot ? ['setpriv', '--reuid=postgres', '--regid=postgres', '--init-groups', ...command] : command

/** A folder that the servers' user owns. */
async function makeServerFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'billfold-postgres-'))
  await giveToServer(folder)
  return folder
}

export async function giveToServer(path: string): Promise<void> {
  if (!isRoot) return
  const id = Number((await run(['id', '-u', 'postgres'])).output)
  await chown(path, id, id)
}

export type OtherServer = {
  readonly port: number
  readonly folder: string
  readonly url: string
  readonly bin: (name: string) => string
  readonly stop: (mode?: 'fast' | 'immediate') => Promise<void>
  readonly start: () => Promise<void>
  readonly promote: () => Promise<void>
  /** Stops it and removes its folder. */
  readonly remove: () => Promise<void>
}

type Options = {
  readonly settings?: readonly string[]
  readonly standbyOf?: OtherServer
  /** Called with the folder before anything is in it. */
  readonly prepare?: (folder: string) => Promise<void>
  readonly cleanUp?: (folder: string) => Promise<void>
}

export async function startOtherServer(major: string, options: Options = {}): Promise<OtherServer> {
  const { settings = [], standbyOf, prepare, cleanUp } = options
  const folder = await makeServerFolder()
  const bin = (name: string) => join(home, major, 'bin', name)
  await prepare?.(folder)
  const data = join(folder, 'data')
  await mkdir(data, { mode: 0o700 })
  await giveToServer(data)
  const port = await freePort()
  const initdb = [bin('initdb'), '-D', data, '-A', 'trust', '-U', 'billfold', '--locale=C.UTF-8', '-E', 'UTF8']
  const copy = [bin('pg_basebackup'), '-D', data, '-R', '-X', 'stream', '-c', 'fast', '-d', standbyOf?.url ?? '']
  await runWell(asServer(standbyOf ? copy : initdb))
  const given = [`listen_addresses=127.0.0.1`, 'fsync=on', ...settings].map((setting) => `-c ${setting}`)
  const flags = ['-p', String(port), '-k', folder, ...given].join(' ')
  const pgCtl = (...args: string[]) => asServer([bin('pg_ctl'), '-D', data, '-w', ...args])
  const start = () => runWell(pgCtl('-o', flags, '-l', join(folder, 'log'), 'start'))
  await start()
  return {
    port,
    folder,
    bin,
    start,
    url: `postgres://billfold@127.0.0.1:${port}/postgres`,
    promote: () => runWell(pgCtl('promote')),
    stop: (mode = 'immediate') => runWell(pgCtl('-m', mode, 'stop')),
    remove: async () => {
      await run(pgCtl('-m', 'immediate', 'stop'))
      await cleanUp?.(folder)
      await rm(folder, { recursive: true, force: true })
    },
  }
}
