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

/** Together for a batch, because a count costs the metrics more than a sum. */
export function countHolds(
  count: (step: HoldCount, times: number) => void,
  answers: readonly (readonly [PendingPosting, HoldResult])[],
  steps: readonly StepKind[] = [],
): void {
  let created = 0
  for (const [posting, result] of answers) if (posting.hold && isCreated(posting, result)) created++
  if (created > 0) count('created', created)
  for (const [step, alike] of Map.groupBy(steps, (kind) => countOf[kind])) if (step) count(step, alike.length)
}

function isCreated({ hold }: PendingPosting, result: HoldResult): boolean {
  return hold?.kind === 'reserve' && result.kind === 'outcome' && !result.replay && result.outcome.refusal === null
}
