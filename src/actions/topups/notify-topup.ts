/** Notifies a user of what a top-up changed in the wallet, or that it failed. */
import { receiptCodeOf } from '../../ledger/receipt-code.ts'
import type { Transaction } from '../../store/connection/database.ts'
import type { Outcome } from '../../store/outcomes.ts'
import type { Movement } from '../../store/topup-movements.ts'
import { isNewestTopup, type Topup } from '../../store/topups.ts'
import { notify } from '../mails/notify.ts'
import type { MovementType } from './topup-rules.ts'

const kinds = {
  TOPUP: 'topup',
  TOPUP_REFUND: 'refund',
  TOPUP_REFUND_RETURNED: 'returned',
  TOPUP_DISPUTE: 'dispute',
  TOPUP_DISPUTE_RETURNED: 'returned',
} as const satisfies Record<MovementType, string>

/** Call it in the one transaction that sets posted_at. */
export async function notifyMovement(
  tx: Transaction,
  { userId }: Topup,
  { topupId, number, referenceType, amountMinor }: Movement,
  { outcome, at }: { outcome: Outcome; at: Date },
): Promise<void> {
  const notification = {
    kind: kinds[referenceType as MovementType],
    amountMinor: String(amountMinor < 0n ? -amountMinor : amountMinor),
    balanceMinor: String(outcome.balanceMinor),
    ...(outcome.heldMinor > 0n && { heldMinor: String(outcome.heldMinor) }),
    receipt: receiptCodeOf(outcome.referenceKey),
    at: at.toISOString(),
  }
  await notify(tx, userId, notification, { id: `${topupId}:${number}` })
}

/**
 * Notifies of a declined card once the time to pay has run out: the payer saw the decline on the page and left. After a newer
 * top-up the user is notified of that one instead. Call it in the one transaction that stores the end.
 */
export async function notifyGivenUp(tx: Transaction, before: Topup, after: Topup): Promise<void> {
  const isEnd = before.state !== 'cancelled' && after.state === 'cancelled'
  const isTooLate = after.updatedAt >= after.expiresAt
  if (!isEnd || !isTooLate || after.declinedAt === null || !(await isNewestTopup(tx, after))) return
  await notify(tx, after.userId, { kind: 'declined', amountMinor: String(after.amountMinor) }, { id: after.id })
}
