/** Reads one day of the processor's bookings and compares it with the ledger. */
import { reconcileDay as reconcile } from '../actions/topups/reconcile.ts'
import type { Service } from '../actions/service.ts'
import { ProcessorUnavailable } from '../cards/processor.ts'
import { faultFields } from '../platform/log.ts'
import { findDay, updateDayProblem } from '../store/books/reconciliation.ts'
import type { Piece } from '../store/work/work.ts'
import { done, single, usual, type Ended, type Kind } from './kind.ts'

/** A large day is read in several runs; each continues where the last one stopped. */
const readForMs = 20_000
const hourMs = 3_600_000

const retryAfterMs = (attempts: number) => Math.min(hourMs, 60_000 * 2 ** Math.min(attempts, 10))

async function run(service: Service, { key, attempts }: Piece): Promise<Ended> {
  // Without a processor the day waits for one.
  if (!service.cards) return { kind: 'again', afterMs: hourMs }
  const day = await findDay(service.db.pool, key)
  const isFromFile = day?.finishedAt != null && day.source === 'file'
  if (!day || (day.finishedAt && !isFromFile)) return done
  try {
    return (await reconcile(service, day, readForMs)) ? done : { kind: 'again', afterMs: 0, isCounted: false }
  } catch (error) {
    const problem = error instanceof ProcessorUnavailable ? error.message : 'It could not be read; the log says why.'
    // The API is asked again, because a file proves less.
    if (isFromFile) return { kind: 'again', afterMs: 24 * hourMs, isCounted: false }
    await updateDayProblem(service.db.pool, key, problem)
    service.log.warn('a day could not be reconciled', { day: key, ...faultFields(error) })
    return { kind: 'again', afterMs: retryAfterMs(attempts), error: problem }
  }
}

export const reconcileDay: Kind = {
  ...usual,
  ...single(run),
  name: 'reconcile-day',
  concurrency: 1,
  withinMs: 110_000,
  leaseMs: 120_000,
  retryAfterMs,
}
