/**
 * A histogram for Prometheus whose `observe` is a handful of additions. That of prom-client looks its labels up each
 * time, which is too much for something every request does; this one is handed to prom-client when somebody asks.
 */
import type { Metric, Registry } from 'prom-client'

export type Series = {
  readonly labels: Readonly<Record<string, string>>
  observe: (value: number) => void
}

type Counted = Series & { readonly counts: number[]; sum: number }

export function openHistogram(
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
