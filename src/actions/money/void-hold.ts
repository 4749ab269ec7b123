/**
 * An operator voids a hold of an app: the money is available to the user again, and the app cannot capture it.
 *
 * One operator is enough, as for a freeze, which also takes from an app what it could have charged. Four eyes are for what gives
 * a person money or access: a void moves no money and adds no entry, the app may ask for a new hold or a debit at once, and the hold
 * would have ended by itself. The right is that of finance, as for the refund of a top-up, because it ends a claim to money and
 * cannot be undone.
 */
import { viewHold, type HoldView } from '../../ledger/hold.ts'
import { counterAccountOfApp } from '../../ledger/reference.ts'
import { transact } from '../../store/connection/database.ts'
import { bindForm, updateFormResult } from '../../store/operator-access/operator-forms.ts'
import { holdIdOf } from '../../store/outcomes.ts'
import { findHold } from '../../store/writer/stored-holds.ts'
import type { HoldResult } from '../../store/writer/posting.ts'
import { recordAudit, type Actor } from '../audit.ts'
import type { Service } from '../service.ts'

export type VoidOrder = {
  readonly holdId: string
  readonly reason: string
  /** A UUID that makes the order safe to repeat, and binds its hold and reason. */
  readonly formId: string
}

type Answered = { readonly kind: 'voided' } | { readonly kind: 'ended' }

export type VoidedByOperator =
  /** Also when it was voided before. `ended`: it was captured, or has expired. */
  | (Answered & { readonly hold: HoldView })
  | { readonly kind: 'unknown-hold' }
  /** The id belongs to an order with other content; nothing was done. */
  | { readonly kind: 'reused' }

/** Of a void and a capture at the same time, the lock on the wallet's row decides which is first. A frozen wallet does not matter. */
export async function voidHoldByOperator(service: Service, actor: Actor, order: VoidOrder): Promise<VoidedByOperator> {
  const { holdId, reason, formId } = order
  const seen = await findHold(service.db.pool, holdId)
  if (!seen) return { kind: 'unknown-hold' }
  const hold = viewHold(seen.hold, seen.at)
  const subject = `wallet:${hold.walletId}`
  const content = { hold: holdIdOf(holdId), reason }
  const detail = { ...content, clientId: hold.clientId, amountMinor: String(hold.amountMinor) }
  const bound = await transact(service.db, async (tx) => {
    const binding = await bindForm(tx, { id: formId, subject, content })
    // Recorded before the writer is asked, so that every void by an operator has its record.
    if (binding.kind === 'first') await recordAudit(tx, actor, 'hold.void-ordered', subject, detail)
    return binding
  })
  if (bound.kind === 'other') return { kind: 'reused' }
  if (bound.kind === 'repeat' && bound.result) return { ...(bound.result as Answered), hold }
  const result = await postVoid(service, actor, hold, reason)
  if (result.kind !== 'hold' && result.kind !== 'hold-refused') throw new Error(`a void was answered: ${result.kind}`)
  const answered: Answered = { kind: result.kind === 'hold' ? 'voided' : 'ended' }
  await transact(service.db, async (tx) => {
    const isFirst = await updateFormResult(tx, formId, answered)
    const isRefused = result.kind === 'hold-refused'
    if (isFirst && isRefused)
      await recordAudit(tx, actor, 'hold.void-refused', subject, { ...content, code: result.refusal })
  })
  return { ...answered, hold: result.hold ?? hold }
}

async function postVoid(service: Service, actor: Actor, hold: HoldView, reason: string): Promise<HoldResult> {
  const { walletId, id, clientId, referenceType, referenceId } = hold
  const result = await service.writer.postHold({
    by: { walletId },
    amountMinor: 0n,
    isReversal: false,
    referenceKey: id,
    counterAccount: counterAccountOfApp(clientId),
    referenceType,
    referenceId,
    description: null,
    hold: { kind: 'void', holdId: id, actor: actor.name, reason },
  })
  service.live.poke(walletId)
  return result
}
