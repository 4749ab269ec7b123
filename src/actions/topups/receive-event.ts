/**
 * Receives a webhook of the card processor. The webhook only names a payment: we ask the processor for its state. An event that
 * was recorded with a settled top-up is answered from its row: the processor was asked after the event had happened.
 */
import type { ProcessorEvent } from '../../cards/processor.ts'
import { transact } from '../../store/connection/database.ts'
import { isEventSettled } from '../../store/topup-movements.ts'
import { findTopup, findTopupByPayment, updateTopupPayment, type Topup } from '../../store/topups.ts'
import { addWork } from '../../store/work/work.ts'
import { Unavailable } from '../../store/writer/posting.ts'
import { inTime } from '../../platform/in-time.ts'
import type { Service } from '../service.ts'
import { isUuid } from '../tokens.ts'
import { resolveTopup } from './resolve-topup.ts'
import { stopCardTesting } from './topup-limits.ts'

/** False when the payment belongs to no top-up here. */
export async function receiveEvent(service: Service, event: ProcessorEvent): Promise<boolean> {
  const { paymentIntentId } = event
  const topup = (await findTopupByPayment(service.db.pool, paymentIntentId)) ?? (await adopt(service, paymentIntentId))
  if (!topup) return false
  await inTurn(topup.id, async () => {
    if (await isEventSettled(service.db.pool, event.id, topup.id)) return
    await stopCardTesting(service, await resolveTopup(service, topup.id, event))
  })
  return true
}

const underWay = new Map<string, Promise<unknown>>()
/** The processor waits ten seconds for an answer, and repeats the event after a 503. */
const turnWithinMs = 6_000

/** Events of one top-up wait for each other: together they would all ask the processor, and then discard each other's answers. */
async function inTurn(topupId: string, work: () => Promise<void>): Promise<void> {
  const before = underWay.get(topupId)
  const wait = async () => {
    if (before && (await inTime(before, turnWithinMs).catch(() => 'late')) === 'late')
      throw new Unavailable('too many events of a top-up are waiting')
    await work()
  }
  const mine = wait()
  const ended = mine.catch(() => {})
  underWay.set(topupId, ended)
  try {
    await mine
  } finally {
    if (underWay.get(topupId) === ended) underWay.delete(topupId)
  }
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
