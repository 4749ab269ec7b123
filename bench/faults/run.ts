/**
 * `npm run bench -- faults [--minutes 2] [--seed N] [--clients 48] [--pause ms] [--greedy 12] [--entries 3000000] [--only words] [--failover] [--rewrite]`: random faults of all kinds on two
 * services and their database, under load and beside a greedy app, while the books are sealed again and again. Then the exact count: every acknowledged
 * operation once, every refused one not at all, and every checkpoint and proof that was handed out is right. With `--failover` the primary is
 * lost in the middle and its synchronous standby takes over; with `--rewrite` a sealed entry is changed at the end, and the run must fail.
 */
import { randomBytes } from 'node:crypto'
import { mkdir, mkdtemp, readFile, writeFile } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import type { ClientConfig } from 'pg'
import { findCluster, testDatabase } from '../../test/postgres.ts'
import { databaseOn, startCluster, type BenchDatabase } from '../cluster.ts'
import { seed } from '../seed.ts'
import { countExactly, type Count } from './count.ts'
import { faultOfPostmaster, faults, type Scene } from './faults.ts'
import { countGreedy, startGreedyApp } from './greedy.ts'
import { startFaultLoad, type FaultLoad, type Target } from './load.ts'
import { startNode } from './node.ts'
import { openPair } from './pair.ts'
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
      entries: { type: 'string', default: '3000000' },
      only: { type: 'string' },
      failover: { type: 'boolean', default: false },
      rewrite: { type: 'boolean', default: false },
    },
  })
  const resultsDir = join(import.meta.dir, '..', 'results')
  await mkdir(resultsDir, { recursive: true })
  const folder = await mkdtemp(join(resultsDir, 'faults-'))
  const dataDir = join(folder, 'data')
  console.log(
    `seed ${values.seed}, ${values.minutes} minutes, ${values.clients} clients, ${values.greedy} bulk requests of a greedy app, two services`,
  )
  const opened = values.failover ? await openPairScene(resultsDir) : await openScene(dataDir)
  const { database, postmasterPid, failOver, stop } = opened
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
  const start = async () => await startNode(opened.serviceConnection, opened.others, logFile, settings)
  const nodes = [await start(), await start()]
  const random = openRandom(Number(values.seed))
  const scene: Scene = {
    nodes,
    get admin() {
      return database.connection
    },
    get servers() {
      return opened.servers()
    },
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
  const greedy = startGreedyApp(nodes, greedyTarget, openRandom(Number(values.seed) + 2), {
    connections: Number(values.greedy),
    newPerSecond: Number(values.entries) / (Number(values.minutes) * 60),
  })
  const names = Object.keys(faults).filter(
    (name) =>
      (values.only === undefined || name.includes(values.only)) && (postmasterPid || name !== faultOfPostmaster),
  )
  if (names.length === 0) throw new Error(`No fault has ${values.only} in its name.`)
  const forMs = (Number(values.minutes) * 60_000) / (failOver ? 2 : 1)
  const times = await breakThings(scene, load, names, forMs)
  if (failOver) {
    const before = await proofRun.check()
    console.log(`before the failover: ${before.join('; ') || 'every checkpoint and proof is right'}`)
    const failover = await breakThings(scene, load, ['failover'], 0, { failover: failOver })
    for (const more of [failover, await breakThings(scene, load, names, forMs)]) addTimes(times, more)
  }
  const [report, greedyReport] = await Promise.all([
    timed('undecided requests were repeated', load.stop()),
    timed('undecided bulk requests were repeated', greedy.stop()),
  ])
  if (values.rewrite) await rewriteEntry(database)
  const proofs = await timed('checkpoints and proofs were checked', proofRun.stop(failOver ? 1 : 0))
  const greedyCount = await timed('entries of the greedy app were counted', countGreedy(database, greedyReport))
  const count = await timed('other entries and the books were counted', countExactly(database, report, greedyCount))
  await writeFile(
    join(resultsDir, 'faults.json'),
    `${JSON.stringify({ seed: values.seed, times, count, proofs }, null, 2)}\n`,
  )
  console.log(countText(count, times, proofs))
  for (const node of nodes) await node.close()
  await stop()
  console.log(`What the services said of errors: ${relative(process.cwd(), logFile)}`)
  return count.isExact && count.failedInCalm.length === 0 && proofs.falseAlarms.length === 0
}

async function newApp(database: BenchDatabase, users: number, usersFile: string): Promise<Target> {
  const app = await seed(database, { users, transfersPerUser: 1 }, { usersFile })
  return { ...app, serviceUserIds: (await readFile(usersFile, 'utf8')).trim().split('\n') }
}

type Opened = Pick<Scene, 'postmasterPid'> & {
  readonly database: BenchDatabase
  readonly servers: () => Scene['servers']
  /** How the services reach it. */
  readonly serviceConnection: ClientConfig
  readonly others: readonly ClientConfig[]
  readonly failOver?: () => Promise<void>
  readonly stop: () => Promise<void>
}

async function openPairScene(folder: string): Promise<Opened> {
  const pair = await openPair(folder)
  return { ...pair, servers: () => [pair.database.connection], postmasterPid: undefined }
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
    return {
      database: databaseOn(url, connection),
      servers: () => servers,
      serviceConnection: connection,
      others: servers.slice(1),
      postmasterPid: undefined,
      stop: drop,
    }
  }
  const cluster = await startCluster(dataDir)
  const database = await cluster.openDatabase('faults')
  const { connection } = database
  const pidFile = join(dataDir, 'postgres', 'postmaster.pid')
  const postmasterPid = async () => Number.parseInt(await readFile(pidFile, 'utf8'), 10)
  return {
    database,
    servers: () => [connection],
    serviceConnection: connection,
    others: [],
    postmasterPid,
    stop: cluster.stop,
  }
}

/** As a superuser can: the run must notice. */
async function rewriteEntry(database: BenchDatabase): Promise<void> {
  await database.query('alter table transfers disable trigger user')
  const [row] = await database.query(`update transfers t set description = 'rewritten' from wallet_heads h
    where h.wallet_id = t.wallet_id and t.sequence = 1 and h.wallet_id = (select min(wallet_id::text)::uuid from wallet_heads) returning t.wallet_id`)
  await database.query('alter table transfers enable trigger user')
  console.log(`rewrote entry 1 of wallet ${row!['wallet_id']}`)
}

type Times = Record<string, { times: number; longestUntilBackMs: number }>

/** One fault after the other, with pauses in which everything must recover by itself. */
async function breakThings(
  scene: Scene,
  load: FaultLoad,
  names: readonly string[],
  forMs: number,
  how: typeof faults = faults,
): Promise<Times> {
  const times: Times = {}
  await sleep(2_000)
  const endsAt = performance.now() + forMs
  do {
    const name = scene.random.pick(names)
    load.endCalm()
    await how[name]!(scene).catch((error: unknown) => console.log(`  (${name}: ${String(error).slice(0, 80)})`))
    const mendedAt = performance.now()
    while (load.lastAnswerAt() < mendedAt) await sleep(5)
    const untilBackMs = Math.round(load.lastAnswerAt() - mendedAt)
    const seen = (times[name] ??= { times: 0, longestUntilBackMs: 0 })
    seen.times++
    seen.longestUntilBackMs = Math.max(seen.longestUntilBackMs, untilBackMs)
    console.log(
      `${Math.round(mendedAt)} ${name}: answers again ${untilBackMs} ms after it, ${load.count()} operations so far`,
    )
    await load.beginCalm(name)
    await sleep(scene.random.between(500, 3_000))
  } while (performance.now() < endsAt)
  return times
}

function addTimes(all: Times, more: Times): void {
  for (const [name, { times, longestUntilBackMs }] of Object.entries(more)) {
    const seen = (all[name] ??= { times: 0, longestUntilBackMs: 0 })
    seen.times += times
    seen.longestUntilBackMs = Math.max(seen.longestUntilBackMs, longestUntilBackMs)
  }
}

function countText(count: Count, times: Times, proofs: ProofCount): string {
  const faultLines = Object.entries(times).map(
    ([name, seen]) =>
      `  ${name.padEnd(40)} ${String(seen.times).padStart(4)} times, back after ${seen.longestUntilBackMs} ms at most`,
  )
  const { isExact, ...figures } = count
  const figureLines = Object.entries(figures).map(([name, value]) => `  ${name.padEnd(40)} ${JSON.stringify(value)}`)
  const proofLines = Object.entries(proofs).map(([name, value]) => `  ${name.padEnd(40)} ${JSON.stringify(value)}`)
  const { lost, doubled, greedy, failedInCalm, askedInCalm } = count
  const goals = [
    `lost ${lost + greedy.lost}, doubled ${doubled + greedy.doubled}`,
    `beside the greedy app ${failedInCalm.length} of ${askedInCalm} requests between two faults failed`,
    isExact ? 'exact' : 'NOT EXACT',
  ].join(', ')
  return ['', ...faultLines, '', ...figureLines, '', ...proofLines, '', goals].join('\n')
}

async function timed<T>(what: string, work: Promise<T>): Promise<T> {
  const from = performance.now()
  const result = await work
  console.log(`${what} in ${((performance.now() - from) / 1_000).toFixed(1)} s`)
  return result
}
