/** What a top-up's user is told: what came of it in the wallet, or that nothing did. */
import { receiptCodeOf } from '../../ledger/receipt-code.ts'
import type { Transaction } from '../../store/connection/database.ts'
import type { Outcome } from '../../store/outcomes.ts'
import type { Movement } from '../../store/topup-movements.ts'
import { isNewestTopup, type Topup } from '../../store/topups.ts'
import { tell } from '../mails/tell.ts'
import type { MovementType } from './topup-rules.ts'

const kinds = {
  TOPUP: 'topup',
  TOPUP_REFUND: 'refund',
  TOPUP_REFUND_RETURNED: 'returned',
  TOPUP_DISPUTE: 'dispute',
  TOPUP_DISPUTE_RETURNED: 'returned',
} as const satisfies Record<MovementType, string>

/** In the transaction that wrote posted_at, which only one does. */
export async function tellMovement(
  tx: Transaction,
  { userId }: Topup,
  { topupId, number, referenceType, amountMinor }: Movement,
  { outcome, at }: { outcome: Outcome; at: Date },
): Promise<void> {
  const fact = {
    kind: kinds[referenceType as MovementType],
    amountMinor: String(amountMinor < 0n ? -amountMinor : amountMinor),
    balanceMinor: String(outcome.balanceMinor),
    receipt: receiptCodeOf(outcome.referenceKey),
    at: at.toISOString(),
  }
  await tell(tx, userId, fact, { id: `${topupId}:${number}` })
}

/**
 * A card was declined, and the time to pay ran out with no other payment: whoever was on the page saw the decline, but nobody is
 * there any more. One who has begun another top-up since knows, and hears of that one's end. In the transaction that wrote the
 * end down, which only one does.
 */
export async function tellGivenUp(tx: Transaction, before: Topup, after: Topup): Promise<void> {
  const isEnd = before.state !== 'cancelled' && after.state === 'cancelled'
  const isTooLate = after.updatedAt >= after.expiresAt
  if (!isEnd || !isTooLate || after.declinedAt === null || !(await isNewestTopup(tx, after))) return
  await tell(tx, after.userId, { kind: 'declined', amountMinor: String(after.amountMinor) }, { id: after.id })
}
