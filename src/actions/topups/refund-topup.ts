/** Refunds a top-up for an operator, in part or whole. The processor decides how much is left to refund. */
import { isRefusal, ProcessorUnavailable, type Refund, type RefusalCode } from '../../cards/processor.ts'
import { faultFields } from '../../platform/log.ts'
import { findTopup } from '../../store/topups.ts'
import { addWork } from '../../store/work/work.ts'
import { recordAudit, type Actor } from '../audit.ts'
import type { Service } from '../service.ts'
import { resolveTopup } from './resolve-topup.ts'

export type TopupRefund = {
  readonly topupId: string
  readonly amountMinor: bigint
  /** The idempotency key of the form: a form sent twice refunds once. */
  readonly key: string
  readonly reason: string
}

export type RefundResult =
  | { readonly kind: 'refunded'; readonly refund: Refund }
  | { readonly kind: 'refused'; readonly code: RefusalCode; readonly message: string }
  /** The processor may have made the refund. The queue finds out; sending the same form again is safe. */
  | { readonly kind: 'unavailable' }
  | { readonly kind: 'unknown-topup' }

/** The wallet follows the processor's answer, and falls below zero if the user has spent the money. */
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
  // Record before asking the processor, so that every ordered refund has an audit record.
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
    await addWork(service.db.pool, { kind: 'resolve-topup', key: topupId })
    await resolveSoon(service, topupId)
    return { kind: 'refunded', refund }
  } catch (error) {
    if (!(error instanceof ProcessorUnavailable)) throw error
    service.log.warn('the card processor did not answer', { topupId, ...faultFields(error) })
    await addWork(service.db.pool, { kind: 'resolve-topup', key: topupId })
    return { kind: 'unavailable' }
  }
}

/** The processor has made the refund. If it does not answer now, the queue books it. */
async function resolveSoon(service: Service, topupId: string): Promise<void> {
  await resolveTopup(service, topupId).catch((error: unknown) => {
    service.log.warn('a refund is booked later', { topupId, ...faultFields(error) })
  })
}
