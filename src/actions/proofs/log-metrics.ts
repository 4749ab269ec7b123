/** Prometheus metrics of the log: how old the last seal is, whether checkpoints leave the house, and what contradicts them. */
import { Gauge, type Registry } from 'prom-client'
import { findLogLevels, type LogLevels } from '../../store/proofs/publications.ts'
import { getBooksState } from '../../store/verify/books-check.ts'
import type { Service } from '../service.ts'
import { isOfLog } from './check-log.ts'

type Measured = LogLevels & { readonly problems: number; readonly readAt: number }
type LogMetrics = { readonly update: (measured: Measured | undefined) => void }

const opened = new WeakMap<Registry, LogMetrics>()

/** The job. */
export async function measureLog({ db, config, metrics }: Service): Promise<void> {
  const levels = await readLogLevels({ db, config })
  const { problems } = await getBooksState(db.pool)
  const measured = levels && { ...levels, problems: problems.filter(isOfLog).length, readAt: performance.now() }
  logMetrics(metrics.registry).update(measured)
}

/** Undefined before the log was begun. */
export async function readLogLevels({ db, config }: Pick<Service, 'db' | 'config'>): Promise<LogLevels | undefined> {
  const targets = config.checkpointTargets.map(({ id }) => id)
  return await findLogLevels(db.pool, new URL(config.publicUrl).host, targets)
}

function logMetrics(registry: Registry): LogMetrics {
  const known = opened.get(registry) ?? openLogMetrics(registry)
  opened.set(registry, known)
  return known
}

/** Every process reports the whole state, so workers are aggregated by the largest value, not by the sum. */
function openLogMetrics(registry: Registry): LogMetrics {
  let measured: Measured | undefined
  const gauge = (name: string, help: string, read: (measured: Measured) => number | null) => {
    const made: Gauge = new Gauge({
      name,
      help,
      aggregator: 'max',
      registers: [],
      collect: () => {
        const value = measured ? read(measured) : null
        if (value === null) made.reset()
        else made.set(value)
      },
    })
    made.reset()
    registry.registerMetric(made)
  }
  /** It grows even when no new state arrives. */
  const grown = (seconds: number, { readAt }: Measured) => seconds + (performance.now() - readAt) / 1_000
  gauge('billfold_log_seal_age_seconds', 'Every entry that was checked before this long ago is in the log.', (now) =>
    now.sealAgeSeconds === null ? null : grown(now.sealAgeSeconds, now),
  )
  gauge(
    'billfold_log_publication_late_seconds',
    'How long the oldest checkpoint that a target of CHECKPOINTS lacks has been waiting; 0 if all have the newest.',
    (now) => (now.publicationLateSeconds === 0 ? 0 : grown(now.publicationLateSeconds, now)),
  )
  gauge(
    'billfold_log_contradictions',
    'Differences between the books, the log and published checkpoints; anything but 0 needs a person.',
    ({ problems, contradictions }) => problems + contradictions,
  )
  gauge(
    'billfold_log_incarnations',
    'How often the log went on under another name: after a restore, a move or a failover.',
    ({ incarnations }) => incarnations,
  )
  return { update: (next) => void (measured = next) }
}
