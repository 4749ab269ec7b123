/** How many top-ups may be begun, and how many cards may be declined: what keeps stolen cards from being tried out here. */
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
/** Each may be a call to the processor, which limits us too; a page that waits asks a few dozen times. */
const confirmsPerUser = { name: 'confirms-of-user', limit: 200, windowMs: 10 * 60_000 }

/** Counts a new top-up, or says how long to wait with it. */
export async function takeTopup(service: Service, session: Session): Promise<Limited | undefined> {
  return (
    (await findDeclineLimit(service, session.userId)) ??
    (await takeLimit(service, perSession, session.tokenHash.toString('hex'))) ??
    (await takeLimit(service, perUser, session.userId))
  )
}

/** Counts a question about a top-up that is not decided yet. */
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
 * Further cards can be tried on an open payment without asking us, with the client secret alone: one payment too many
 * declines is cancelled at the processor.
 */
export async function stopCardTesting(service: Service, resolved: Resolved): Promise<Resolved> {
  const { topup, payment } = resolved
  if (payment?.declineCode === undefined || !(await findDeclineLimit(service, topup.userId))) return resolved
  return await cancelUnpaid(service, resolved)
}

/** The payer may just have paid: then the processor refuses, and what it says next is what counts. */
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
