/** What follows when an endpoint keeps failing: mails to the admins after an hour and a day, and in the end it is disabled. */
import type { Transaction } from '../../store/connection/database.ts'
import { updateEndpointDisabled, updateMailsSent, type Endpoint } from '../../store/events/endpoints.ts'
import { listOperators } from '../../store/operators.ts'
import { recordAudit } from '../audit.ts'
import { addOperatorMail } from '../mails/operator-letters.ts'
import { disableAfterMs, mailsDue } from './delivery-rules.ts'

/** In the transaction that records the failure. True when the endpoint was disabled. */
export async function disableIfDue(tx: Transaction, endpoint: Endpoint, isGone: boolean): Promise<boolean> {
  const isTooLong = endpoint.failingMs >= disableAfterMs
  if (!isGone && !isTooLong) return false
  const reason = isGone ? 'gone' : 'failing'
  await updateEndpointDisabled(tx, endpoint.id, reason)
  await recordAudit(tx, { name: 'system', address: null }, 'endpoint.disabled', `app:${endpoint.clientId}`, {
    endpoint: endpoint.id,
    reason,
  })
  return true
}

/** For an endpoint whose row is locked. True when mails were added. */
export async function notifyOfFailure(
  tx: Transaction,
  { id: endpointId, failingMs, mailsSent }: Endpoint,
  isDisabled: boolean,
): Promise<boolean> {
  const due = mailsDue(failingMs, isDisabled)
  if (due === 0 || due <= mailsSent) return false
  await updateMailsSent(tx, endpointId, due)
  const admins = (await listOperators(tx)).filter(({ role, isActive }) => role === 'admin' && isActive)
  for (const { id } of admins)
    await addOperatorMail(tx, { kind: 'endpoint-failing', operatorId: id, endpointId, stage: due })
  return admins.length > 0
}
