/**
 * A histogram whose `observe` costs a few additions. The one of prom-client looks up its labels at each call, which is too slow
 * for every request; this one is converted at each scrape.
 */
import type { Metric, Registry } from 'prom-client'

/** The upper bounds of the time buckets; one more bucket takes the rest. */
export const secondsBuckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 2.5, 8] as const

export type Series = {
  readonly labels: Readonly<Record<string, string>>
  observe: (value: number) => void
}

type Counted = Series & { readonly counts: number[]; sum: number }

/** Returns a function that opens a series for a set of labels. */
export function openHistogram(
  registry: Registry,
  { name, help, buckets }: { readonly name: string; readonly help: string; readonly buckets: readonly number[] },
): (labels: Series['labels']) => Series {
  const all: Counted[] = []
  const get = () => {
    const values = all.flatMap((series) => valuesOf(name, buckets, series))
    return Promise.resolve({ name, help, type: 'histogram', aggregator: 'sum', values })
  }
  // The registry uses only these two properties, but its types accept only its own metrics.
  registry.registerMetric({ name, get } as unknown as Metric)
  return (labels) => {
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

/** Prometheus buckets are cumulative. */
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
