/** What is measured when somebody asks for it, and not counted: queues, connections, and how things stand in the database. */
import { Counter, Gauge, type Registry } from 'prom-client'
import type { Pool } from '../store/connection/pool.ts'
import { waitKinds, type DatabaseGauges } from '../store/database-gauges.ts'
import type { Lane } from '../store/writer/posting.ts'

export type Sources = {
  readonly depths: () => Record<Lane, number>
  readonly pools: Readonly<Record<'requests' | 'jobs', Pool>>
  /** Open widgets that are told of changes. */
  readonly streams: () => number
  readonly gauges: () => Promise<DatabaseGauges | undefined>
  /** Room left where the embedded database is; undefined when there is none. */
  readonly freeBytes: () => Promise<number | undefined>
}

export function watchAll(registry: Registry, { depths, pools, streams, gauges, freeBytes }: Sources): void {
  const own = (name: string, help: string, label: string | undefined, read: Measure['read']) =>
    gauge(registry, { name, help, label, read, aggregator: 'sum' })
  /** Every process looks at the same database: of what they say, the largest is told. */
  const shared = (name: string, help: string, read: (gauges: DatabaseGauges) => Values, label?: string) =>
    gauge(registry, {
      name,
      help,
      label,
      aggregator: 'max',
      read: async () => {
        const known = await gauges()
        return known && read(known)
      },
    })
  const ofPools = (read: (pool: Pool) => number) => ({ requests: read(pools.requests), jobs: read(pools.jobs) })

  own('billfold_writer_queue_depth', 'Operations waiting for or in a batch, by lane.', 'lane', depths)
  own(
    'billfold_pool_connections',
    'Connections to the database besides the writer’s, by what they are for.',
    'pool',
    () => ofPools((pool) => pool.totalCount),
  )
  own('billfold_pool_idle', 'Those of them that are idle.', 'pool', () => ofPools((pool) => pool.idleCount))
  own('billfold_pool_waiting', 'Who waits for a connection at this moment.', 'pool', () =>
    ofPools((pool) => pool.waitingCount),
  )
  total(registry, 'billfold_pool_waits_total', 'How often somebody had to wait for a connection.', 'pool', () =>
    ofPools((pool) => pool.waits),
  )
  total(registry, 'billfold_pool_wait_seconds_total', 'How long they waited, together.', 'pool', () =>
    ofPools((pool) => pool.waitedMs / 1_000),
  )
  own('billfold_widget_streams', 'Open widgets that are told of changes.', undefined, streams)
  own('billfold_memory_bytes', 'Resident memory of the process.', undefined, () => process.memoryUsage.rss())
  total(registry, 'billfold_cpu_seconds_total', 'Processor time of the process, by user and system.', 'mode', () => {
    const { user, system } = process.cpuUsage()
    return { user: user / 1e6, system: system / 1e6 }
  })

  gauge(registry, {
    name: 'billfold_database_up',
    help: '1 when the database answered; without it the gauges of the database are missing.',
    label: undefined,
    aggregator: 'min',
    read: async () => ((await gauges()) === undefined ? 0 : 1),
  })
  shared(
    'billfold_topups_open',
    'Top-ups without an end: created (not paid yet) and processing.',
    ({ topups }) => ({ created: topups.created.count, processing: topups.processing.count }),
    'state',
  )
  shared(
    'billfold_topup_oldest_seconds',
    'Age of the oldest top-up without an end, by state.',
    ({ topups }) => ({ created: topups.created.oldestSeconds, processing: topups.processing.oldestSeconds }),
    'state',
  )
  shared(
    'billfold_topup_late_seconds',
    'How long the card processor should have been asked about a top-up already.',
    ({ lateAttemptSeconds }) => lateAttemptSeconds,
  )
  shared(
    'billfold_topup_problems',
    'Card payments that were not credited and need a person.',
    ({ topupProblems }) => topupProblems,
  )
  shared('billfold_mails_waiting', 'Mails that no mail server has taken yet.', ({ mails }) => mails.count)
  shared('billfold_mail_oldest_seconds', 'Age of the oldest of them.', ({ mails }) => mails.oldestSeconds)
  shared('billfold_database_bytes', 'Size of the database on its disk.', ({ databaseBytes }) => databaseBytes)
  shared('billfold_database_connections', 'Connections to the server, of everybody.', ({ connections }) => connections)
  shared('billfold_database_connections_max', 'Connections that the server takes.', (known) => known.maxConnections)
  shared(
    'billfold_database_waiting',
    'Statements of ours that wait for something on the server, by PostgreSQL’s kind of it.',
    ({ waits }) => Object.fromEntries(waitKinds.map((kind) => [kind, waits[kind]])),
    'kind',
  )
  shared(
    'billfold_database_transaction_age',
    'Transactions since the oldest row that is not frozen; at some two thousand million PostgreSQL stops.',
    ({ transactionAge }) => transactionAge,
  )
  shared(
    'billfold_database_archive_late_seconds',
    'How long the log has not been archived because it failed; 0 when it is, missing without archive_mode.',
    ({ archiveLateSeconds }) => archiveLateSeconds,
  )
  shared('billfold_clock_skew_seconds', 'How far the clock of a process is from the database’s.', (known) =>
    Math.abs(known.clockSkewSeconds),
  )
  gauge(registry, {
    name: 'billfold_data_free_bytes',
    help: 'Room left on the disk of the embedded database; missing with DATABASE_URL.',
    label: undefined,
    aggregator: 'min',
    read: freeBytes,
  })
}

type Values = number | Readonly<Record<string, number>> | undefined

type Measure = {
  readonly name: string
  readonly help: string
  readonly label: string | undefined
  /** What becomes of the figures of several processes. */
  readonly aggregator: 'sum' | 'max' | 'min'
  /** One figure, or one for each value of the label; undefined when nobody knows. */
  readonly read: () => Values | Promise<Values>
}

function gauge(registry: Registry, { name, help, label, aggregator, read }: Measure): void {
  const measured: Gauge = new Gauge({
    name,
    help,
    labelNames: label === undefined ? [] : [label],
    aggregator,
    registers: [],
    collect: async () => {
      const values = await read()
      measured.reset()
      // Without labels a reset leaves a zero, which nobody has measured.
      if (values === undefined && label === undefined) measured.remove()
      if (typeof values === 'number') measured.set(values)
      else for (const [value, number] of Object.entries(values ?? {})) measured.set({ [label!]: value }, number)
    },
  })
  registry.registerMetric(measured)
}

/** A count that something else keeps. */
function total(
  registry: Registry,
  name: string,
  help: string,
  label: string,
  read: () => Readonly<Record<string, number>>,
): void {
  const counted: Counter = new Counter({
    name,
    help,
    labelNames: [label],
    registers: [],
    collect: () => {
      counted.reset()
      for (const [value, number] of Object.entries(read())) counted.inc({ [label]: value }, number)
    },
  })
  registry.registerMetric(counted)
}
