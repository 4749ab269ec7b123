/** Derives the sandbox's bookings from its payments. The sandbox takes no fees. */
import type { AccountLine, LinePage, LineSpan } from '../src/cards/processor.ts'
import { decodePayment, type SandboxPayment } from './payment.ts'
import type { SandboxStore } from './payment-store.ts'

const paymentsPerPage = 100

/** Reads all payments, because an old one may have been refunded yesterday. */
export async function listLines(store: SandboxStore, { from, until, after = '' }: LineSpan): Promise<LinePage> {
  const rows = await store.listAfter(after, paymentsPerPage)
  // The panel's settings are a row in the same store.
  const payments = rows.filter(({ id }) => id.startsWith('pi_')).map(({ document }) => decodePayment(document))
  const lines = payments.flatMap(linesOf).filter(({ createdAt }) => createdAt >= from && createdAt < until)
  return { lines, next: rows.length < paymentsPerPage ? undefined : rows.at(-1)!.id }
}

function linesOf(payment: SandboxPayment): AccountLine[] {
  const { id, receivedMinor, refunds, dispute, createdAt, paidAt = createdAt } = payment
  const line = (name: string, kind: AccountLine['kind'], amountMinor: bigint, at = paidAt): AccountLine => ({
    id: `${id}:${name}`,
    kind,
    paymentIntentId: id,
    isOurs: true,
    amountMinor,
    feeMinor: 0n,
    createdAt: new Date(at),
  })
  const lines = refunds.map((refund) => line(refund.id, 'refund', -refund.amountMinor, refund.at))
  if (receivedMinor > 0n) lines.push(line('charge', 'charge', receivedMinor))
  if (dispute) lines.push(line('dispute', 'dispute', -dispute.amountMinor, dispute.openedAt))
  if (dispute?.state === 'won') lines.push(line('dispute-won', 'dispute', dispute.amountMinor, dispute.closedAt))
  return lines
}
