/** A user's top-ups as their pages need them: those that may still be paid, those that are pending, and those that failed. */
import type { Queryable } from './connection/database.ts'
import { topupColumns, type NewTopup, type Topup } from './topups.ts'

/** The user's open top-ups in one app that have a payment, newest first. */
export async function listOpenPayments(
  db: Queryable,
  { userId, clientId }: Pick<Topup, 'userId' | 'clientId'>,
  limit: number,
): Promise<Topup[]> {
  const { rows } = await db.query<Topup>(
    `select ${topupColumns} from topups where user_id = $1 and client_id = $2 and state = 'created'
       and payment_intent_id is not null order by created_at desc, id desc limit $3`,
    [userId, clientId, limit],
  )
  return rows
}

/** True when the user has begun another top-up in the same app since, and it may still be paid. */
export async function hasNewerOpenTopup(
  db: Queryable,
  { id, userId, clientId, createdAt }: NewTopup,
): Promise<boolean> {
  const { rows } = await db.query(
    `select 1 from topups where user_id = $1 and client_id = $2 and state = 'created' and (created_at, id) > ($3, $4)
     limit 1`,
    [userId, clientId, createdAt, id],
  )
  return rows.length > 0
}

/** Top-ups that the payer considers paid and that the wallet does not have yet. Newest first. */
export async function listWaitingTopups(db: Queryable, userId: string, limit: number): Promise<Topup[]> {
  const text = `select ${topupColumns} from topups where user_id = $1 and state = 'processing' and problem is null
    and created_at > now() - interval '30 days' order by created_at desc limit $2`
  return (await db.query<Topup>(text, [userId, limit])).rows
}

/**
 * Top-ups of the last week that the payer tried to pay and that took no money. Newest first; of one app, or of all. The bank may
 * still get the payer's confirmation of an open one.
 */
export async function listFailedTopups(
  db: Queryable,
  { userId, clientId }: { userId: string; clientId: string | null },
  limit: number,
): Promise<Topup[]> {
  const text = `select ${topupColumns} from topups where user_id = $1 and created_at > now() - interval '7 days'
    and state in ('created', 'failed', 'cancelled') and failure is not null
    and (failure <> 'unconfirmed' or state <> 'created') and ($2::text is null or client_id = $2)
    order by created_at desc limit $3`
  return (await db.query<Topup>(text, [userId, clientId, limit])).rows
}
