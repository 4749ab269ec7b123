/** Answers the page after the payer has acted. It trusts only the processor, never the browser. */
import type { Archived } from '../../store/closing/archived-entries.ts'
import { ProcessorUnavailable, type Payment, type PaymentStatus } from '../../cards/processor.ts'
import { faultFields } from '../../platform/log.ts'
import type { Session } from '../../store/people/widget-sessions.ts'
import { findTopupCredit } from '../../store/topup-movements.ts'
import { findTopupByPayment } from '../../store/topups.ts'
import { findWallet, type Transfer } from '../../store/wallets.ts'
import type { Limited } from '../limits.ts'
import type { Service } from '../service.ts'
import { resolveTopup } from './resolve-topup.ts'
import { findDeclineLimit, stopCardTesting, takeConfirm } from './topup-limits.ts'

export type ConfirmedTopup =
  | { readonly kind: 'credited'; readonly credit: Transfer | Archived; readonly heldMinor: bigint }
  | {
      readonly kind: 'open'
      readonly status: Exclude<PaymentStatus, 'succeeded'>
      readonly balanceMinor: bigint
      readonly heldMinor: bigint
      readonly nextAction: Payment['nextAction']
      /** Present while the payer can go on with it in this app's pages, also after a reload. */
      readonly open: OpenPayment | undefined
    }
  | { readonly kind: 'declined'; readonly declineCode: string; readonly declineMessage: string | undefined }
  | Limited
  | { readonly kind: 'unknown' }
  | { readonly kind: 'unavailable' }

export type OpenPayment = { readonly payment: Payment; readonly publishableKey: string; readonly expiresAt: Date }

export async function confirmTopup(
  service: Service,
  { userId, clientId }: Session,
  paymentIntentId: string,
): Promise<ConfirmedTopup> {
  const { pool } = service.db
  const topup = await findTopupByPayment(pool, paymentIntentId)
  if (topup?.userId !== userId) return { kind: 'unknown' }
  const before = await findTopupCredit(pool, paymentIntentId)
  if (before) return await describeCredit(service, before)
  const limited = await takeConfirm(service, userId)
  if (limited) return limited
  const payment = await look(service, topup.id)
  if (!payment) return { kind: 'unavailable' }
  const credit = await findTopupCredit(pool, paymentIntentId)
  if (credit) return await describeCredit(service, credit)
  if (payment.declineCode !== undefined) {
    const { declineCode, declineMessage } = payment
    return (await findDeclineLimit(service, userId)) ?? { kind: 'declined', declineCode, declineMessage }
  }
  // A payment that succeeded without a credit has a problem: the payer sees `processing`, and an operator has to check the top-up.
  const status = payment.status === 'succeeded' ? 'processing' : payment.status
  const { balanceMinor, heldMinor } = (await findWallet(pool, userId))!
  const isPayable = status === 'requires_payment_method' || status === 'requires_action'
  const { publishableKey } = service.cards!.page
  const open =
    isPayable && topup.clientId === clientId ? { payment, publishableKey, expiresAt: topup.expiresAt } : undefined
  return { kind: 'open', status, balanceMinor, heldMinor, nextAction: payment.nextAction, open }
}

/** With what is on hold now: of the balance after the credit, the rest is available. */
async function describeCredit({ db }: Service, credit: Transfer | Archived): Promise<ConfirmedTopup> {
  const { heldMinor } = (await findWallet(db.pool, credit.walletId))!
  return { kind: 'credited', credit, heldMinor }
}

async function look(service: Service, topupId: string): Promise<Payment | undefined> {
  try {
    const resolved = await resolveTopup(service, topupId)
    const declined = resolved.payment
    const { payment } = await stopCardTesting(service, resolved)
    // stopCardTesting may have cancelled the payment. The payer still gets the decline.
    return declined?.declineCode === undefined ? payment : declined
  } catch (error) {
    if (!(error instanceof ProcessorUnavailable)) throw error
    service.log.warn('the card processor did not answer', { topupId, ...faultFields(error) })
    return undefined
  }
}
