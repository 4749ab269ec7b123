/** Begins a top-up: inserts our row first and then orders the payment, so that every payment has its row. */
import { isRefusal, ProcessorUnavailable, type Payment } from '../../cards/processor.ts'
import { faultFields } from '../../platform/log.ts'
import { maxBalanceMinor } from '../../ledger/money.ts'
import { getDatabaseTime, transact } from '../../store/connection/database.ts'
import type { Session } from '../../store/people/widget-sessions.ts'
import { insertTopup, updateTopupFailed, updateTopupPayment, type NewTopup } from '../../store/topups.ts'
import { addWork, dropWork } from '../../store/work/work.ts'
import type { Limited } from '../limits.ts'
import type { Service } from '../service.ts'
import { takeTopup } from './topup-limits.ts'
import { newId } from '../tokens.ts'

export type CreatedTopup =
  | {
      readonly kind: 'created'
      readonly payment: Payment
      readonly publishableKey: string
      readonly expiresAt: Date
    }
  | Limited
  | { readonly kind: 'amount-out-of-bounds' | 'amount-unsupported' | 'balance-limit' | 'inactive' | 'unavailable' }

const payableForMs = 60 * 60_000
const firstAttemptMs = 60_000

export async function createTopup(service: Service, session: Session, amountMinor: bigint): Promise<CreatedTopup> {
  const { cards, config } = service
  const { minMinor, maxMinor } = config.topup
  if (amountMinor < minMinor || amountMinor > maxMinor) return { kind: 'amount-out-of-bounds' }
  // A user who owes must be able to pay: the credit ends a freeze for debt, in the transaction that brings the balance to zero.
  if (session.frozenFor !== null && session.frozenFor !== 'debt') return { kind: 'inactive' }
  if (session.balanceMinor + amountMinor > maxBalanceMinor) return { kind: 'balance-limit' }
  if (!cards) return { kind: 'unavailable' }
  const limited = await takeTopup(service, session)
  if (limited) return limited
  const createdAt = await getDatabaseTime(service.db.pool)
  const after = (ms: number) => new Date(createdAt.getTime() + ms)
  const topup: NewTopup = {
    id: newId(createdAt),
    userId: session.userId,
    clientId: session.clientId,
    processor: cards.page.kind,
    amountMinor,
    currency: config.currency.code,
    createdAt,
    expiresAt: after(payableForMs),
  }
  const work = { kind: 'resolve-topup', key: topup.id, dueAt: after(firstAttemptMs) } as const
  const isInserted = await transact(service.db, async (tx) => {
    const isNew = await insertTopup(tx, topup)
    if (isNew) await addWork(tx, work)
    return isNew
  })
  if (!isInserted) return { kind: 'inactive' }
  service.metrics.topup('created')
  const payment = await order(service, topup)
  if (payment === undefined) return { kind: 'unavailable' }
  if (isRefusal(payment)) {
    await transact(service.db, async (tx) => {
      await updateTopupFailed(tx, topup.id, await getDatabaseTime(tx))
      await dropWork(tx, work.kind, work.key)
    })
    service.metrics.topup('failed')
    return { kind: 'amount-unsupported' }
  }
  await transact(service.db, async (tx) => {
    await updateTopupPayment(tx, topup.id, payment.id)
    await addWork(tx, work)
  })
  return { kind: 'created', payment, publishableKey: cards.page.publishableKey, expiresAt: topup.expiresAt }
}

/** Undefined when the processor did not answer. It may have made the payment, but no payer has its client secret. */
async function order(service: Service, topup: NewTopup) {
  const { id, userId, amountMinor, currency } = topup
  const names = { topupId: id, userId, idempotencyKey: `topup-${id}` }
  try {
    return await service.cards!.createPayment({ ...names, amountMinor, currency, description: 'Wallet top-up' })
  } catch (error) {
    if (!(error instanceof ProcessorUnavailable)) throw error
    service.log.warn('the card processor did not answer', { topupId: id, ...faultFields(error) })
    return undefined
  }
}
