/** What the service tells Prometheus. Labels are route patterns and codes, never what a user sent. */
import { Counter, Gauge, Registry, type Metric } from 'prom-client'
import type { PostingResult } from './store/writer/posting.ts'

export type Metrics = {
  readonly request: (route: string, method: string, status: number, ms: number) => void
  /** A call with credentials that was refused. */
  readonly refused: (route: string, status: number) => void
  readonly batch: (size: number, isCareful: boolean, ms: number) => void
  readonly writerFault: (lane: 'fast' | 'careful') => void
  readonly posted: (result: PostingResult) => void
  /** A mail that was handed to the mail server, or was not. */
  readonly mail: (result: 'sent' | 'refused' | 'away' | 'unsure') => void
  readonly watch: (sources: Sources) => void
  readonly registry: Registry
  /** The text for Prometheus; of all workers, where there are several. */
  render: () => Promise<string>
}

type Sources = {
  readonly queueDepth: () => number
  readonly pool: { readonly totalCount: number; readonly idleCount: number; readonly waitingCount: number }
}

/** The upper ends of the buckets of every time; what took longer is in one more. */
export const secondsBuckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 2.5, 8] as const

export function openMetrics(): Metrics {
  const registry = new Registry()
  const registers = [registry]
  const requests = openHistogram(registry, {
    name: 'billfold_http_request_seconds',
    help: 'Requests by route pattern, method and status.',
    buckets: secondsBuckets,
  })
  const sizes = openHistogram(registry, {
    name: 'billfold_batch_operations',
    help: 'Operations in a batch of the writer.',
    buckets: [1, 2, 4, 8, 16, 32, 64, 128, 256, 512],
  })()
  const commits = openHistogram(registry, {
    name: 'billfold_batch_seconds',
    help: 'Time from the start of a batch to its last answer, the commit included.',
    buckets: secondsBuckets,
  })()
  const careful = new Counter({
    name: 'billfold_careful_batches_total',
    help: 'Batches that were locked and looked at before the write: refusals among several, the service’s own movements, faults.',
    registers,
  })
  const faults = new Counter({
    name: 'billfold_writer_faults_total',
    help: 'Batches that failed in a lane of the writer. They were tried again, or their callers were told.',
    labelNames: ['lane'],
    registers,
  })
  const refusals = new Counter({
    name: 'billfold_refused_calls_total',
    help: 'Calls of the API refused with 401, 403 or 429, by route pattern and status.',
    labelNames: ['route', 'status'],
    registers,
  })
  const mails = new Counter({
    name: 'billfold_mails_total',
    help: 'Tries to hand a mail to the mail server: sent, refused, away (tried again), or unsure (the connection was lost).',
    labelNames: ['result'],
    registers,
  })
  const byRoute = new Map<string, Series>()
  const byResult = new Map<string, { readonly labels: { direction: string; result: string }; count: number }>()
  const operations: Counter = new Counter({
    name: 'billfold_operations_total',
    help: 'Debits and credits by what they came to: posted, replayed, or the code of the refusal.',
    labelNames: ['direction', 'result'],
    registers: [],
    collect: () => {
      operations.reset()
      for (const { labels, count } of byResult.values()) operations.inc(labels, count)
    },
  })
  registry.registerMetric(operations)
  const count = (direction: string, result: string) => {
    const key = `${direction} ${result}`
    let counted = byResult.get(key)
    if (!counted) byResult.set(key, (counted = { labels: { direction, result }, count: 0 }))
    counted.count++
  }

  return {
    registry,
    render: () => registry.metrics(),
    request: (route, method, status, ms) => {
      const key = `${method} ${route} ${status}`
      let series = byRoute.get(key)
      if (!series) byRoute.set(key, (series = requests({ route, method, status: String(status) })))
      series.observe(ms / 1000)
    },
    refused: (route, status) => refusals.inc({ route, status: String(status) }),
    batch: (size, isCareful, ms) => {
      sizes.observe(size)
      commits.observe(ms / 1000)
      if (isCareful) careful.inc()
    },
    mail: (result) => mails.inc({ result }),
    writerFault: (lane) => faults.inc({ lane }),
    posted: (result) => {
      if (result.kind === 'outcome') {
        const { outcome, replay } = result
        const direction = outcome.amountMinor < 0n ? 'debit' : 'credit'
        count(direction, replay ? 'replayed' : (outcome.refusal ?? 'posted'))
      } else count('any', result.kind === 'inactive' ? 'WALLET_INACTIVE' : 'USER_NOT_FOUND')
    },
    watch: ({ queueDepth, pool }) => {
      gauge(registry, 'billfold_writer_queue_depth', 'Operations waiting for or in a batch.', queueDepth)
      gauge(registry, 'billfold_pool_connections', 'Connections of the reading pool.', () => pool.totalCount)
      gauge(registry, 'billfold_pool_idle', 'Idle connections of the reading pool.', () => pool.idleCount)
      gauge(registry, 'billfold_pool_waiting', 'Reads waiting for a connection.', () => pool.waitingCount)
      gauge(registry, 'billfold_memory_bytes', 'Resident memory of the process.', () => process.memoryUsage.rss())
    },
  }
}

function gauge(registry: Registry, name: string, help: string, read: () => number): void {
  const measured: Gauge = new Gauge({ name, help, registers: [], collect: () => measured.set(read()) })
  registry.registerMetric(measured)
}

type Series = {
  readonly labels: Readonly<Record<string, string>>
  observe: (value: number) => void
}

type Counted = Series & { readonly counts: number[]; sum: number }

/**
 * A histogram whose `observe` is a handful of additions. That of prom-client looks its labels up each time, which is too
 * much for something every request does; this one is handed to prom-client when somebody asks.
 */
function openHistogram(
  registry: Registry,
  { name, help, buckets }: { readonly name: string; readonly help: string; readonly buckets: readonly number[] },
): (labels?: Series['labels']) => Series {
  const all: Counted[] = []
  const get = () => {
    const values = all.flatMap((series) => valuesOf(name, buckets, series))
    return Promise.resolve({ name, help, type: 'histogram', aggregator: 'sum', values })
  }
  // Its types know no metric but its own; what it asks of one is this.
  registry.registerMetric({ name, get } as unknown as Metric)
  return (labels = {}) => {
    const series: Counted = {
      labels,
      counts: [...buckets.map(() => 0), 0],
      sum: 0,
      observe: (value) => {
        let bucket = 0
        while (bucket < buckets.length && value > buckets[bucket]!) bucket++
        series.counts[bucket]!++
        series.sum += value
      },
    }
    all.push(series)
    return series
  }
}

/** Of Prometheus, a bucket holds all that is below its end. */
function valuesOf(name: string, buckets: readonly number[], { labels, counts, sum }: Counted) {
  let count = 0
  const below = counts.map((counted, i) => {
    count += counted
    return { metricName: `${name}_bucket`, labels: { le: buckets[i] ?? '+Inf', ...labels }, value: count }
  })
  return [
    ...below,
    { metricName: `${name}_sum`, labels, value: sum },
    { metricName: `${name}_count`, labels, value: count },
  ]
}
