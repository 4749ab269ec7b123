/** Finds the first payment of every new link and notifies its user, at no cost to debits. */
import { notify, sendSoon } from '../actions/mails/notify.ts'
import type { Service } from '../actions/service.ts'
import { receiptCodeOf } from '../ledger/receipt-code.ts'
import { transact } from '../store/connection/database.ts'
import { takeFirstPayments } from '../store/people/new-links.ts'
import type { Piece } from '../store/work/work.ts'
import { done, usual, type Ended, type Kind } from './kind.ts'

async function run(service: Service, pieces: readonly Piece[]): Promise<Ended[]> {
  const { payments, afterMs } = await transact(service.db, async (tx) => {
    const search = await takeFirstPayments(
      tx,
      pieces.map(({ key }) => key),
    )
    for (const { linkId, clientId, connectedAt, transfer } of search.payments) {
      const notification = {
        kind: 'first-payment',
        clientId,
        amountMinor: String(-transfer.amountMinor),
        description: transfer.description,
        connectedAt: connectedAt.toISOString(),
        receipt: receiptCodeOf(transfer.referenceKey),
        at: transfer.createdAt.toISOString(),
      } as const
      await notify(tx, transfer.walletId, notification, { id: linkId })
    }
    return search
  })
  if (payments.length > 0) sendSoon(service)
  return pieces.map(({ key }) => {
    const wait = afterMs.get(key)
    return wait === undefined ? done : { kind: 'again', afterMs: wait }
  })
}

export const findFirstPayment: Kind = {
  ...usual,
  name: 'find-first-payment',
  // Many links wait for weeks, so one statement searches for a whole batch.
  batch: 100,
  concurrency: 1,
  run,
  retryAfterMs: () => 60_000,
}
