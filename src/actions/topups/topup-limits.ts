/** Limits new top-ups and declined cards, so that criminals cannot test stolen cards here. */
import { ProcessorUnavailable } from '../../cards/processor.ts'
import { getDatabaseTime } from '../../store/connection/database.ts'
import type { Session } from '../../store/people/widget-sessions.ts'
import { countDeclines } from '../../store/topups.ts'
import { takeLimit, type Limited } from '../limits.ts'
import type { Service } from '../service.ts'
import { resolveTopup, type Resolved } from './resolve-topup.ts'

const hourMs = 3_600_000

const perSession = { name: 'topups-of-session', limit: 10, windowMs: hourMs }
const perUser = { name: 'topups-of-user', limit: 20, windowMs: hourMs }
export const maxDeclinesAnHour = 10
/** Each may call the processor, which has a rate limit too. A waiting page asks a few dozen times. */
const confirmsPerUser = { name: 'confirms-of-user', limit: 200, windowMs: 10 * 60_000 }

/** Each may call the processor a few times. A person changes the amount a few times. */
const ordersPerUser = { name: 'topup-orders-of-user', limit: 120, windowMs: hourMs }

/** Counts a request for a payment, also one that only changes the amount. */
export async function takeOrder(service: Service, userId: string): Promise<Limited | undefined> {
  return await takeLimit(service, ordersPerUser, userId)
}

/** Counts a new top-up, or returns how long to wait. */
export async function takeTopup(service: Service, session: Session): Promise<Limited | undefined> {
  return (
    (await findDeclineLimit(service, session.userId)) ??
    (await takeLimit(service, perSession, session.tokenHash.toString('hex'))) ??
    (await takeLimit(service, perUser, session.userId))
  )
}

/** Counts a request about an undecided top-up. */
export async function takeConfirm(service: Service, userId: string): Promise<Limited | undefined> {
  return await takeLimit(service, confirmsPerUser, userId)
}

export async function findDeclineLimit(service: Service, userId: string): Promise<Limited | undefined> {
  const now = (await getDatabaseTime(service.db.pool)).getTime()
  const { count, firstAt } = await countDeclines(service.db.pool, userId, new Date(now - hourMs))
  if (count < maxDeclinesAnHour || !firstAt) return undefined
  return { kind: 'limited', retryAfterSeconds: Math.max(1, Math.ceil((firstAt.getTime() + hourMs - now) / 1000)) }
}

/**
 * With the client secret alone, a payer can try more cards on an open payment without asking us. Above the limit of declines we
 * cancel the payment at the processor.
 */
export async function stopCardTesting(service: Service, resolved: Resolved): Promise<Resolved> {
  const { topup, payment } = resolved
  if (payment?.declineCode === undefined || !(await findDeclineLimit(service, topup.userId))) return resolved
  return await cancelUnpaid(service, resolved)
}

/** The payer may just have paid: then the processor refuses to cancel, and the next answer decides. */
export async function cancelUnpaid(service: Service, resolved: Resolved): Promise<Resolved> {
  const { topup, payment } = resolved
  if (topup.state !== 'created' || !payment || !service.cards) return resolved
  try {
    await service.cards.cancelPayment(payment.id)
    return await resolveTopup(service, topup.id)
  } catch (error) {
    if (!(error instanceof ProcessorUnavailable)) throw error
    return resolved
  }
}
