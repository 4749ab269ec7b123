/** `npm run bench -- --growth`: does it slow down as it grows? A ledger of a year against an almost empty one, in one run. */
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { toFilter } from '../src/actions/money/activity-filter.ts'
import { closePeriod } from '../src/actions/money/close-period.ts'
import { readActivity } from '../src/actions/money/read-activity.ts'
import { closeService, openService, type Service } from '../src/actions/service.ts'
import { parseConfig } from '../src/config.ts'
import { openLog } from '../src/platform/log.ts'
import { openMetrics } from '../src/platform/metrics.ts'
import { openDatabase } from '../src/store/connection/database.ts'
import type { BenchDatabase } from './cluster.ts'
import { checkExactness } from './exactness.ts'
import { figureTable, table, toFigure, type Figure } from './figures.ts'
import { holdChecks } from './hold-checks.ts'
import type { Job } from './job.ts'
import { signIn, timePages, type PageRow } from './pages.ts'
import { projectDir, startService } from './processes.ts'
import { busyText, rateTable } from './report.ts'
import { median, takeTurns, type Contender } from './rounds.ts'
import { openStage, runRound, type Site, type Stage } from './stage.ts'

/** False if the books are not exact. */
export async function measureGrowth(args: readonly string[]): Promise<boolean> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      users: { type: 'string', default: '1000000' },
      transfers: { type: 'string', default: '10' },
      cycles: { type: 'string', default: '7' },
      seconds: { type: 'string', default: '2' },
      close: { type: 'boolean', default: false },
      keep: { type: 'boolean', default: false },
      // Of 100 million transfers, `verify` takes 20 to 30 minutes.
      verify: { type: 'boolean', default: true },
    },
    allowNegative: true,
  })
  const [users, transfersPerUser] = [Number(values.users), Number(values.transfers)]
  const resultsDir = join(import.meta.dir, 'results')
  const dir = join(resultsDir, `growth-${users}-${transfersPerUser}`)
  await mkdir(dir, { recursive: true })
  const stage = await openStage(dir)
  // An interrupted load stays for the next run.
  const interrupted = () => void stage.close(true).finally(() => process.exit(130))
  process.once('SIGINT', interrupted).once('SIGTERM', interrupted)
  let isDone = false
  try {
    console.log(`a ledger of ${users} wallets with ${transfersPerUser} transfers each, in ${dir}`)
    const startedAt = performance.now()
    const grown = await stage.openSite('grown', { users, transfersPerUser })
    const loadSeconds = (performance.now() - startedAt) / 1000
    await stage.cluster.dropDatabase('empty')
    const empty = await stage.openSite('empty', { users: Math.min(users, 100_000), transfersPerUser: 1 })
    // Before the first pass over all of the grown ledger.
    const release = await Promise.all([empty, grown].map((site) => holdChecks(site)))
    const sizes = await readSizes(grown.database)
    console.log(sizes.text)
    const measured = await takeTurnsOn(stage, empty, grown, Number(values.cycles), Number(values.seconds))
    console.log(`\n${figureTable(measured.figures)}\n\n${rateTable(measured.rounds)}`)
    for (const text of busyText(measured.rounds)) console.log(text)
    const open = { ...measured.facts, ...(await timeActivity(grown)) }
    for (const [name, value] of Object.entries(open)) console.log(`${name}: ${value}`)
    const closed = values.close ? await measureClosed(stage, empty, grown, values) : undefined
    for (const each of release) await each()
    const facts = {
      'seconds to make it, indexes and vacuum included': loadSeconds.toFixed(0),
      'start, ms': await startTimes(grown, join(dir, 'faults.log')),
      ...(values.verify ? await verify(stage, grown) : {}),
      ...closed?.facts,
    }
    for (const [name, value] of Object.entries(facts)) console.log(`${name}: ${value}`)
    const pages = await timeAdmin(grown)
    console.table(pages)
    const faults = [...measured.faults, ...(closed?.faults ?? [])]
    for (const fault of faults) console.log(fault)
    const report = {
      users,
      transfersPerUser,
      figures: [...measured.figures, ...(closed?.figures ?? [])],
      facts: { ...open, ...facts },
      sizes: sizes.rows,
      pages,
      faults,
    }
    await writeFile(
      join(resultsDir, 'growth.json'),
      `${JSON.stringify({ ...report, rounds: measured.rounds }, null, 2)}\n`,
    )
    isDone = !values.keep
    return faults.length === 0
  } finally {
    await stage.close(!isDone)
  }
}

/** The same after `billfold period close`. */
async function measureClosed(stage: Stage, empty: Site, grown: Site, values: { cycles: string; seconds: string }) {
  const startedAt = performance.now()
  const [closed] = await closePeriod(grown.database.connection, { name: 'cli:bench', address: null })
  const seconds = (performance.now() - startedAt) / 1000
  const measured = await takeTurnsOn(stage, empty, grown, Number(values.cycles), Number(values.seconds))
  const figures = measured.figures.map((figure) => ({ ...figure, name: figure.name.replace('grown', 'closed') }))
  console.log(`\n${figureTable(figures)}\n\n${rateTable(measured.rounds)}`)
  for (const text of busyText(measured.rounds)) console.log(text)
  const named = Object.entries({ ...measured.facts, ...(await timeActivity(grown)) }).map(([name, value]) => [
    `${name}, closed`,
    value,
  ])
  return {
    figures,
    faults: measured.faults,
    facts: {
      'seconds to close it': seconds.toFixed(0),
      'bytes of filter for a reference': (closed!.filterBytes / closed!.outcomes).toFixed(2),
      ...(Object.fromEntries(named) as Record<string, string>),
    },
  }
}

async function takeTurnsOn(stage: Stage, empty: Site, grown: Site, cycles: number, seconds: number) {
  const [found] = await grown.database.query('select count(*) from all_transfers')
  const seeded = Number(found!['count']) - grown.acknowledged.posted
  const run = (name: string, site: Site, change: Partial<Job> = {}): Contender => {
    const usual = { target: site.target, users: Infinity, connections: 128, seconds, refused: 0, replayed: 0 }
    const job = { ...usual, call: 'debit' as const, ...change }
    return { name, measure: () => runRound(stage, name, site.server, job, site.acknowledged) }
  }
  const base = run('empty', empty)
  const contenders = [run('grown', grown), run('check-balance', grown, { call: 'check-balance' })]
  for (const contender of [base, ...contenders]) await contender.measure()
  const before = await readServerActivity(grown.database)
  const emptyBefore = { sizes: (await readSizes(empty.database)).rows, posted: empty.acknowledged.posted }
  const measured = await takeTurns(base, contenders, cycles, ({ name, perSecond }, done, of) =>
    console.log(`${String(done).padStart(3)}/${of}  ${name.padEnd(14)} ${perSecond.toFixed(0).padStart(7)}/s`),
  )
  const after = await readServerActivity(grown.database)
  const added = (await readSizes(empty.database)).rows.flatMap(({ name, heap, indexes }) => {
    const was = emptyBefore.sizes.find((each) => each.name === name)
    const each =
      (heap + indexes - (was ? was.heap + was.indexes : 0)) / (empty.acknowledged.posted - emptyBefore.posted)
    return each >= 1 ? [`${name} ${each.toFixed(0)}`] : []
  })
  const walBytes = await readWal(grown, run('grown', grown))
  const overBase = (name: string) => measured.comparisons.find((each) => each.name === name)!.overBase
  const figures: Figure[] = [
    toFigure('debits, grown ÷ empty', overBase('grown')),
    toFigure('check-balance, grown ÷ debits on the empty one', overBase('check-balance')),
  ]
  const checks = [
    await checkExactness(empty.database, empty.acknowledged, empty.seededTransfers),
    await checkExactness(grown.database, grown.acknowledged, seeded),
  ]
  return {
    figures,
    rounds: measured.rounds,
    faults: checks.flatMap((check) => check.faults),
    facts: {
      'bytes that a debit adds to tables and indexes': added.join(', '),
      'bytes of write-ahead log a debit': walBytes.toFixed(0),
      'checkpoints during the rounds': after.checkpoints - before.checkpoints,
      'autovacuums of the ledger during the rounds': after.autovacuums - before.autovacuums,
    },
  }
}

async function readServerActivity(database: BenchDatabase): Promise<{ checkpoints: number; autovacuums: number }> {
  const [row] = await database.query(
    `select (select num_timed + num_requested from pg_stat_checkpointer) as checkpoints,
       (select sum(autovacuum_count) from pg_stat_user_tables) as autovacuums`,
  )
  return { checkpoints: Number(row!['checkpoints']), autovacuums: Number(row!['autovacuums']) }
}

async function readWal(site: Site, { measure }: Contender): Promise<number> {
  const position = async () =>
    Number((await site.database.query(`select pg_current_wal_lsn() - '0/0'::pg_lsn as bytes`))[0]!['bytes'])
  const [before, posted] = [await position(), site.acknowledged.posted]
  await measure()
  return ((await position()) - before) / (site.acknowledged.posted - posted)
}

/** The milliseconds of three starts beside the running service. */
async function startTimes(site: Site, faultsFile: string): Promise<string> {
  const taken: number[] = []
  for (let i = 0; i < 3; i++) {
    const server = await startService({ databaseUrl: site.database.url }, faultsFile)
    taken.push(Math.round(server.readyAfterMs))
    await server.stop()
  }
  return `${median(taken)} (${taken.join(', ')})`
}

type Verified = { isExact: boolean; transfersPerSecond: number; seconds: number; transfers: number }

async function verify({ cluster }: Stage, { database }: Site): Promise<Record<string, string | number>> {
  const before = cluster.cpuSeconds()
  const child = Bun.spawn([process.execPath, 'src/cli.ts', 'verify', '--json'], {
    cwd: projectDir,
    env: { ...process.env, DATABASE_URL: database.url },
    stderr: 'inherit',
  })
  const output = await new Response(child.stdout).text()
  const { isExact, transfersPerSecond, seconds, transfers } = JSON.parse(output) as Verified
  if ((await child.exited) !== 0 || !isExact) throw new Error(`verify found faults: ${output.slice(0, 2000)}`)
  return {
    'verify, transfers a second': transfersPerSecond,
    'verify, seconds': Number(seconds.toFixed(1)),
    'verify, transfers, all exact': transfers,
    'verify, µs of the database for a transfer': Number(
      (((cluster.cpuSeconds() - before) / transfers) * 1e6).toFixed(1),
    ),
  }
}

/** Runs the work with the actions of a service on this database. */
async function withService<T>({ database }: Site, work: (service: Service) => Promise<T>): Promise<T> {
  const db = openDatabase(database.connection)
  const config = parseConfig({ DEMO: '0', LOG_LEVEL: 'silent' })
  const log = openLog('silent', () => {})
  const service = openService({ config, db, log, metrics: openMetrics(), now: () => new Date() })
  try {
    return await work(service)
  } finally {
    await closeService(service)
    await db.pool.end()
  }
}

/** A user's activity: its newest page and one in the middle, of 500 wallets over the whole ledger, each for the first time. */
async function timeActivity(site: Site): Promise<Record<string, string>> {
  const wallets = await site.database.query(
    `select id, sequence from wallets w join (select id from wallets tablesample bernoulli (1) order by random() limit 500) chosen using (id)`,
  )
  return await withService(site, async (service) => {
    const time = async (page: (sequence: number) => number | undefined) => {
      const taken: number[] = []
      for (const { id, sequence } of wallets) {
        const startedAt = performance.now()
        await readActivity(service, id!, toFilter({}, service.config.currency, page(Number(sequence))))
        taken.push(performance.now() - startedAt)
      }
      return `${median(taken).toFixed(1)} (${taken.toSorted((a, b) => a - b)[Math.floor(taken.length * 0.99)]!.toFixed(1)})`
    }
    return {
      'activity, newest page, median (p99) ms': await time(() => undefined),
      'activity, a page in the middle, median (p99) ms': await time((sequence) => Math.ceil(sequence / 2) + 1),
    }
  })
}

async function timeAdmin(site: Site): Promise<PageRow[]> {
  const { database, target } = site
  const [wallet] = await database.query('select id from wallets order by id limit 1 offset 77')
  const pages = {
    Overview: '/admin',
    'Wallets, newest': '/admin/wallets',
    'Search by a common name': '/admin/wallets?q=ada',
    'Search by an email': '/admin/wallets?q=load77%40example.com',
    'Search without a hit': '/admin/wallets?q=zzz',
    'A wallet': `/admin/wallets/${wallet!['id']}`,
    'One client app': `/admin/client-apps/${target.clientId}`,
    Books: '/admin/books',
    'Audit log': '/admin/audit',
  }
  return await withService(site, async (service) => await timePages(service, await signIn(service), pages))
}

type Size = { name: string; rows: number; heap: number; indexes: number }

/** The bytes of each table and of each of its rows: the figures of docs/scaling.md. */
async function readSizes(database: BenchDatabase): Promise<{ rows: Size[]; text: string }> {
  const found = await database.query(
    `select relname as name, reltuples::bigint as rows, pg_table_size(oid) as heap, pg_indexes_size(oid) as indexes
     from pg_class where relnamespace = 'public'::regnamespace and relkind = 'r' and pg_table_size(oid) >= 65536 order by pg_total_relation_size(oid) desc`,
  )
  const rows = found.map(({ name, ...sizes }) => {
    const [count, heap, indexes] = [sizes['rows'], sizes['heap'], sizes['indexes']].map(Number)
    return { name: name!, rows: count!, heap: heap!, indexes: indexes! }
  })
  const line = ({ name, rows, heap, indexes }: Size) =>
    [name, rows, (heap / rows).toFixed(0), (indexes / rows).toFixed(0), ((heap + indexes) / 1e6).toFixed(0)].map(String)
  return { rows, text: table(['table', 'rows', 'bytes each', 'in indexes', 'MB'], rows.map(line)) }
}
