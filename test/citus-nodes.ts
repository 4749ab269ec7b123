/** Citus servers of one machine, each in its own folder, started and killed by the run that made them. */
import { setTimeout as sleep } from 'node:timers/promises'
import { existsSync } from 'node:fs'
import { chown, mkdir, mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from './free-port.ts'
import { Client } from 'pg'
import type { Connection } from '../src/store/connection/database.ts'
import { run } from './other-server.ts'
import { isRoot } from './root.ts'
import { findCluster } from './postgres.ts'

export type CitusNode = {
  readonly port: number
  readonly url: string
  readonly start: () => Promise<void>
  /** `kill -9` of the server. */
  readonly kill: () => Promise<void>
  /** `pg_ctl restart -m immediate`. */
  readonly restart: () => Promise<void>
  /** Stops every process of the server: its connections stay open, and nothing answers. */
  readonly freeze: () => Promise<void>
  readonly thaw: () => Promise<void>
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

export type Programs = { readonly binDir: string; readonly user: string }

/** Those of the cluster that TEST_DATABASE_URL names, and the user that its servers run as; undefined where they are not on this machine. */
export async function findPrograms(): Promise<Programs | undefined> {
  const [coordinator] = (await findCluster()) ?? []
  if (!coordinator) return undefined
  const [row] = await query(
    coordinator,
    `select setting as "binDir", current_setting('data_directory') as data from pg_config where name = 'BINDIR'`,
  )
  const [{ binDir, data }] = [row as { binDir: string; data: string }]
  if (!existsSync(join(binDir, 'initdb')) || !existsSync(data)) return undefined
  const { output } = await run(['stat', '-c', '%U', data])
  return { binDir, user: output.trim() }
}

const database = 'billfold'

/** A new cluster of a coordinator and that many workers, without a table. */
export async function startCluster({ binDir, user }: Programs, count: number) {
  const { nodes, remove } = await startNodes(binDir, count + 1, user)
  const [coordinator, ...workers] = nodes as [CitusNode, ...CitusNode[]]
  await createDatabases(nodes, database)
  const connection: Connection = { connectionString: `${coordinator.url}${database}` }
  await query(connection, `select citus_set_coordinator_host('127.0.0.1', ${coordinator.port})`)
  await query(connection, `select citus_set_node_property('127.0.0.1', ${coordinator.port}, 'shouldhaveshards', false)`)
  for (const { port } of workers) await query(connection, `select citus_add_node('127.0.0.1', ${port})`)
  return { coordinator, workers, connection, remove }
}

export async function createDatabases(nodes: readonly CitusNode[], name: string): Promise<void> {
  for (const { url } of nodes) {
    await query({ connectionString: `${url}postgres` }, `create database ${name}`)
    await query({ connectionString: `${url}${name}` }, 'create extension citus')
  }
}

async function query(connection: Connection, sql: string): Promise<unknown[]> {
  const client = new Client(connection)
  await client.connect()
  try {
    return (await client.query(sql)).rows
  } finally {
    await client.end()
  }
}

/** `binDir` has the programs of a PostgreSQL with Citus. PostgreSQL refuses root, so that its servers run as `user`. */
export async function startNodes(binDir: string, count: number, user: string): Promise<CitusNodes> {
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
    const startOnce = () => runWell(pgCtl('-o', flags, '-l', join(folder, `log${i}`), 'start'))
    /** After a kill the processes of the old server end by themselves, and until then no other one starts on its data. */
    const start = async (attempts = 20): Promise<void> => {
      await startOnce().catch(async (error: unknown) => {
        if (attempts === 1) throw error
        await sleep(500)
        await start(attempts - 1)
      })
    }
    await start()
    nodes.push({
      port,
      url: `postgres://postgres@127.0.0.1:${port}/`,
      start,
      kill: async () => void process.kill(await readPid(data), 'SIGKILL'),
      restart: async () => {
        await runWell(pgCtl('-m', 'immediate', 'stop'))
        await start()
      },
      freeze: () => signalAll(data, 'SIGSTOP'),
      thaw: () => signalAll(data, 'SIGCONT'),
    })
  }
  return {
    nodes,
    remove: async () => {
      for (let i = 0; i < count; i++) {
        const data = join(folder, `node${i}`)
        // A server that a failed test left stopped does not end.
        await signalAll(data, 'SIGCONT').catch(() => {})
        await run(asServer([join(binDir, 'pg_ctl'), '-D', data, '-m', 'immediate', 'stop']))
      }
      await rm(folder, { recursive: true, force: true })
    },
  }
}

async function readPid(data: string): Promise<number> {
  return Number.parseInt(await readFile(join(data, 'postmaster.pid'), 'utf8'), 10)
}

/** The first process first: stopped, it starts no others. */
async function signalAll(data: string, signal: NodeJS.Signals): Promise<void> {
  const pid = await readPid(data)
  process.kill(pid, signal)
  const { output } = await run(['pgrep', '-P', String(pid)])
  for (const child of output.split(/\s+/).filter(Boolean))
    try {
      process.kill(Number(child), signal)
    } catch {
      // It has ended since.
    }
}
