/**
 * `npm run bench -- faults [--minutes 2] [--seed N] [--clients 48] [--pause ms] [--greedy 12] [--only words]`: random faults of all kinds on two
 * services and their database, under load and beside a greedy app, while the books are sealed again and again. Then the exact count: every acknowledged
 * operation once, every refused one not at all, and every checkpoint and proof that was handed out is right.
 */
import { randomBytes } from 'node:crypto'
import { mkdir, mkdtemp, readFile, writeFile } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { findCluster, testDatabase } from '../../test/postgres.ts'
import { databaseOn, startCluster, type BenchDatabase } from '../cluster.ts'
import { seed } from '../seed.ts'
import { countExactly, type Count } from './count.ts'
import { faultOfPostmaster, faults, type Scene } from './faults.ts'
import { countGreedy, startGreedyApp } from './greedy.ts'
import { startFaultLoad, type FaultLoad, type Target } from './load.ts'
import { startNode } from './node.ts'
import { startProofRun, type ProofCount } from './proofs.ts'
import { openRandom } from './random.ts'

export async function runFaults(args: readonly string[]): Promise<boolean> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      minutes: { type: 'string', default: '2' },
      seed: { type: 'string', default: String(Math.floor(Math.random() * 2 ** 32)) },
      clients: { type: 'string', default: '48' },
      pause: { type: 'string', default: '0' },
      greedy: { type: 'string', default: '12' },
      only: { type: 'string' },
    },
  })
  const resultsDir = join(import.meta.dir, '..', 'results')
  await mkdir(resultsDir, { recursive: true })
  const folder = await mkdtemp(join(resultsDir, 'faults-'))
  const dataDir = join(folder, 'data')
  console.log(
    `seed ${values.seed}, ${values.minutes} minutes, ${values.clients} clients, ${values.greedy} bulk requests of a greedy app, two services`,
  )
  const { database, servers, postmasterPid, stop } = await openScene(dataDir)
  const target = await newApp(database, 200, join(folder, 'users'))
  const wallets = await database.query('select id from wallets order by id')
  const greedyTarget = await newApp(database, 500, join(folder, 'greedy-users'))
  const logFile = join(folder, 'services.log')
  const published = join(folder, 'checkpoints/')
  await mkdir(published)
  const settings = {
    PUBLIC_URL: 'http://wallet.test',
    SECRETS_KEY: randomBytes(32).toString('base64'),
    CHECKPOINTS: published,
  }
  const start = async () => await startNode(database.connection, servers.slice(1), logFile, settings)
  const nodes = [await start(), await start()]
  const random = openRandom(Number(values.seed))
  const scene: Scene = {
    nodes,
    admin: database.connection,
    servers,
    random: openRandom(Number(values.seed) + 1),
    postmasterPid,
    walletIds: wallets.map((row) => row['id']!),
  }
  const load = startFaultLoad(nodes, target, random, {
    clients: Number(values.clients),
    pauseMs: Number(values.pause),
  })
  const proofRun = startProofRun(database, nodes, target, load.newest, {
    random: openRandom(Number(values.seed) + 3),
    folder: published,
  })
  const greedy = startGreedyApp(nodes, greedyTarget, openRandom(Number(values.seed) + 2), Number(values.greedy))
  const names = Object.keys(faults).filter(
    (name) =>
      (values.only === undefined || name.includes(values.only)) && (postmasterPid || name !== faultOfPostmaster),
  )
  if (names.length === 0) throw new Error(`No fault has ${values.only} in its name.`)
  const times = await breakThings(scene, load, names, Number(values.minutes) * 60_000)
  const [report, greedyReport] = await Promise.all([load.stop(), greedy.stop()])
  const proofs = await proofRun.stop()
  const count = await countExactly(database, report, await countGreedy(database, greedyReport))
  await writeFile(
    join(resultsDir, 'faults.json'),
    `${JSON.stringify({ seed: values.seed, times, count, proofs }, null, 2)}\n`,
  )
  console.log(countText(count, times, proofs))
  for (const node of nodes) await node.close()
  await stop()
  console.log(`What the services said of errors: ${relative(process.cwd(), logFile)}`)
  return count.isExact && Object.keys(count.failedInCalm).length === 0 && proofs.falseAlarms.length === 0
}

async function newApp(database: BenchDatabase, users: number, usersFile: string): Promise<Target> {
  const app = await seed(database, { users, transfersPerUser: 1 }, { usersFile })
  return { ...app, serviceUserIds: (await readFile(usersFile, 'utf8')).trim().split('\n') }
}

type Opened = Pick<Scene, 'servers' | 'postmasterPid'> & {
  readonly database: BenchDatabase
  readonly stop: () => Promise<void>
}

/** A separate server for the run; or a new database on the server of TEST_DATABASE_URL, on every node if that is a cluster. */
async function openScene(dataDir: string): Promise<Opened> {
  if (process.env['TEST_DATABASE_URL']) {
    const { name, url, connection, drop } = await testDatabase()
    const nodes = (await findCluster()) ?? [connection]
    const servers = nodes.map(({ connectionString = '' }) => {
      const node = new URL(connectionString)
      node.pathname = `/${name}`
      return { connectionString: node.href }
    })
    return { database: databaseOn(url, connection), servers, postmasterPid: undefined, stop: drop }
  }
  const cluster = await startCluster(dataDir)
  const database = await cluster.openDatabase('faults')
  const pidFile = join(dataDir, 'postgres', 'postmaster.pid')
  const postmasterPid = async () => Number.parseInt(await readFile(pidFile, 'utf8'), 10)
  return { database, servers: [database.connection], postmasterPid, stop: cluster.stop }
}

type Times = Record<string, { times: number; longestUntilBackMs: number }>

/** One fault after the other, with pauses in which everything must recover by itself. */
async function breakThings(scene: Scene, load: FaultLoad, names: readonly string[], forMs: number): Promise<Times> {
  const times: Times = {}
  await sleep(2_000)
  for (const endsAt = performance.now() + forMs; performance.now() < endsAt;) {
    const name = scene.random.pick(names)
    load.endCalm()
    await faults[name]!(scene).catch((error: unknown) => console.log(`  (${name}: ${String(error).slice(0, 80)})`))
    const mendedAt = performance.now()
    while (load.lastAnswerAt() < mendedAt) await sleep(5)
    const untilBackMs = Math.round(load.lastAnswerAt() - mendedAt)
    const seen = (times[name] ??= { times: 0, longestUntilBackMs: 0 })
    seen.times++
    seen.longestUntilBackMs = Math.max(seen.longestUntilBackMs, untilBackMs)
    console.log(
      `${Math.round(mendedAt)} ${name}: answers again ${untilBackMs} ms after it, ${load.count()} operations so far`,
    )
    await load.beginCalm()
    await sleep(scene.random.between(500, 3_000))
  }
  return times
}

function countText(count: Count, times: Times, proofs: ProofCount): string {
  const faultLines = Object.entries(times).map(
    ([name, seen]) =>
      `  ${name.padEnd(40)} ${String(seen.times).padStart(4)} times, back after ${seen.longestUntilBackMs} ms at most`,
  )
  const { isExact, ...figures } = count
  const figureLines = Object.entries(figures).map(([name, value]) => `  ${name.padEnd(40)} ${JSON.stringify(value)}`)
  const proofLines = Object.entries(proofs).map(([name, value]) => `  ${name.padEnd(40)} ${JSON.stringify(value)}`)
  return ['', ...faultLines, '', ...figureLines, '', ...proofLines, isExact ? 'exact' : 'NOT EXACT'].join('\n')
}
