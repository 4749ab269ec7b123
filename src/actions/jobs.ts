/** Periodic jobs. Every process runs every job; a job makes sure that one process at a time does its work. */
import { inTime } from '../platform/in-time.ts'
import { faultFields, faultText } from '../platform/log.ts'
import { deleteExpired } from '../store/cleanup.ts'
import { longRunning } from '../store/connection/database.ts'
import { hasUnnumbered, numberEvents } from '../store/events/number-events.ts'
import { migrationStatus } from '../store/migrations/migrate.ts'
import { mergePositions } from '../store/books/merge-positions.ts'
import { mergeMinutes } from '../store/minutes.ts'
import { deleteJobFailure, failuresToReport, upsertJobFailure } from '../store/work/work-report.ts'
import { checkBooks } from './money/check-books.ts'
import { countCalls, countLinks } from './apps/count-calls.ts'
import { countMinutes } from './count-minutes.ts'
import { measureLog } from './proofs/log-metrics.ts'
import { keyPlainAddresses } from './people/key-addresses.ts'
import type { Service } from './service.ts'
import { sweepHolds } from './money/sweep-holds.ts'
import { sealBooks } from './proofs/seal-books.ts'
import { planDays } from './topups/reconcile.ts'

export type Job = {
  readonly name: string
  readonly everyMs: number
  readonly run: (service: Service) => Promise<unknown>
}

const openJobs = (): readonly Job[] => [
  { name: 'number-events', everyMs: 250, run: openNumberer() },
  { name: 'sweep-holds', everyMs: 1_000, run: sweepHolds },
  { name: 'check-books', everyMs: 1_000, run: checkBooks },
  { name: 'seal-books', everyMs: 10_000, run: sealBooks },
  { name: 'measure-log', everyMs: 10_000, run: measureLog },
  { name: 'count-minutes', everyMs: 5_000, run: countMinutes },
  { name: 'count-calls', everyMs: 60_000, run: countCalls },
  { name: 'count-links', everyMs: 60_000, run: countLinks },
  { name: 'cleanup', everyMs: 10 * 60_000, run: ({ db, config }) => deleteExpired(db, config) },
  { name: 'key-addresses', everyMs: 10 * 60_000, run: keyPlainAddresses },
  { name: 'merge-positions', everyMs: 10 * 60_000, run: (service) => mergePositions(service.db) },
  { name: 'merge-minutes', everyMs: 10 * 60_000, run: (service) => mergeMinutes(service.db) },
  { name: 'plan-reconciliation', everyMs: 60_000, run: planDays },
]

/** A process may write the journal for an app for a second after its events were switched off. */
const numberForMs = 10_000

/** Under load the rounds after this process's own batches number everything, at least once in this time. */
const ownRoundsMs = 700

/** Where no app has events, the database is not asked. */
function openNumberer(): Job['run'] {
  let until = performance.now() + numberForMs
  return async ({ apps, db, eventWaits, metrics }) => {
    if (eventWaits.hasNumberedWithin(ownRoundsMs)) return
    if ((await apps.list()).some(({ hasEvents }) => hasEvents)) until = performance.now() + numberForMs
    const mayHave = performance.now() < until && (await hasUnnumbered(db.pool))
    if (mayHave) await numberEvents(db, metrics.events)
  }
}

/** A job that takes longer counts as failed; what it still does is safe beside its next run. */
const jobWithinMs = 60_000
const stopWithinMs = 3_000

/** Returns a function that stops them, and waits a short while for those that are running. */
export function startJobs(
  service: Service,
  list: readonly Job[] = openJobs(),
  withinMs = jobWithinMs,
): () => Promise<void> {
  service.metrics.expect({ jobs: list.map(({ name }) => name) })
  const stops = list.map((job) => startJob(longRunning(service), job, withinMs))
  return async () => {
    await Promise.all(stops.map((stop) => stop()))
  }
}

function startJob(service: Service, { name, everyMs, run }: Job, withinMs: number): () => Promise<void> {
  const report = openReport(service, name)
  let isStopped = false
  let running = Promise.resolve()
  let timer = setTimeout(step, firstAfterMs(everyMs))

  function step(): void {
    running = inTime(run(service), withinMs)
      .then(
        () => {
          service.metrics.job(name, 'done')
          return report.succeeded()
        },
        async (error: unknown) => {
          if (await isSuperseded(service)) {
            isStopped = true
            service.metrics.job(name, 'stopped')
            service.log.info('a newer version has migrated the database: this process leaves the job to it', {
              job: name,
              ...faultFields(error),
            })
            return
          }
          service.metrics.job(name, 'failed')
          service.log.warn('a job failed', { job: name, ...faultFields(error) })
          return report.failed(faultText(error))
        },
      )
      // A database that is away cannot keep the report.
      .catch(() => {})
    void running.then(() => {
      if (!isStopped) timer = setTimeout(step, everyMs)
    })
  }

  return async () => {
    isStopped = true
    clearTimeout(timer)
    await inTime(running, stopWithinMs).catch(() => {})
  }
}

/**
 * In a rolling upgrade, processes of the older version may meet tables that they do not know. The newer processes run the same
 * jobs. Migrations only go forward, so the answer stays true.
 */
async function isSuperseded({ db }: Service): Promise<boolean> {
  const known = await inTime(migrationStatus(db.pool), stopWithinMs).catch(() => undefined)
  return known !== undefined && known.current > known.latest
}

/** A report of a process that died with it is removed as soon as the job succeeds in another one. */
const clearEveryMs = 10 * 60_000

/** Reports a job that failed three times in a row, until it succeeds. */
function openReport({ db }: Service, job: string) {
  let failures = 0
  let clearedAt = -clearEveryMs
  return {
    succeeded: async (): Promise<void> => {
      const wasReported = failures >= failuresToReport
      failures = 0
      if (!wasReported && performance.now() - clearedAt < clearEveryMs) return
      clearedAt = performance.now()
      await deleteJobFailure(db.pool, job)
    },
    failed: async (reason: string): Promise<void> => {
      if (++failures >= failuresToReport) await upsertJobFailure(db.pool, job, failures, reason)
    },
  }
}

/** Soon after the start, but not at the same instant in every process. */
function firstAfterMs(everyMs: number): number {
  return Math.min(everyMs, 1_000 + Math.random() * 10_000)
}
