/** Converts a ledger transfer to the contract's transaction. */
import type { Transaction } from '../../../sdk/contract.ts'
import { majorNumber, type Currency } from '../../ledger/money.ts'
import { transactionIdOf } from '../../store/outcomes.ts'
import type { Transfer } from '../../store/wallets.ts'

export function toTransaction(transfer: Transfer, currency: Currency): Transaction {
  const { amountMinor } = transfer
  const isDebit = amountMinor < 0n
  return {
    id: transactionIdOf(transfer.referenceKey),
    type: isDebit ? 'DEBIT' : 'CREDIT',
    amount: majorNumber(isDebit ? -amountMinor : amountMinor, currency),
    balanceAfter: majorNumber(transfer.balanceAfterMinor, currency),
    currency: currency.code,
    referenceType: transfer.referenceType,
    referenceId: transfer.referenceId,
    description: transfer.description,
    sequence: transfer.sequence,
    createdAt: transfer.createdAt.toISOString(),
  }
}
