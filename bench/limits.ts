/**
 * `npm run bench -- limits`: what several processes on one database wait for, and the effect of each setting of the server. Both
 * tables are measured in turn, each row once, then each again. Ends with the exact count, like every run.
 */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { Client } from 'pg'
import type { BenchDatabase } from './cluster.ts'
import { checkExactness } from './exactness.ts'
import { table } from './figures.ts'
import type { Result } from './job.ts'
import { startService } from './processes.ts'
import { busyText } from './report.ts'
import { median, type Round } from './rounds.ts'
import { onStage, resultsDir, runRound, type Site, type Stage } from './stage.ts'

type Taken = Round &
  Result & {
    readonly perCommit: number
    readonly walBytes: number
    /** The wait events of the writers' connections, by frequency; `processor` means that a connection did not wait. */
    readonly waits: ReadonlyMap<string, number>
  }

type Case = {
  readonly name: string
  readonly env?: Readonly<Record<string, string>>
  readonly connections?: number
  readonly settings?: Readonly<Record<string, string>>
  /** The first change of a page after a checkpoint logs the whole page. */
  readonly isAfterCheckpoint?: boolean
}

const byWorkers = (connections: readonly number[]): Case[] =>
  connections.flatMap((connections) =>
    [1, 2, 4, 8].map((workers) => ({
      name: `WORKERS=${workers}, ${connections} connections`,
      env: { WORKERS: String(workers) },
      connections,
    })),
  )

/** Without `full_page_writes` or `fsync` no server is durable: those two rows show the price of durability. */
const bySetting = (compressions: readonly string[]): Case[] => [
  { name: 'long after a checkpoint' },
  { name: 'right after a checkpoint', isAfterCheckpoint: true },
  ...compressions.map((wal_compression) => ({
    name: `… wal_compression = ${wal_compression}`,
    settings: { wal_compression },
    isAfterCheckpoint: true,
  })),
  { name: '… full_page_writes = off', settings: { full_page_writes: 'off' }, isAfterCheckpoint: true },
  { name: 'fsync = off', settings: { fsync: 'off' } },
  { name: 'autovacuum = off', settings: { autovacuum: 'off' } },
  { name: 'random_page_cost = 4', settings: { random_page_cost: '4' } },
  { name: 'jit = on', settings: { jit: 'on' } },
  { name: 'track_io_timing = on', settings: { track_io_timing: 'on', track_wal_io_timing: 'on' } },
]

/** False if the books are not exact. */
export async function measureLimits(args: readonly string[]): Promise<boolean> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      seconds: { type: 'string', default: '4' },
      cycles: { type: 'string', default: '3' },
      connections: { type: 'string', default: '128,1024' },
    },
  })
  return await onStage(async (stage) => {
    const site = await stage.openSite('limits', { users: 100_000, transfersPerUser: 1 })
    await site.server.stop()
    const [known] = await site.database.query(
      `select array_to_string(enumvals, ',') as names from pg_settings where name = 'wal_compression'`,
    )
    const compressions = known!['names']!.split(',').filter((name) => name !== 'off' && name !== 'on')
    const tables = [byWorkers(values.connections.split(',').map(Number)), bySetting(compressions)]
    const measured: { name: string; rounds: Taken[] }[] = []
    for (const cases of tables) {
      const rows = cases.map((one) => ({ name: one.name, rounds: [] as Taken[] }))
      for (let cycle = 0; cycle < Number(values.cycles); cycle++)
        for (const [i, one] of cases.entries()) {
          const round = await measureCase(stage, site, one, Number(values.seconds))
          rows[i]!.rounds.push(round)
          console.log(`${one.name}: ${round.perSecond.toFixed(0)} a second`)
        }
      console.log(`\n${limitsTable(rows)}\n`)
      measured.push(...rows)
    }
    const { faults, acknowledged } = await checkExactness(site.database, site.acknowledged, site.seededTransfers)
    for (const fault of faults) console.log(fault)
    if (faults.length === 0) console.log(`the books agree with every answer: ${acknowledged.posted} posted`)
    for (const text of busyText(measured.flatMap(({ rounds }) => rounds))) console.log(text)
    const shown = measured.map(({ name, rounds }) => ({
      name,
      rounds: rounds.map((round) => ({ ...round, waits: Object.fromEntries(round.waits) })),
    }))
    await writeFile(join(resultsDir, 'limits.json'), `${JSON.stringify({ measured: shown, faults }, null, 2)}\n`)
    return faults.length === 0
  })
}

/** With a separate service, so that no other one runs beside it. */
async function measureCase(stage: Stage, site: Site, one: Case, seconds: number): Promise<Taken> {
  const { database } = site
  const settings = Object.entries(one.settings ?? {})
  for (const [name, value] of settings) await database.query(`alter system set ${name} = '${value}'`)
  await database.query('select pg_reload_conf()')
  const faultsFile = `${site.target.usersFile}.faults`
  const server = await startService({ env: one.env ?? {}, databaseUrl: database.url }, faultsFile)
  try {
    const job = {
      target: { ...site.target, port: server.port },
      call: 'debit',
      users: Infinity,
      connections: one.connections ?? 128,
      refused: 0,
      replayed: 0,
    } as const
    await runRound(stage, one.name, server, { ...job, seconds: 2 }, site.acknowledged)
    if (one.isAfterCheckpoint) await database.query('checkpoint')
    const before = await readCounts(database)
    const watch = await watchWriters(database)
    const round = await runRound(stage, one.name, server, { ...job, seconds }, site.acknowledged)
    const waits = await watch.stop()
    const after = await readCounts(database)
    return {
      ...round,
      perCommit: round.posted / (after.commits - before.commits - watch.samples()),
      walBytes: (after.walBytes - before.walBytes) / round.posted,
      waits,
    }
  } finally {
    await server.stop()
    for (const [name] of settings) await database.query(`alter system reset ${name}`)
    await database.query('select pg_reload_conf()')
  }
}

async function readCounts(database: BenchDatabase): Promise<{ commits: number; walBytes: number }> {
  const [row] = await database.query(
    `select xact_commit as commits, pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0') as wal
     from pg_stat_database where datname = current_database()`,
  )
  return { commits: Number(row!['commits']), walBytes: Number(row!['wal']) }
}

/** Samples the wait events of the writers' connections, about twenty times a second. */
async function watchWriters(database: BenchDatabase) {
  const client = new Client(database.connection)
  await client.connect()
  const waits = new Map<string, number>()
  let samples = 0
  const over = new AbortController()
  const watching = (async () => {
    for (; !over.signal.aborted; await Bun.sleep(50)) {
      const { rows } = await client.query<{ wait: string }>(
        `select coalesce(wait_event_type || ' ' || wait_event, 'processor') as wait from pg_stat_activity
         where application_name = 'billfold writer' and state = 'active' and datname = current_database()`,
      )
      samples++
      for (const { wait } of rows) waits.set(wait, (waits.get(wait) ?? 0) + 1)
    }
  })()
  return {
    samples: () => samples,
    stop: async () => {
      over.abort()
      await watching
      await client.end()
      return waits
    },
  }
}

function limitsTable(rows: readonly { name: string; rounds: readonly Taken[] }[]): string {
  const lines = rows.map(({ name, rounds }) => {
    const of = (read: (round: Taken) => number, digits = 0) => median(rounds.map(read)).toFixed(digits)
    return [
      name,
      of((round) => round.perSecond),
      of((round) => round.latencyMs.p50, 1),
      of((round) => round.latencyMs.p99, 1),
      of((round) => (round.serverCores / round.perSecond) * 1e6),
      of((round) => (round.databaseCores / round.perSecond) * 1e6),
      of((round) => round.perCommit),
      of((round) => round.walBytes),
      waitsText(rounds),
    ]
  })
  const head = [
    'medians',
    'per second',
    'p50 ms',
    'p99',
    'µs of service',
    'of database',
    'debits a commit',
    'log bytes a debit',
    'writers were at',
  ]
  return table(head, lines)
}

/** The four most frequent. */
function waitsText(rounds: readonly Taken[]): string {
  const sums = new Map<string, number>()
  for (const { waits } of rounds) for (const [wait, count] of waits) sums.set(wait, (sums.get(wait) ?? 0) + count)
  const all = [...sums.values()].reduce((a, b) => a + b, 0)
  const most = [...sums].toSorted(([, a], [, b]) => b - a).slice(0, 4)
  return most.map(([wait, count]) => `${wait} ${Math.round((100 * count) / all)} %`).join(', ')
}
