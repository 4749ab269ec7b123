/**
 * `npm run bench -- nodes --database URL [--users 20000] [--connections 128,2000] [--seconds 8] [--lanes 1] [--processes 1]`:
 * debits on an existing database, on one server or on a cluster, and the processor time of each of its nodes per debit. If the
 * address names several nodes, the lanes take them as coordinators in turn. It leaves an app, its users and their transfers behind:
 * use a test database. Nodes on other machines show no time.
 */
import { mkdir, mkdtemp, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { parseConfig } from '../src/config.ts'
import { databaseOn, type BenchDatabase } from './cluster.ts'
import { checkExactness } from './exactness.ts'
import { startLoad, startService } from './processes.ts'
import { seed } from './seed.ts'
import { familyCpuSeconds, serviceCpuSeconds } from './usage.ts'

export async function measureNodes(args: readonly string[]): Promise<boolean> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      database: { type: 'string' },
      users: { type: 'string', default: '20000' },
      connections: { type: 'string', default: '128,2000' },
      seconds: { type: 'string', default: '8' },
      lanes: { type: 'string', default: '1' },
      processes: { type: 'string', default: '1' },
    },
  })
  if (!values.database) throw new Error('--database URL: which database?')
  const resultsDir = join(import.meta.dir, 'results')
  await mkdir(resultsDir, { recursive: true })
  const folder = await mkdtemp(join(resultsDir, 'nodes-'))
  const [first = ''] = parseConfig({ DATABASE_URL: values.database }).databaseUrls
  const database = databaseOn(first, { connectionString: first })
  const users = Number(values.users)
  const target = await seed(database, { users, transfersPerUser: 1 }, { usersFile: join(folder, 'users') })
  const seeded = Number((await database.query('select count(*) as n from transfers'))[0]!['n'])
  const nodes = await Promise.all((await listNodes(database)).map(findPostmaster))
  const env = { WRITER_LANES: values.lanes, WORKERS: values.processes }
  const server = await startService({ databaseUrl: values.database, env }, join(folder, 'faults'))
  const load = startLoad()
  const acknowledged = { posted: 0, refused: 0, replayed: 0 }
  const measure = async (connections: number, seconds: number, mark: string) => {
    const read = () => [serviceCpuSeconds(server.pid), ...nodes.map(({ pid }) => familyCpuSeconds(pid))]
    const before = read()
    const job = { call: 'debit', users, connections, seconds, refused: 0, replayed: 0, mark } as const
    const result = await load.run({ ...job, target: { ...target, port: server.port } })
    acknowledged.posted += result.posted
    const each = read().map((after, i) => Math.round(((after - before[i]!) / result.posted) * 1e6))
    return { ...result, service: each[0]!, byNode: each.slice(1) }
  }
  for (const connections of values.connections.split(',').map(Number)) {
    await measure(connections, 3, `warm${connections}-`)
    const { perSecond, latencyMs, wrong, service, byNode } = await measure(
      connections,
      Number(values.seconds),
      `at${connections}-`,
    )
    const cost = byNode.map((us, i) => `${nodes[i]!.name} ${us} µs`).join(', ')
    console.log(
      `${connections} connections: ${Math.round(perSecond)} debits a second, p50 ${latencyMs.p50.toFixed(1)} ms, p99 ${latencyMs.p99.toFixed(1)} ms; of each debit: service ${service} µs, ${cost}${Object.keys(wrong).length > 0 ? `; wrong answers ${JSON.stringify(wrong)}` : ''}`,
    )
  }
  await load.stop()
  await server.stop()
  const { faults } = await checkExactness(database, acknowledged, seeded)
  console.log(faults.length === 0 ? `exact: ${acknowledged.posted} debits, each once` : faults.join('\n'))
  return faults.length === 0
}

type DatabaseNode = { readonly name: string; readonly database: BenchDatabase }

/** The coordinator first; without a cluster, the one server. */
export async function listNodes(database: BenchDatabase): Promise<DatabaseNode[]> {
  const [extension] = await database.query(`select 1 as here from pg_extension where extname = 'citus'`)
  if (!extension) return [{ name: 'database', database }]
  const nodes = await database.query(
    `select nodename as host, nodeport as port, groupid from pg_dist_node where noderole = 'primary' order by groupid`,
  )
  return nodes.map(({ host, port, groupid }) => {
    const url = new URL(database.url)
    url.hostname = host!
    url.port = port!
    return {
      name: groupid === '0' ? 'coordinator' : `worker ${groupid}`,
      database: databaseOn(url.href, { connectionString: url.href }),
    }
  })
}

/** Read from the server's own file; NaN if the server is on another machine. */
export async function findPostmaster({ name, database }: DatabaseNode): Promise<{ name: string; pid: number }> {
  const [row] = await database.query(`select pg_read_file('postmaster.pid') as file`)
  const pid = Number.parseInt(row!['file']!, 10)
  const isHere = (await readFile(`/proc/${pid}/comm`, 'utf8').catch(() => '')).startsWith('postgres')
  return { name, pid: isHere ? pid : Number.NaN }
}
