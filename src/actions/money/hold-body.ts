/** Converts a hold to that of the API. */
import type { Hold as HoldBody } from '../../../sdk/contract.ts'
import { remainingOf, type HoldView } from '../../ledger/hold.ts'
import { majorNumber, type Currency } from '../../ledger/money.ts'
import type { HoldState } from '../../store/events/hold-events.ts'
import { holdIdOf } from '../../store/outcomes.ts'

export function toHold(hold: HoldView, currency: Currency): HoldBody {
  const takenMinor = hold.capturedMinor + hold.extraMinor
  return toHoldBody(hold, { takenMinor, remainingMinor: remainingOf(hold) }, currency)
}

type Sums = Pick<HoldState, 'takenMinor' | 'remainingMinor'>

export function toHoldBody(hold: Omit<HoldState, keyof Sums>, sums: Sums, currency: Currency): HoldBody {
  const major = (minor: bigint) => majorNumber(minor, currency)
  return {
    id: holdIdOf(hold.id),
    status: hold.status,
    amount: major(hold.amountMinor),
    captured: major(sums.takenMinor),
    remaining: major(sums.remainingMinor),
    currency: currency.code,
    referenceType: hold.referenceType,
    referenceId: hold.referenceId,
    description: hold.description,
    createdAt: hold.createdAt.toISOString(),
    expiresAt: hold.expiresAt.toISOString(),
    closedAt: hold.closedAt && hold.closedAt.toISOString(),
  }
}
