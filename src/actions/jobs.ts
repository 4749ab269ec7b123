/** What the service does by itself from time to time. Every process runs every job; a job sees to it that one is enough. */
import { inTime } from '../platform/in-time.ts'
import { faultFields } from '../platform/log.ts'
import { deleteExpired } from '../store/cleanup.ts'
import { longRunning } from '../store/connection/database.ts'
import { mergePositions } from '../store/books/merge-positions.ts'
import { mergeMinutes } from '../store/minutes.ts'
import { checkBooks } from './money/check-books.ts'
import { countCalls, countLinks } from './apps/count-calls.ts'
import { countMinutes } from './count-minutes.ts'
import type { Service } from './service.ts'
import { planDays } from './topups/reconcile.ts'

export type Job = {
  readonly name: string
  readonly everyMs: number
  readonly run: (service: Service) => Promise<unknown>
}

const jobs: readonly Job[] = [
  { name: 'check-books', everyMs: 1_000, run: checkBooks },
  { name: 'count-minutes', everyMs: 5_000, run: countMinutes },
  { name: 'count-calls', everyMs: 60_000, run: countCalls },
  { name: 'count-links', everyMs: 60_000, run: countLinks },
  { name: 'cleanup', everyMs: 10 * 60_000, run: ({ db, config }) => deleteExpired(db, config) },
  { name: 'merge-positions', everyMs: 10 * 60_000, run: (service) => mergePositions(service.db) },
  { name: 'merge-minutes', everyMs: 10 * 60_000, run: (service) => mergeMinutes(service.db) },
  { name: 'plan-reconciliation', everyMs: 60_000, run: planDays },
]

/** A job whose time is up is not waited for any longer; what it still does is safe beside its next run. */
const jobWithinMs = 60_000
const stopWithinMs = 3_000

/** Returns a function that stops them, and waits a moment for those that are running. */
export function startJobs(service: Service, list: readonly Job[] = jobs, withinMs = jobWithinMs): () => Promise<void> {
  const stops = list.map((job) => startJob(longRunning(service), job, withinMs))
  return async () => {
    await Promise.all(stops.map((stop) => stop()))
  }
}

function startJob(service: Service, { name, everyMs, run }: Job, withinMs: number): () => Promise<void> {
  let isStopped = false
  let running = Promise.resolve()
  let timer = setTimeout(step, firstAfterMs(everyMs))

  function step(): void {
    running = inTime(run(service), withinMs).then(
      () => service.metrics.job(name, true),
      (error: unknown) => {
        service.metrics.job(name, false)
        service.log.warn('a job failed', { job: name, ...faultFields(error) })
      },
    )
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

/** Soon after the start, but not at the same moment in every process. */
function firstAfterMs(everyMs: number): number {
  return Math.min(everyMs, 1_000 + Math.random() * 10_000)
}
