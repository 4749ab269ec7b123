/** Gauges that are read at each scrape: queues, connections, and the state of the database. */
import { Counter, Gauge, type Registry } from 'prom-client'
import { serversProblems, type ServersProblem } from '../store/connection/choose-server.ts'
import type { Pool } from '../store/connection/pool.ts'
import { waitKinds, type DatabaseGauges } from '../store/database-gauges.ts'
import { endpointStates, type EndpointLevel } from '../store/events/endpoint-lag.ts'
import type { WorkLevel } from '../store/work/work-report.ts'
import { workKinds } from '../store/work/work.ts'
import type { Lane } from '../store/writer/posting.ts'

export type Sources = {
  readonly depths: () => Record<Lane, number>
  readonly pools: Readonly<Record<'requests' | 'widget' | 'jobs', Pool>>
  /** Open widget streams. */
  readonly streams: () => number
  readonly gauges: () => Promise<DatabaseGauges | undefined>
  readonly serversProblem: () => ServersProblem | undefined
  /** How old the copy of the apps is that is used because they cannot be read; 0 while they can. */
  readonly appsStaleMs: () => number
  /** Free disk space of the embedded database; undefined with DATABASE_URL. */
  readonly freeBytes: () => Promise<number | undefined>
}

const ofWork = (read: (level: WorkLevel) => number) => (known: DatabaseGauges) =>
  Object.fromEntries(workKinds.map((kind) => [kind, read(known.work[kind])]))

const ofEndpoints = (read: (level: EndpointLevel) => number) => (known: DatabaseGauges) =>
  Object.fromEntries(endpointStates.map((state) => [state, read(known.endpoints[state])]))

export function watchAll(registry: Registry, sources: Sources): void {
  const { depths, pools, streams, gauges, serversProblem, appsStaleMs, freeBytes } = sources
  const own = (name: string, help: string, label: string | undefined, read: Measure['read']) =>
    gauge(registry, { name, help, label, read, aggregator: 'sum' })
  /** Every process reads the same database, so the largest value is reported, not the sum. */
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
  const ofPools = (read: (pool: Pool) => number) => ({
    requests: read(pools.requests),
    widget: read(pools.widget),
    jobs: read(pools.jobs),
  })

  own('billfold_writer_queue_depth', 'Operations waiting for or in a batch, by lane.', 'lane', depths)
  own('billfold_pool_connections', 'Connections to the database except the writer’s, by purpose.', 'pool', () =>
    ofPools((pool) => pool.totalCount),
  )
  own('billfold_pool_idle', 'Idle connections of the pool.', 'pool', () => ofPools((pool) => pool.idleCount))
  own('billfold_pool_waiting', 'Callers that wait for a connection now.', 'pool', () =>
    ofPools((pool) => pool.waitingCount),
  )
  total(registry, 'billfold_pool_waits_total', 'How often a caller had to wait for a connection.', 'pool', () =>
    ofPools((pool) => pool.waits),
  )
  total(registry, 'billfold_pool_wait_seconds_total', 'Total time that callers waited for a connection.', 'pool', () =>
    ofPools((pool) => pool.waitedMs / 1_000),
  )
  own('billfold_widget_streams', 'Open widgets that receive changes.', undefined, streams)
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
  gauge(registry, {
    name: 'billfold_database_servers_problem',
    help: '1 while the servers of the database contradict each other, by problem.',
    label: 'problem',
    aggregator: 'max',
    read: () => Object.fromEntries(serversProblems.map((each) => [each, each === serversProblem() ? 1 : 0])),
  })
  gauge(registry, {
    name: 'billfold_apps_stale_seconds',
    help: 'Age of the copy of the apps while they cannot be read, 0 while they can. From 10 on, every call gets 503.',
    label: undefined,
    aggregator: 'max',
    read: () => appsStaleMs() / 1_000,
  })
  shared(
    'billfold_topups_open',
    'Open top-ups: created (not paid yet) and processing.',
    ({ topups }) => ({ created: topups.created.count, processing: topups.processing.count }),
    'state',
  )
  shared(
    'billfold_topup_oldest_seconds',
    'Age of the oldest open top-up, by state.',
    ({ topups }) => ({ created: topups.created.oldestSeconds, processing: topups.processing.oldestSeconds }),
    'state',
  )
  shared(
    'billfold_topup_late_seconds',
    'How late the oldest due check of a top-up with the card processor is.',
    ({ lateAttemptSeconds }) => lateAttemptSeconds,
  )
  shared(
    'billfold_topup_problems',
    'Card payments that were not credited and need an operator.',
    ({ topupProblems }) => topupProblems,
  )
  shared(
    'billfold_holds_open',
    'Open holds that have not expired; counted up to a hundred thousand.',
    ({ holds }) => holds.open,
  )
  shared('billfold_held_minor', 'What remains of these holds, in minor units of the currency.', ({ holds }) =>
    Number(holds.heldMinor),
  )
  shared(
    'billfold_hold_sweep_late_seconds',
    'How long the hold that expired first has been waiting to be closed.',
    ({ holds }) => holds.lateSeconds,
  )
  shared('billfold_mails_waiting', 'Mails that no mail server has accepted yet.', ({ mails }) => mails.count)
  shared('billfold_mail_oldest_seconds', 'Age of the oldest waiting mail.', ({ mails }) => mails.oldestSeconds)
  shared(
    'billfold_work_waiting',
    'Background work that is due now or later and does not run, by kind; counted up to ten thousand.',
    ofWork(({ waiting }) => waiting),
    'kind',
  )
  shared(
    'billfold_work_late_seconds',
    'How long the piece of work due first has been waiting for a process, by kind.',
    ofWork(({ lateSeconds }) => lateSeconds),
    'kind',
  )
  shared(
    'billfold_work_failing',
    'Pieces of work that failed three times in a row or were given up, by kind; each needs a person.',
    ofWork(({ failing }) => failing),
    'kind',
  )
  shared(
    'billfold_events_unnumbered_seconds',
    'How long the oldest event has been waiting for its number; until then no app gets it.',
    ({ unnumberedSeconds }) => unnumberedSeconds,
  )
  shared(
    'billfold_webhook_endpoints',
    'Endpoints by state: working, failing, ill (three different events failed), disabled by an operator or by the service.',
    ofEndpoints(({ count }) => count),
    'state',
  )
  shared(
    'billfold_webhook_lag_events',
    'Events that wait for the endpoint of this state that is furthest behind.',
    ofEndpoints(({ events }) => events),
    'state',
  )
  shared(
    'billfold_webhook_lag_seconds',
    'How long the oldest event has been waiting for an endpoint of this state.',
    ofEndpoints(({ seconds }) => seconds),
    'state',
  )
  shared(
    'billfold_webhook_failing_seconds',
    'How long the endpoint of this state that fails longest has failed.',
    ofEndpoints(({ failingSeconds }) => failingSeconds),
    'state',
  )
  shared('billfold_database_bytes', 'Size of the database on its disk.', ({ databaseBytes }) => databaseBytes)
  shared(
    'billfold_database_connections',
    'Connections to the server, of all its clients.',
    ({ connections }) => connections,
  )
  shared('billfold_database_connections_max', 'Connections that the server allows.', (known) => known.maxConnections)
  shared(
    'billfold_database_waiting',
    'Statements of the service that wait on the server, by PostgreSQL’s wait event type.',
    ({ waits }) => Object.fromEntries(waitKinds.map((kind) => [kind, waits[kind]])),
    'kind',
  )
  shared(
    'billfold_database_transaction_age',
    'Transactions since the oldest row that is not frozen; PostgreSQL stops at about two billion.',
    ({ transactionAge }) => transactionAge,
  )
  shared(
    'billfold_database_archive_late_seconds',
    'How long archiving the log has been failing; 0 when it works, missing without archive_mode.',
    ({ archiveLateSeconds }) => archiveLateSeconds,
  )
  shared('billfold_clock_skew_seconds', 'Difference between the clocks of the process and the database.', (known) =>
    Math.abs(known.clockSkewSeconds),
  )
  gauge(registry, {
    name: 'billfold_data_free_bytes',
    help: 'Free space on the disk of the embedded database; missing with DATABASE_URL.',
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
  /** How the values of several processes are combined. */
  readonly aggregator: 'sum' | 'max' | 'min'
  /** One value, or one for each value of the label; undefined when unknown. */
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
      // Without labels a reset leaves a zero that was never measured.
      if (values === undefined && label === undefined) measured.remove()
      if (typeof values === 'number') measured.set(values)
      else for (const [value, number] of Object.entries(values ?? {})) measured.set({ [label!]: value }, number)
    },
  })
  registry.registerMetric(measured)
}

/** A counter whose value is kept elsewhere. */
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
