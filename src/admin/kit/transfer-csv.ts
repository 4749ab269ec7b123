/** Ledger entries as lines of a CSV file. */
import { formatMinor, type Currency } from '../../ledger/money.ts'
import { magnitude } from '../../ledger/reference.ts'
import { transactionIdOf } from '../../store/outcomes.ts'
import type { Transfer } from '../../store/wallets.ts'
import { csvLine, plain, type Cell } from '../../web/csv.ts'

export const transferHead = [
  'sequence',
  'createdAt',
  'type',
  'amount',
  'balanceAfter',
  'currency',
  'counterAccount',
  'referenceType',
  'referenceId',
  'description',
  'transactionId',
]

/** `more` are the extra cells of the caller. */
export function transferLine(transfer: Transfer, currency: Currency, ...more: Cell[]): string {
  const { amountMinor } = transfer
  return csvLine([
    transfer.sequence,
    transfer.createdAt.toISOString(),
    amountMinor < 0n ? 'DEBIT' : 'CREDIT',
    plain(formatMinor(magnitude(amountMinor), currency)),
    plain(formatMinor(transfer.balanceAfterMinor, currency)),
    currency.code,
    transfer.counterAccount,
    transfer.referenceType,
    transfer.referenceId,
    transfer.description,
    transactionIdOf(transfer.referenceKey),
    ...more,
  ])
}
