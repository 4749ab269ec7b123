/** How a top-up ended, or why it did not begin: one title and one sentence for each cause. A cause without texts does not compile. */
import type { PayKey } from '../../../languages/words.ts'
import type { Failure } from '../call.ts'
import type { IconName } from '../icons.tsx'
import { isSessionOver, type TopupState } from './use-topup-payment.ts'

/** What a button offers; the first one is the main button. */
type WayOn = 'leave' | 'receipt' | 'more' | 'again' | 'retry'

type Outcome = {
  readonly icon: IconName
  readonly tone?: 'bad'
  readonly isBusy?: boolean
  readonly title: PayKey
  readonly text: PayKey
  readonly ways: readonly WayOn[]
}

const paid = ['leave', 'receipt', 'more'] as const

export const outcomes = {
  topup: { icon: 'check', title: 'topupDoneTitle', text: 'topupDoneText', ways: paid },
  repayment: { icon: 'check', title: 'repaidTitle', text: 'repaidText', ways: paid },
  'part-repayment': { icon: 'check', title: 'repaidPartTitle', text: 'repaidPartText', ways: paid },
  'repayment-and-topup': { icon: 'check', title: 'repaidMoreTitle', text: 'repaidMoreText', ways: paid },
  processing: {
    icon: 'clock',
    isBusy: true,
    title: 'topupProcessingTitle',
    text: 'topupProcessingText',
    ways: ['leave'],
  },
  failed: { icon: 'alert', tone: 'bad', title: 'topupEndedTitle', text: 'topupEndedText', ways: ['again', 'leave'] },
  declined: { icon: 'alert', tone: 'bad', title: 'declinedTitle', text: 'declinedText', ways: ['again', 'leave'] },
  cancelled: { icon: 'alert', title: 'cancelledTitle', text: 'cancelledText', ways: ['again', 'leave'] },
  'too-many': { icon: 'clock', title: 'tooManyTitle', text: 'tooManyText', ways: ['leave', 'again'] },
  'too-much': { icon: 'alert', title: 'tooMuchTitle', text: 'tooMuchText', ways: ['again', 'leave'] },
  'no-amount': { icon: 'alert', title: 'noAmountTitle', text: 'noAmountText', ways: ['again', 'leave'] },
  unknown: { icon: 'alert', title: 'unknownTitle', text: 'unknownText', ways: ['again', 'leave'] },
  frozen: { icon: 'lock', title: 'frozenTitle', text: 'topupFrozenText', ways: ['leave'] },
  away: { icon: 'cloud', title: 'topupAwayTitle', text: 'topupAwayText', ways: ['retry', 'leave'] },
  unsure: { icon: 'cloud', isBusy: true, title: 'topupUnsureTitle', text: 'topupLands', ways: ['retry', 'leave'] },
} as const satisfies Record<string, Outcome>

export type OutcomeCause = keyof typeof outcomes

const causeOfCode: Readonly<Record<string, OutcomeCause>> = {
  WALLET_INACTIVE: 'frozen',
  RATE_LIMITED: 'too-many',
  CARD_DECLINED: 'declined',
  INVALID_AMOUNT: 'no-amount',
  BALANCE_LIMIT: 'too-much',
  PAYMENT_INTENT_NOT_FOUND: 'unknown',
  INVALID_REQUEST: 'unknown',
}

/** What a top-up did to a debt, by the ledger's own figures. */
export function repaymentOf({ available, amount }: { available: number; amount: number }): {
  cause: OutcomeCause
  repaid: number
  rest: number
} {
  const owed = Math.max(0, amount - available)
  if (owed <= 0) return { cause: 'topup', repaid: 0, rest: 0 }
  if (available < 0) return { cause: 'part-repayment', repaid: amount, rest: -available }
  return available === 0
    ? { cause: 'repayment', repaid: amount, rest: 0 }
    : { cause: 'repayment-and-topup', repaid: amount - available, rest: available }
}

/** Undefined for a session that is over, which has its own view. */
export function causeOf(
  state: Extract<TopupState, { kind: 'processing' | 'done' | 'ended' | 'refused' }>,
): OutcomeCause | undefined {
  if (state.kind === 'processing') return 'processing'
  if (state.kind === 'done') return repaymentOf(state).cause
  if (state.kind === 'ended') return state.cause
  return causeOfFailure(state)
}

function causeOfFailure({ failure, isAfterPaying }: { failure: Failure; isAfterPaying: boolean }) {
  if (isSessionOver(failure)) return undefined
  if (Object.hasOwn(causeOfCode, failure.code)) return causeOfCode[failure.code]!
  return isAfterPaying ? 'unsure' : 'away'
}
