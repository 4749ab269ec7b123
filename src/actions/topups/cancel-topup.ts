/** Cancels an open payment for its payer. One that was paid meanwhile is credited, and its state is the answer. */
import { ProcessorUnavailable } from '../../cards/processor.ts'
import { faultFields } from '../../platform/log.ts'
import type { Session } from '../../store/people/widget-sessions.ts'
import { findTopupByPayment } from '../../store/topups.ts'
import type { Service } from '../service.ts'
import { confirmTopup, type ConfirmedTopup } from './confirm-topup.ts'
import { endPayment } from './open-payments.ts'
import { takeConfirm } from './topup-limits.ts'

export async function cancelTopup(
  service: Service,
  session: Session,
  paymentIntentId: string,
): Promise<ConfirmedTopup> {
  const topup = await findTopupByPayment(service.db.pool, paymentIntentId)
  // Another app's session must not end a payment that its user is making elsewhere.
  if (topup?.userId !== session.userId || topup.clientId !== session.clientId) return { kind: 'unknown' }
  const limited = await takeConfirm(service, session.userId)
  if (limited) return limited
  try {
    const ended = await endPayment(service, topup)
    if (ended.kind === 'unavailable') return ended
  } catch (error) {
    if (!(error instanceof ProcessorUnavailable)) throw error
    service.log.warn('the card processor did not answer', { topupId: topup.id, ...faultFields(error) })
    return { kind: 'unavailable' }
  }
  return await confirmTopup(service, session, paymentIntentId)
}
