/** Refunds a top-up for an operator, in part or whole. The processor decides how much is left to refund. */
import { isRefusal, ProcessorUnavailable, type RefusalCode } from '../../cards/processor.ts'
import { faultFields } from '../../platform/log.ts'
import { transact } from '../../store/connection/database.ts'
import { bindForm, updateFormResult } from '../../store/operator-access/operator-forms.ts'
import { findTopup } from '../../store/topups.ts'
import { addWork } from '../../store/work/work.ts'
import { recordAudit, type Actor } from '../audit.ts'
import type { Service } from '../service.ts'
import { resolveTopup } from './resolve-topup.ts'

export type TopupRefund = {
  readonly topupId: string
  readonly amountMinor: bigint
  /** A UUID, the idempotency key of the form: a form sent twice refunds once, and the key binds the rest of the order. */
  readonly key: string
  readonly reason: string
}

type Answered =
  | { readonly kind: 'refunded' }
  | { readonly kind: 'refused'; readonly code: RefusalCode; readonly message: string }

export type RefundResult =
  | Answered
  /** The key belongs to a refund with other content; nothing was done. */
  | { readonly kind: 'reused' }
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
  const subject = `topup:${topupId}`
  const bound = await transact(service.db, async (tx) => {
    const binding = await bindForm(tx, { id: key, subject, content: detail })
    // Recorded before the processor is asked, so that every ordered refund has an audit record.
    if (binding.kind === 'first') await recordAudit(tx, actor, 'topup.refund-ordered', subject, detail)
    return binding
  })
  if (bound.kind === 'other') return { kind: 'reused' }
  if (bound.kind === 'repeat' && bound.result) return bound.result as Answered
  try {
    const refund = await cards.refundPayment({ paymentIntentId, amountMinor, idempotencyKey: `${topupId}-${key}` })
    const answered: Answered = isRefusal(refund)
      ? { kind: 'refused', code: refund.refused, message: refund.message }
      : { kind: 'refunded' }
    await transact(service.db, async (tx) => {
      const isFirst = await updateFormResult(tx, key, answered)
      if (answered.kind === 'refunded') await addWork(tx, { kind: 'resolve-topup', key: topupId })
      else if (isFirst)
        await recordAudit(tx, actor, 'topup.refund-refused', subject, { ...detail, code: answered.code })
    })
    if (answered.kind === 'refunded') await resolveSoon(service, topupId)
    return answered
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
