/** Asks about top-ups that have no end yet, so that a lost webhook or a crash costs minutes and not money. */
import { ProcessorUnavailable } from '../../cards/processor.ts'
import { faultFields } from '../../platform/log.ts'
import { getDatabaseTime } from '../../store/connection/database.ts'
import {
  claimDueTopups,
  updateTopupFailed,
  updateTopupLook,
  updateTopupUnanswered,
  type Topup,
} from '../../store/topups.ts'
import type { Service } from '../service.ts'
import { resolveTopup } from './resolve-topup.ts'
import { cancelUnpaid } from './topup-limits.ts'
import { nextLook } from './topup-rules.ts'

const atOnce = 8
/** Longer than looking takes, at the slowest processor. */
const leaseMs = 90_000

/** Until nothing is due, or the processor does not answer. */
export async function sweepTopups(service: Service): Promise<void> {
  for (;;) {
    const now = await getDatabaseTime(service.db.pool)
    const due = await claimDueTopups(service.db.pool, now, new Date(now.getTime() + leaseMs), atOnce)
    const isAnswered = await Promise.all(due.map((topup) => sweepOne(service, topup)))
    if (due.length < atOnce || !isAnswered.every(Boolean)) return
  }
}

/** False when the processor did not answer. */
async function sweepOne(service: Service, topup: Topup): Promise<boolean> {
  try {
    if (topup.paymentIntentId === null) {
      await updateTopupFailed(service.db.pool, topup.id, await getDatabaseTime(service.db.pool))
      service.metrics.topup('failed')
    } else await look(service, topup)
    return true
  } catch (error) {
    const isAway = error instanceof ProcessorUnavailable
    service.log.warn('a top-up could not be looked at', { topupId: topup.id, ...faultFields(error) })
    if (isAway) await updateTopupUnanswered(service.db.pool, topup.id)
    return !isAway
  }
}

async function look(service: Service, topup: Topup): Promise<void> {
  const resolved = await resolveTopup(service, topup.id)
  // The processor does not know the payment, or is not the one that was asked then.
  const now = await getDatabaseTime(service.db.pool)
  if (!resolved.payment) return await updateTopupLook(service.db.pool, resolved.topup, nextLook(topup, now))
  if (topup.expiresAt <= now) await cancelUnpaid(service, resolved)
}
