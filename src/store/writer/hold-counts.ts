/** Counts what happened to holds, after its commit. */
import type { StepKind } from './hold-book.ts'
import type { HoldResult, PendingPosting } from './posting.ts'

export const holdCounts = ['created', 'captured', 'voided', 'expired', 'extended'] as const
export type HoldCount = (typeof holdCounts)[number]

/** A notice changes nothing. */
const countOf: Record<StepKind, HoldCount | undefined> = {
  capture: 'captured',
  void: 'voided',
  expiry: 'expired',
  extend: 'extended',
  expiring: undefined,
}

export function countHolds(
  count: (step: HoldCount) => void,
  answers: readonly (readonly [PendingPosting, HoldResult])[],
  steps: readonly StepKind[] = [],
): void {
  for (const [posting, result] of answers) if (posting.hold && isCreated(posting, result)) count('created')
  for (const step of steps) {
    const counted = countOf[step]
    if (counted) count(counted)
  }
}

function isCreated({ hold }: PendingPosting, result: HoldResult): boolean {
  return hold?.kind === 'reserve' && result.kind === 'outcome' && !result.replay && result.outcome.refusal === null
}
