/** An operator gives a top-up back, in part or whole. What is left to give back is the processor's word, not ours. */
import { isRefusal, ProcessorUnavailable, type Refund, type RefusalCode } from '../../cards/processor.ts'
import { faultFields } from '../../platform/log.ts'
import { getDatabaseTime } from '../../store/connection/database.ts'
import { findTopup, hastenTopupLook } from '../../store/topups.ts'
import { recordAudit, type Actor } from '../audit.ts'
import type { Service } from '../service.ts'
import { resolveTopup } from './resolve-topup.ts'

export type TopupRefund = {
  readonly topupId: string
  readonly amountMinor: bigint
  /** Of the form that was sent: sent twice, it refunds once. */
  readonly key: string
  readonly reason: string
}

export type RefundResult =
  | { readonly kind: 'refunded'; readonly refund: Refund }
  | { readonly kind: 'refused'; readonly code: RefusalCode; readonly message: string }
  /** Nobody knows whether it was done. The sweeper finds out; sending the same form again is safe. */
  | { readonly kind: 'unavailable' }
  | { readonly kind: 'unknown-topup' }

/** The wallet follows what the processor says, and falls below zero if the money is spent already. */
export async function refundTopup(service: Service, actor: Actor, order: TopupRefund): Promise<RefundResult> {
  const { topupId, amountMinor, key, reason } = order
  const topup = await findTopup(service.db.pool, topupId)
  if (!topup) return { kind: 'unknown-topup' }
  const { cards } = service
  if (topup.paymentIntentId === null || cards?.page.kind !== topup.processor) {
    return { kind: 'refused', code: 'not-refundable', message: 'The processor of this payment is not the one in use.' }
  }
  const { paymentIntentId } = topup
  const detail = { amountMinor: String(amountMinor), key, reason }
  // Recorded before the processor is asked, so that no refund is ever ordered without an audit record.
  await recordAudit(service.db.pool, actor, 'topup.refund-ordered', `topup:${topupId}`, detail)
  try {
    const refund = await cards.refundPayment({ paymentIntentId, amountMinor, idempotencyKey: `${topupId}-${key}` })
    if (isRefusal(refund)) {
      await recordAudit(service.db.pool, actor, 'topup.refund-refused', `topup:${topupId}`, {
        ...detail,
        code: refund.refused,
      })
      return { kind: 'refused', code: refund.refused, message: refund.message }
    }
    await hastenTopupLook(service.db.pool, topupId, await getDatabaseTime(service.db.pool))
    await resolveSoon(service, topupId)
    return { kind: 'refunded', refund }
  } catch (error) {
    if (!(error instanceof ProcessorUnavailable)) throw error
    service.log.warn('the card processor did not answer', { topupId, ...faultFields(error) })
    await hastenTopupLook(service.db.pool, topupId, await getDatabaseTime(service.db.pool))
    return { kind: 'unavailable' }
  }
}

/** The refund is made; should the processor fall silent now, the sweeper books it. */
async function resolveSoon(service: Service, topupId: string): Promise<void> {
  await resolveTopup(service, topupId).catch((error: unknown) => {
    service.log.warn('a refund is booked later', { topupId, ...faultFields(error) })
  })
}
