/** Prometheus metrics of the continuous check: its problems, its age and its cost. */
import { Counter, Gauge, type Registry } from 'prom-client'
import type { BooksState } from '../../store/verify/books-check.ts'
import type { Step } from './check-step.ts'

type BooksMetrics = {
  readonly update: (state: BooksState) => void
  readonly count: (part: Step['name'], entries: number, ms: number) => void
}

const opened = new WeakMap<Registry, BooksMetrics>()

export function booksMetrics(registry: Registry): BooksMetrics {
  const known = opened.get(registry) ?? openBooksMetrics(registry)
  opened.set(registry, known)
  return known
}

/** Every process reports the whole state, so workers are aggregated by the largest value, not by the sum. */
function openBooksMetrics(registry: Registry): BooksMetrics {
  let state: BooksState | undefined
  let readAt = 0
  const gauge = (name: string, help: string, read: (state: BooksState) => number | undefined) => {
    const measured: Gauge = new Gauge({
      name,
      help,
      aggregator: 'max',
      registers: [],
      collect: () => {
        const value = state && read(state)
        if (value === undefined) measured.reset()
        else measured.set(value)
      },
    })
    // A gauge without labels starts at 0, a value that was never measured.
    measured.reset()
    registry.registerMetric(measured)
  }
  /** The database's clock up to the reading, this process's clock since: the age grows even when no new state arrives. */
  const age = (at: Date | null, { now }: BooksState) =>
    at === null ? undefined : (now.getTime() - at.getTime() + performance.now() - readAt) / 1_000
  gauge(
    'billfold_books_problems',
    'What the continuous check of the books has found wrong; anything but 0 needs a person.',
    ({ problems }) => problems.length,
  )
  gauge(
    'billfold_books_sums_age_seconds',
    'How long ago all wallets and all positions were added up and compared.',
    (current) => age(current.sumsAt, current),
  )
  gauge(
    'billfold_books_checked_age_seconds',
    'Every entry older than this was checked; before the first pass is through, since when it is under way.',
    (current) => age(current.checkedUpTo ?? current.passStartedAt, current),
  )
  gauge(
    'billfold_books_round_age_seconds',
    'How long ago the last round over all entries ended; before that, since when the first one is under way.',
    (current) => age(current.lastRoundAt ?? current.roundStartedAt, current),
  )
  const seconds = new Counter({
    name: 'billfold_books_check_seconds_total',
    help: 'Time that the continuous check took, by its part: sums, changes, round.',
    labelNames: ['part'],
    registers: [registry],
  })
  const entries = new Counter({
    name: 'billfold_books_checked_entries_total',
    help: 'Entries that the continuous check went through, by its part.',
    labelNames: ['part'],
    registers: [registry],
  })
  return {
    update: (next) => {
      state = next
      readAt = performance.now()
    },
    count: (part, checked, ms) => {
      seconds.inc({ part }, ms / 1_000)
      if (part !== 'sums') entries.inc({ part }, checked)
    },
  }
}
