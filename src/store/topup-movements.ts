/** The movements of a top-up: what to post to the ledger, and what was posted. */
import type { Archived } from './closing/archived-entries.ts'
import { referenceKeyOf } from './outcomes.ts'
import { serviceNamespace } from '../ledger/reference.ts'
import type { Queryable, Transaction } from './connection/database.ts'
import { findTransferByReference, type Transfer } from './wallets.ts'
import { one } from './connection/rows.ts'

export type Movement = {
  readonly topupId: string
  /** Counts from 1 within each top-up. */
  readonly number: number
  readonly referenceType: string
  readonly referenceId: string
  readonly amountMinor: bigint
  readonly postedAt: Date | null
  /** The ledger's refusal of the credit. The ledger never refuses a reversal. */
  readonly refusal: string | null
}

const columns = `topup_id as "topupId", number, reference_type as "referenceType", reference_id as "referenceId",
  amount as "amountMinor", posted_at as "postedAt", refusal`

/** The caller holds the lock of the row in topups, so the next number is free. */
export async function countMovements(tx: Transaction, topupId: string): Promise<number> {
  const text = 'select count(*)::int as count from topup_movements where topup_id = $1'
  const { rows } = await tx.query<{ count: number }>(text, [topupId])
  return one(rows).count
}

export async function insertMovement(
  tx: Transaction,
  movement: Omit<Movement, 'postedAt' | 'refusal'>,
  at: Date,
): Promise<void> {
  const { topupId, number, referenceType, referenceId, amountMinor } = movement
  await tx.query(
    `insert into topup_movements (topup_id, number, reference_type, reference_id, amount, created_at)
     values ($1, $2, $3, $4, $5, $6)`,
    [topupId, number, referenceType, referenceId, amountMinor, at],
  )
}

/** In posting order. */
export async function listUnpostedMovements(db: Queryable, topupId: string): Promise<Movement[]> {
  const text = `select ${columns} from topup_movements where topup_id = $1 and posted_at is null order by number`
  return (await db.query<Movement>(text, [topupId])).rows
}

export async function listMovements(db: Queryable, topupId: string): Promise<Movement[]> {
  const text = `select ${columns} from topup_movements where topup_id = $1 order by number`
  return (await db.query<Movement>(text, [topupId])).rows
}

/** False when it was posted before. */
export async function updateMovementPosted(
  db: Queryable,
  { topupId, number }: Movement,
  at: Date,
  refusal: string | null,
): Promise<boolean> {
  const { rowCount } = await db.query(
    `update topup_movements set posted_at = $3, refusal = $4 where topup_id = $1 and number = $2 and posted_at is null`,
    [topupId, number, at, refusal],
  )
  return rowCount === 1
}

/** After the ledger refused the credit, the remaining movements are never posted, and an operator has to check the top-up. */
export async function updateCreditRefused(tx: Transaction, topupId: string, at: Date, refusal: string): Promise<void> {
  await tx.query(
    `update topups set problem = 'credit-refused', credited = 0, refunded = 0, disputed = 0, version = version + 1
     where id = $1`,
    [topupId],
  )
  await tx.query('update topup_movements set posted_at = $2, refusal = $3 where topup_id = $1 and posted_at is null', [
    topupId,
    at,
    refusal,
  ])
}

/** False when this event was received before. */
export async function insertProcessorEvent(
  tx: Transaction,
  event: { id: string; topupId: string; type: string; at: Date },
): Promise<boolean> {
  const { rowCount } = await tx.query(
    `insert into processor_events (id, topup_id, type, received_at) values ($1, $2, $3, $4) on conflict (id) do nothing`,
    [event.id, event.topupId, event.type, event.at],
  )
  return rowCount === 1
}

/** Whether the event was recorded with an answer of the processor, and nothing of the top-up is left to ask or to post. */
export async function isEventSettled(db: Queryable, eventId: string, topupId: string): Promise<boolean> {
  const { rows } = await db.query(
    `select from processor_events e join topups t on t.id = e.topup_id
     where e.id = $1 and t.id = $2 and t.state in ('succeeded', 'failed', 'cancelled')
       and not exists (select from topup_movements m where m.topup_id = t.id and m.posted_at is null)`,
    [eventId, topupId],
  )
  return rows.length === 1
}

/** The ledger's entry of the top-up's credit. */
export async function findTopupCredit(
  db: Queryable,
  paymentIntentId: string,
): Promise<Transfer | Archived | undefined> {
  const key = referenceKeyOf({ namespace: serviceNamespace, type: 'TOPUP', id: paymentIntentId })
  return await findTransferByReference(db, key)
}
