/**
 * Counts for the overview, taken from the Prometheus metrics: every few seconds each process writes the difference into its
 * row of the minute. The hot path does no extra work.
 */
import { randomUUID } from 'node:crypto'
import { secondsBuckets } from '../platform/histogram.ts'
import { upsertMinute, type Minute } from '../store/minutes.ts'
import type { Service } from './service.ts'

type Counter = {
  readonly process: string
  minute: number
  /** The totals at the beginning of the minute. */
  start: Minute
}

const counters = new WeakMap<Service, Counter>()

export async function countMinutes(service: Service): Promise<void> {
  const totals = await readTotals(service)
  const minute = Math.floor(service.now().getTime() / 60_000) * 60_000
  const known = counters.get(service)
  const counter = known ?? { process: randomUUID(), minute, start: totals }
  counters.set(service, counter)
  await upsertMinute(service.db.pool, new Date(counter.minute), counter.process, difference(totals, counter.start))
  if (counter.minute === minute) return
  // Requests between the two writes count for the minute that ended.
  counter.minute = minute
  counter.start = totals
}

/** Results that are not refusals. */
const noRefusals = ['posted', 'replayed', 'UNAVAILABLE', 'INTERNAL']

/** The upper bounds of the buckets, in milliseconds. */
const bucketEndsMs = [...secondsBuckets.map((seconds) => seconds * 1_000), Infinity]

async function readTotals({ metrics, live }: Service): Promise<Minute> {
  const requests = await metrics.registry.getSingleMetric('billfold_http_request_seconds')?.get()
  const operations = await metrics.registry.getSingleMetric('billfold_operations_total')?.get()
  const took = bucketEndsMs.map(() => 0)
  let [count, faults] = [0, 0]
  for (const { labels, value, ...rest } of requests?.values ?? []) {
    // Count API calls only, not pages and assets.
    if (!String(labels['route']).startsWith('/api/')) continue
    const name = 'metricName' in rest ? rest.metricName : ''
    if (name === 'billfold_http_request_seconds_count') {
      count += value
      if (Number(labels['status']) >= 500) faults += value
    }
    if (name === 'billfold_http_request_seconds_bucket') addBucket(took, labels['le'], value)
  }
  // Prometheus buckets are cumulative; ours are not.
  const between = took.map((value, i) => value - (took[i - 1] ?? 0))
  const posted = (direction: string) =>
    (operations?.values ?? [])
      .filter(({ labels }) => labels['direction'] === direction && labels['result'] === 'posted')
      .reduce((sum, { value }) => sum + value, 0)
  const refusals = (operations?.values ?? [])
    .filter(({ labels }) => !noRefusals.includes(String(labels['result'])))
    .reduce((sum, { value }) => sum + value, 0)
  return {
    requests: count,
    faults,
    debits: posted('debit'),
    credits: posted('credit'),
    refusals,
    took: between,
    widgets: live.count(),
  }
}

function addBucket(took: number[], end: unknown, value: number): void {
  const endMs = end === '+Inf' ? Infinity : Number(end) * 1_000
  const i = bucketEndsMs.indexOf(endMs)
  if (i >= 0) took[i]! += value
}

function difference(now: Minute, start: Minute): Minute {
  return {
    requests: now.requests - start.requests,
    faults: now.faults - start.faults,
    debits: now.debits - start.debits,
    credits: now.credits - start.credits,
    refusals: now.refusals - start.refusals,
    took: now.took.map((value, i) => value - (start.took[i] ?? 0)),
    widgets: now.widgets,
  }
}

/** The quantile, interpolated within its bucket; null without requests. */
export function quantileMs(took: readonly number[], part: number): number | null {
  const total = took.reduce((sum, count) => sum + count, 0)
  if (total === 0) return null
  let left = total * part
  for (const [i, count] of took.entries()) {
    const from = bucketEndsMs[i - 1] ?? 0
    const to = bucketEndsMs[i] ?? Infinity
    if (left <= count && count > 0) return to === Infinity ? from : from + ((to - from) * left) / count
    left -= count
  }
  return bucketEndsMs.at(-2)!
}
