/** Finds the first payment of every new link, so that its user hears of it. Debits know nothing of this. */
import { receiptCodeOf } from '../../ledger/receipt-code.ts'
import { transact } from '../../store/connection/database.ts'
import { takeFirstPayments } from '../../store/new-links.ts'
import type { Service } from '../service.ts'
import { sendSoon, notify } from './notify.ts'

const atOnce = 100

export async function findFirstPayments(service: Service): Promise<void> {
  for (;;) {
    const { payments, looked } = await transact(service.db, async (tx) => {
      const taken = await takeFirstPayments(tx, atOnce)
      for (const { linkId, clientId, connectedAt, transfer } of taken.payments) {
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
      return taken
    })
    if (payments.length > 0) sendSoon(service)
    if (looked < atOnce) return
  }
}
