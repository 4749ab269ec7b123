/** The kind of an account line. A separate file, so that reading a report file does not load the SDK. */
import type { LineKind } from '../processor.ts'

/** https://docs.stripe.com/reports/reporting-categories: the same in the API and in report files. */
const kinds: Readonly<Record<string, LineKind>> = {
  charge: 'charge',
  charge_failure: 'charge',
  partial_capture_reversal: 'charge',
  refund: 'refund',
  refund_failure: 'refund',
  dispute: 'dispute',
  dispute_reversal: 'dispute',
  fee: 'fee',
  payout: 'payout',
  payout_reversal: 'payout',
}

export function lineKindOf(reportingCategory: string): LineKind {
  return kinds[reportingCategory] ?? 'other'
}
