/** What kind of booking a line is. A file of its own, so that whoever reads the file of a report does not load the SDK. */
import type { LineKind } from '../processor.ts'

/** https://docs.stripe.com/reports/reporting-categories: the same words in the API and in the files of reports. */
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
