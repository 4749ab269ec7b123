/** Receives a webhook of the card processor. The webhook only names a payment: we ask the processor for its state. */
import type { ProcessorEvent } from '../../cards/processor.ts'
import { transact } from '../../store/connection/database.ts'
import { findTopup, findTopupByPayment, updateTopupPayment, type Topup } from '../../store/topups.ts'
import { addWork } from '../../store/work/work.ts'
import type { Service } from '../service.ts'
import { isUuid } from '../tokens.ts'
import { resolveTopup } from './resolve-topup.ts'
import { stopCardTesting } from './topup-limits.ts'

/** False when the payment belongs to no top-up here. */
export async function receiveEvent(service: Service, event: ProcessorEvent): Promise<boolean> {
  const { paymentIntentId } = event
  const topup = (await findTopupByPayment(service.db.pool, paymentIntentId)) ?? (await adopt(service, paymentIntentId))
  if (!topup) return false
  await stopCardTesting(service, await resolveTopup(service, topup.id, event))
  return true
}

/** Handles a payment whose creation answer never reached us: the payment itself names its top-up. */
async function adopt(service: Service, paymentIntentId: string): Promise<Topup | undefined> {
  const payment = await service.cards?.retrievePayment(paymentIntentId)
  if (!payment?.topupId || !isUuid(payment.topupId)) return undefined
  const topup = await findTopup(service.db.pool, payment.topupId)
  if (!topup || topup.userId !== payment.userId) return undefined
  // Of two concurrent webhooks, one writes payment_intent_id; both then find the top-up by it.
  await transact(service.db, async (tx) => {
    await updateTopupPayment(tx, topup.id, paymentIntentId)
    await addWork(tx, { kind: 'resolve-topup', key: topup.id })
  })
  return await findTopupByPayment(service.db.pool, paymentIntentId)
}
