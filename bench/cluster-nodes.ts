/** Citus servers of one machine, each in its own folder, started and killed by the run that made them. */
import { chown, mkdir, mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'
import { freePort } from '../test/free-port.ts'
import { run } from '../test/other-server.ts'

export type CitusNode = {
  readonly port: number
  readonly url: string
  readonly start: () => Promise<void>
  /** `kill -9` of the server. */
  readonly kill: () => Promise<void>
}

export type CitusNodes = { readonly nodes: readonly CitusNode[]; readonly remove: () => Promise<void> }

const settings = [
  `shared_preload_libraries=citus`,
  `citus.node_conninfo=sslmode=disable`,
  `citus.recover_2pc_interval=5s`,
  `wal_level=logical`,
  `max_connections=200`,
  `max_prepared_transactions=200`,
  `max_worker_processes=32`,
  `listen_addresses=127.0.0.1`,
]

/** `binDir` has the programs of a PostgreSQL with Citus. PostgreSQL refuses root, so that its servers run as `user`. */
export async function startNodes(binDir: string, count: number, user: string): Promise<CitusNodes> {
  const isRoot = userInfo().uid === 0
  const folder = await mkdtemp(join(tmpdir(), 'billfold-citus-'))
  const ids = isRoot
    ? [Number((await run(['id', '-u', user])).output), Number((await run(['id', '-g', user])).output)]
    : []
  const own = async (path: string) => void (isRoot && (await chown(path, ids[0]!, ids[1]!)))
  const asServer = (command: string[]) =>
    isRoot ? ['setpriv', `--reuid=${user}`, '--clear-groups', 'env', `HOME=${folder}`, ...command] : command
  const runWell = async (command: string[]) => {
    const { code, output } = await run(asServer(command))
    if (code !== 0) throw new Error(`${command.join(' ')}: ${output}`)
  }
  await own(folder)
  const nodes: CitusNode[] = []
  for (let i = 0; i < count; i++) {
    const data = join(folder, `node${i}`)
    await mkdir(data, { mode: 0o700 })
    await own(data)
    const port = await freePort()
    await runWell([join(binDir, 'initdb'), '-D', data, '-A', 'trust', '-U', 'postgres', '-E', 'UTF8', '--locale=C'])
    const flags = ['-p', String(port), '-k', folder, ...settings.map((setting) => `-c ${setting}`)].join(' ')
    const pgCtl = (...args: string[]) => [join(binDir, 'pg_ctl'), '-D', data, '-w', '-t', '120', ...args]
    const start = () => runWell(pgCtl('-o', flags, '-l', join(folder, `log${i}`), 'start'))
    await start()
    nodes.push({
      port,
      url: `postgres://postgres@127.0.0.1:${port}/`,
      start,
      kill: async () => {
        const pid = Number.parseInt(await readFile(join(data, 'postmaster.pid'), 'utf8'), 10)
        process.kill(pid, 'SIGKILL')
      },
    })
  }
  return {
    nodes,
    remove: async () => {
      for (let i = 0; i < count; i++)
        await run(asServer([join(binDir, 'pg_ctl'), '-D', join(folder, `node${i}`), '-m', 'immediate', 'stop']))
      await rm(folder, { recursive: true, force: true })
    },
  }
}
