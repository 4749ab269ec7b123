/** Begins a top-up: inserts our row first and then orders the payment, so that every payment has its row. */
import { isRefusal, ProcessorUnavailable, type Payment } from '../../cards/processor.ts'
import { faultFields } from '../../platform/log.ts'
import { maxBalanceMinor } from '../../ledger/money.ts'
import { getDatabaseTime, transact } from '../../store/connection/database.ts'
import type { Session } from '../../store/people/widget-sessions.ts'
import {
  findTopupByPayment,
  insertTopup,
  updateTopupFailed,
  updateTopupPayment,
  type NewTopup,
} from '../../store/topups.ts'
import { hasNewerOpenTopup } from '../../store/user-topups.ts'
import { addWork, dropWork } from '../../store/work/work.ts'
import type { Limited } from '../limits.ts'
import type { Service } from '../service.ts'
import { endOpenPayments, endPayment, type EndedPayments } from './open-payments.ts'
import { findDeclineLimit, takeOrder, takeTopup } from './topup-limits.ts'
import { newId } from '../tokens.ts'

export type CreatedTopup =
  | {
      readonly kind: 'created'
      readonly payment: Payment
      readonly publishableKey: string
      readonly expiresAt: Date
    }
  | Limited
  | { readonly kind: 'unknown' }
  | { readonly kind: 'amount-out-of-bounds' | 'amount-unsupported' | 'balance-limit' | 'inactive' | 'unavailable' }

const payableForMs = 60 * 60_000
const firstAttemptMs = 60_000

/**
 * With `replaces`, this becomes the only open payment of the user in this app: the amount of the named payment changes, or every open
 * payment is cancelled first. Null if the page has no payment.
 */
export async function createTopup(
  service: Service,
  session: Session,
  amountMinor: bigint,
  replaces?: string | null,
): Promise<CreatedTopup> {
  const { cards, config } = service
  const { minMinor, maxMinor } = config.topup
  if (amountMinor < minMinor || amountMinor > maxMinor) return { kind: 'amount-out-of-bounds' }
  // A user who owes must be able to pay: the credit ends a freeze for debt, in the transaction that brings the balance to zero.
  if (session.frozenFor !== null && session.frozenFor !== 'debt') return { kind: 'inactive' }
  if (session.balanceMinor + amountMinor > maxBalanceMinor) return { kind: 'balance-limit' }
  if (!cards) return { kind: 'unavailable' }
  if (replaces === undefined) {
    return (await takeTopup(service, session)) ?? (await beginTopup(service, session, { amountMinor, isOnly: false }))
  }
  try {
    return await createOnlyTopup(service, session, amountMinor, replaces)
  } catch (error) {
    if (!(error instanceof ProcessorUnavailable)) throw error
    service.log.warn('the card processor did not answer', { userId: session.userId, ...faultFields(error) })
    return { kind: 'unavailable' }
  }
}

/** Another amount before the first attempt is not a new top-up for the limits: they count attempts to pay. */
async function createOnlyTopup(
  service: Service,
  session: Session,
  amountMinor: bigint,
  replaces: string | null,
): Promise<CreatedTopup> {
  const { userId, clientId } = session
  const named = replaces === null ? undefined : await findTopupByPayment(service.db.pool, replaces)
  if (replaces !== null && (named?.userId !== userId || named.clientId !== clientId)) return { kind: 'unknown' }
  const limited = (await takeOrder(service, userId)) ?? (await findDeclineLimit(service, userId))
  if (limited) return limited
  const wanted = replaces === null ? undefined : { keep: replaces, amountMinor }
  const ended = await endOpenPayments(service, session, { wanted })
  if (ended.kind !== 'ended') return answerOf(service, ended)
  return (
    (ended.isUntried ? undefined : await takeTopup(service, session)) ??
    (await beginTopup(service, session, { amountMinor, isOnly: true }))
  )
}

function answerOf(service: Service, found: Exclude<EndedPayments, { kind: 'ended' }>): CreatedTopup {
  if (found.kind === 'unavailable') return found
  const { topup, payment } = found
  const { publishableKey } = service.cards!.page
  return { kind: 'created', payment, publishableKey, expiresAt: topup.expiresAt }
}

async function beginTopup(
  service: Service,
  { userId, clientId }: Session,
  { amountMinor, isOnly }: { amountMinor: bigint; isOnly: boolean },
): Promise<CreatedTopup> {
  const { page } = service.cards!
  const createdAt = await getDatabaseTime(service.db.pool)
  const after = (ms: number) => new Date(createdAt.getTime() + ms)
  const topup: NewTopup = {
    id: newId(createdAt),
    userId,
    clientId,
    processor: page.kind,
    amountMinor,
    currency: service.config.currency.code,
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
  // Of two windows at once, each sees the row of the other here or after its own payment is stored.
  const ended = isOnly ? await endOpenPayments(service, topup, { except: topup.id }) : undefined
  if (ended && ended.kind !== 'ended') {
    await giveUp(service, topup.id)
    return answerOf(service, ended)
  }
  const payment = await order(service, topup)
  if (payment === undefined) return { kind: 'unavailable' }
  if (isRefusal(payment)) {
    await giveUp(service, topup.id)
    return { kind: 'amount-unsupported' }
  }
  await transact(service.db, async (tx) => {
    await updateTopupPayment(tx, topup.id, payment.id)
    await addWork(tx, work)
  })
  const { publishableKey } = page
  const created = { kind: 'created', payment, publishableKey, expiresAt: topup.expiresAt } as const
  if (!isOnly || !(await hasNewerOpenTopup(service.db.pool, topup))) return created
  const replaced = await endPayment(service, (await findTopupByPayment(service.db.pool, payment.id))!)
  return replaced.kind === 'ended'
    ? { ...created, payment: { ...payment, status: 'cancelled' } }
    : answerOf(service, replaced)
}

/** Ends a top-up that has no payment. */
async function giveUp(service: Service, id: string): Promise<void> {
  await transact(service.db, async (tx) => {
    await updateTopupFailed(tx, id, await getDatabaseTime(tx))
    await dropWork(tx, 'resolve-topup', id)
  })
  service.metrics.topup('failed')
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
