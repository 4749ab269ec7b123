/** Everything a run needs, started once: the database server, the service on a seeded database, the echo, the load. */
import { mkdir, mkdtemp } from 'node:fs/promises'
import { join } from 'node:path'
import { startCluster, type BenchDatabase, type Cluster } from './cluster.ts'
import type { Job, Result, Target } from './job.ts'
import { preparePgbench, type Pgbench } from './pgbench.ts'
import { startEcho, startLoad, startService, type Load, type Server, type ServiceOptions } from './processes.ts'
import { withCost } from './cost.ts'
import type { Round } from './rounds.ts'
import { seed, type Seeding } from './seed.ts'
import { addAcknowledged, type Acknowledged } from './exactness.ts'
import { serviceCpuSeconds } from './usage.ts'

/** A running service, its database, and the operations that it acknowledged to the load. */
export type Site = {
  readonly server: Server
  readonly database: BenchDatabase
  readonly target: Target
  readonly seededTransfers: number
  readonly acknowledged: Acknowledged
}

export type Stage = {
  readonly cluster: Cluster
  readonly load: Load
  readonly openSite: (name: string, seeding: Seeding, where?: Omit<ServiceOptions, 'databaseUrl'>) => Promise<Site>
  /** Another service on the same database, with other settings. */
  readonly openBeside: (site: Site, env: Record<string, string>) => Promise<Site>
  readonly openEcho: () => Promise<Server>
  readonly openPgbench: () => Promise<Pgbench | undefined>
  readonly close: (keepData?: boolean) => Promise<void>
}

export const resultsDir = join(import.meta.dir, 'results')

/** Runs the work on new data, which is removed when the work ends or is interrupted. */
export async function onStage<T>(work: (stage: Stage) => Promise<T>): Promise<T> {
  await mkdir(resultsDir, { recursive: true })
  // Not in the system's temporary folder: if that is in memory, a durable write would mean nothing.
  const stage = await openStage(await mkdtemp(join(resultsDir, 'data-')))
  let leaving: Promise<void> | undefined
  const interrupted = () => void (leaving ??= stage.close().finally(() => process.exit(130)))
  process.once('SIGINT', interrupted).once('SIGTERM', interrupted)
  try {
    return await work(stage)
  } finally {
    // Work in progress fails when the stage closes; that error must not end the process before the data is removed.
    await (leaving ?? stage.close())
  }
}

export async function openStage(dir: string): Promise<Stage> {
  const cluster = await startCluster(dir)
  const load = startLoad()
  const servers: Server[] = []
  const faultsFile = join(dir, 'faults.log')
  return {
    cluster,
    load,
    openSite: async (name, seeding, where = {}) => {
      const database = await cluster.openDatabase(name)
      const app = await seed(database, seeding, { usersFile: join(dir, `${name}.users`), dir: where.dir })
      const server = await startService({ ...where, databaseUrl: database.url }, faultsFile)
      servers.push(server)
      return {
        server,
        database,
        target: { ...app, port: server.port },
        seededTransfers: seeding.users * seeding.transfersPerUser,
        acknowledged: { posted: 0, refused: 0, replayed: 0 },
      }
    },
    openBeside: async (site, env) => {
      const server = await startService({ env, databaseUrl: site.database.url }, faultsFile)
      servers.push(server)
      return { ...site, server, target: { ...site.target, port: server.port } }
    },
    openEcho: async () => {
      const echo = await startEcho(faultsFile)
      servers.push(echo)
      return echo
    },
    openPgbench: () => preparePgbench(cluster),
    close: async (keepData) => {
      await load.stop()
      await Promise.all(servers.map((server) => server.stop()))
      await cluster.stop(keepData)
    },
  }
}

let rounds = 0

/** One round of load on a server. Adds up the acknowledged operations, to check the books against them. */
export async function runRound(
  { load, cluster }: Pick<Stage, 'load' | 'cluster'>,
  name: string,
  server: Server,
  job: Omit<Job, 'mark'>,
  acknowledged?: Acknowledged,
): Promise<Round & Result> {
  const { result, cores } = await withCost(
    cluster,
    server.database,
    () => serviceCpuSeconds(server.pid),
    () => load.run({ ...job, mark: `${process.pid}-${++rounds}` }),
    ({ loadCores }, seconds) => loadCores * seconds,
  )
  if (Object.keys(result.wrong).length > 0)
    throw new Error(`wrong answers in a round of ${name}: ${JSON.stringify(result.wrong)}`)
  if (acknowledged) addAcknowledged(acknowledged, result)
  return { name, ...result, ...cores }
}
