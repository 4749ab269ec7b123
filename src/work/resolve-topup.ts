/** Asks the processor about unresolved top-ups, so that a lost webhook or a crash costs minutes and not money. */
import { ProcessorUnavailable } from '../cards/processor.ts'
import { cancelUnpaid } from '../actions/topups/topup-limits.ts'
import { resolveTopup as resolve, scheduleUnchanged } from '../actions/topups/resolve-topup.ts'
import type { Service } from '../actions/service.ts'
import { faultFields } from '../platform/log.ts'
import { getDatabaseTime } from '../store/connection/database.ts'
import { findTopup, updateTopupFailed, type Topup } from '../store/topups.ts'
import type { Piece } from '../store/work/work.ts'
import { done, single, usual, type Ended, type Kind } from './kind.ts'

const retryAfterMs = () => 90_000

async function run(service: Service, { key }: Piece): Promise<Ended> {
  const { pool } = service.db
  const topup = await findTopup(pool, key)
  if (!topup) return done
  if (topup.paymentIntentId === null) {
    if (await updateTopupFailed(pool, key, await getDatabaseTime(pool))) service.metrics.topup('failed')
    return done
  }
  try {
    await ask(service, topup)
    return done
  } catch (error) {
    if (!(error instanceof ProcessorUnavailable)) throw error
    service.log.warn('a top-up could not be resolved', { topupId: key, ...faultFields(error) })
    // The processor did not answer, so the attempt does not lengthen the back-off.
    return { kind: 'again', afterMs: retryAfterMs(), error: error.message, isCounted: false, isAway: true }
  }
}

async function ask(service: Service, topup: Topup): Promise<void> {
  const resolved = await resolve(service, topup.id)
  // The processor does not know the payment, or another processor made it.
  if (!resolved.payment) return await scheduleUnchanged(service, resolved.topup)
  const now = await getDatabaseTime(service.db.pool)
  if (topup.expiresAt <= now) await cancelUnpaid(service, resolved)
}

export const resolveTopup: Kind = { ...usual, ...single(run), name: 'resolve-topup', concurrency: 8, retryAfterMs }
