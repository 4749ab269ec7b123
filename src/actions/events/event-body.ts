/** An event as apps get it. It depends on rows that never change, so it is the same at every read. */
import { hash } from 'node:crypto'
import type { BillfoldEvent, HoldEventType, MovementEventType } from '../../../sdk/contract.ts'
import type { Currency } from '../../ledger/money.ts'
import { correctionType } from '../../ledger/reference.ts'
import type { RecordedEvent } from '../../store/events/feed.ts'
import { isServiceOwn } from '../../store/outcomes.ts'
import type { StepKind } from '../../store/writer/hold-book.ts'
import type { Transfer } from '../../store/wallets.ts'
import { toHoldBody } from '../money/hold-body.ts'
import { toTransaction } from '../money/transaction.ts'

export function toEvent(recorded: RecordedEvent, clientId: string, currency: Currency): BillfoldEvent {
  const { number, serviceUserId } = recorded
  const id = `evt_${hash('sha256', `event\0${clientId}\0${number}`, 'hex').slice(0, 32)}`
  if (recorded.fact === 'test.ping')
    return { id, number, timestamp: recorded.at.toISOString(), type: recorded.fact, data: {} }
  if (serviceUserId === null) throw new Error(`event ${number} of ${clientId} has no user`)
  if (recorded.fact !== null)
    return { id, number, timestamp: recorded.at.toISOString(), type: recorded.fact, data: { serviceUserId } }
  if ('hold' in recorded) {
    const { step, at, hold } = recorded.hold
    const data = { serviceUserId, ...toHoldBody(hold, hold, currency) }
    return { id, number, timestamp: at.toISOString(), type: step ? stepTypes[step] : 'hold.created', data }
  }
  const { transfer } = recorded
  const data = { serviceUserId, ...toTransaction(transfer, currency) }
  return { id, number, timestamp: data.createdAt, type: typeOf(transfer), data }
}

const stepTypes: Readonly<Record<StepKind, HoldEventType>> = {
  capture: 'hold.captured',
  void: 'hold.voided',
  expiry: 'hold.expired',
  extend: 'hold.extended',
  expiring: 'hold.expiring',
}

const serviceTypes: Readonly<Record<string, MovementEventType>> = {
  TOPUP: 'wallet.topped_up',
  TOPUP_REFUND: 'wallet.refunded',
  TOPUP_REFUND_RETURNED: 'wallet.refunded',
  TOPUP_DISPUTE: 'wallet.disputed',
  TOPUP_DISPUTE_RETURNED: 'wallet.disputed',
  [correctionType]: 'wallet.corrected',
}

/** An app may use the service's labels, so only the service's entries are read by them. */
function typeOf(transfer: Transfer): MovementEventType {
  const own = isServiceOwn(transfer) ? serviceTypes[transfer.referenceType] : undefined
  return own ?? (transfer.amountMinor < 0n ? 'wallet.debited' : 'wallet.credited')
}
