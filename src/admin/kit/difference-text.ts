/** A difference between the card processor and the ledger, in words. */
import type { Difference } from '../../store/books/reconciliation.ts'

type Told = Pick<Difference, 'kind' | 'processorMinor' | 'ledgerMinor'> & { readonly topupId: string | null }

export function differenceText({ kind, processorMinor, ledgerMinor, topupId }: Told): string {
  if (!topupId) return `a ${kind} that no top-up belongs to`
  if (ledgerMinor === 0n) return `a ${kind} that the ledger does not have`
  return processorMinor === 0n ? `a ${kind} that the processor does not have` : `a ${kind} of another amount`
}
