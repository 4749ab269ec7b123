/**
 * A bonus: money of the service for a wallet. Its reference binds its content. One transaction decides whether it needs approval and
 * records exactly what is posted; every posting reads or repeats that record, so a later order with the reference never replaces it.
 */
import { serviceNamespace } from '../../ledger/reference.ts'
import { transact, type Transaction } from '../../store/connection/database.ts'
import { findCorrection, postWithinMs, type Correction } from '../../store/corrections.ts'
import { lockOperatorOrders } from '../../store/locks.ts'
import { bindForm, findForm, updateFormResult } from '../../store/operator-access/operator-forms.ts'
import { listFirstUses, referenceKeyOf, uuidOfReferenceKey } from '../../store/outcomes.ts'
import { findWallet } from '../../store/wallets.ts'
import { addWork, dropWork } from '../../store/work/work.ts'
import type { PostingResult } from '../../store/writer/posting.ts'
import { recordAudit, type Actor } from '../audit.ts'
import { personOf } from '../operators/independence.ts'
import type { Service } from '../service.ts'
import { insertAsked, isSameOrder, postCorrection, readAllowance } from './correct-wallet.ts'
import { postForService } from './post.ts'

export type Bonus = {
  readonly walletId: string
  readonly amountMinor: bigint
  readonly referenceId: string
  readonly reason: string
}

/** The reference belongs to a bonus with other content; nothing was done. */
type Reused = { readonly kind: 'reused'; readonly differs: readonly string[] }
type Waiting = { readonly kind: 'correction'; readonly correction: Correction }
type Granted = { readonly kind: 'granted' }

/**
 * A bonus that an operator asks for. Above the operator's limit it is a correction on `bonus`, which waits for a second operator. A
 * repeat keeps the first decision, even if the operator's sum has changed since.
 */
export async function askBonus(
  service: Service,
  actor: Actor,
  bonus: Bonus,
): Promise<PostingResult | Waiting | Reused> {
  return await orderBonus(service, actor, bonus, async (tx) => {
    const { leftMinor } = await readAllowance(service, tx, actor, bonus.referenceId)
    return bonus.amountMinor > leftMinor
  })
}

/** A bonus of the service itself, to which no operator's limit applies. */
export async function grantBonus(
  service: Service,
  actor: Actor,
  bonus: Bonus,
): Promise<PostingResult | Waiting | Reused> {
  return await orderBonus(service, actor, bonus, async () => false)
}

async function orderBonus(
  service: Service,
  actor: Actor,
  bonus: Bonus,
  needsApproval: (tx: Transaction) => Promise<boolean>,
): Promise<PostingResult | Waiting | Reused> {
  if (!(await findWallet(service.db.pool, bonus.walletId))) return { kind: 'unknown-user' }
  const decided = await transact(service.db, async (tx) => {
    return (await findEarlier(tx, bonus)) ?? (await decideBonus(tx, actor, bonus, needsApproval))
  })
  if (decided.kind === 'reused') return decided
  if (decided.kind === 'correction')
    return { kind: 'correction', correction: await postCorrection(service, actor, decided.correction) }
  return await postBonus(service, actor, bonus)
}

/** The first order with the reference decides. Concurrent ones wait in `bindForm`, and then find its content. */
async function decideBonus(
  tx: Transaction,
  actor: Actor,
  bonus: Bonus,
  needsApproval: (tx: Transaction) => Promise<boolean>,
): Promise<Granted | Waiting | Reused> {
  const id = idOf(bonus)
  const content = detailOf(bonus)
  const bound = await bindForm(tx, { id, subject: subjectOf(bonus), content })
  if (bound.kind === 'other') return { kind: 'reused', differs: bound.differs }
  if (bound.kind === 'repeat') return (await findEarlier(tx, bonus)) ?? { kind: 'granted' }
  await lockOperatorOrders(tx, personOf(actor.name))
  if (await needsApproval(tx)) {
    const correction = await insertAsked(tx, actor, correctionOf(bonus), true)
    return correction ? { kind: 'correction', correction } : { kind: 'reused', differs: [] }
  }
  await recordAudit(tx, actor, 'wallet.bonus-ordered', subjectOf(bonus), content)
  await addWork(tx, { kind: 'post-bonus', key: id, afterMs: postWithinMs })
  return { kind: 'granted' }
}

/** The correction or the ledger's outcome of this reference, also of a bonus that an older version granted. */
async function findEarlier(tx: Transaction, bonus: Bonus): Promise<Granted | Waiting | Reused | undefined> {
  const correction = await findCorrection(tx, idOf(bonus))
  if (correction)
    return isSameOrder(correction, correctionOf(bonus))
      ? { kind: 'correction', correction }
      : { kind: 'reused', differs: [] }
  const [first] = await listFirstUses(tx, [keyOf(bonus)])
  if (!first) return undefined
  const differs = [
    ...(first.walletId === bonus.walletId ? [] : ['subject']),
    ...(first.amountMinor === bonus.amountMinor ? [] : ['amountMinor']),
    ...(first.description === null || first.description === bonus.reason ? [] : ['reason']),
  ]
  return differs.length > 0 ? { kind: 'reused', differs } : { kind: 'granted' }
}

/** Safe to repeat, also in several processes at once: the ledger takes a reference once. */
async function postBonus(service: Service, actor: Actor, bonus: Bonus): Promise<PostingResult | Reused> {
  const { walletId, amountMinor, referenceId, reason } = bonus
  const result = await postForService(service, {
    walletId,
    counterAccount: 'bonus',
    amountMinor,
    referenceType: 'BONUS',
    referenceId,
    description: reason,
  })
  // Only an older version beside this one can have posted other content meanwhile.
  if (result.kind === 'outcome' && result.replay && result.replay.mismatch.length > 0)
    return { kind: 'reused', differs: result.replay.mismatch }
  const refusal = result.kind === 'outcome' ? result.outcome.refusal : 'WALLET_CLOSED'
  await transact(service.db, async (tx) => {
    const isFirst = await updateFormResult(tx, idOf(bonus), { refusal })
    if (isFirst && refusal === null)
      await recordAudit(tx, actor, 'wallet.bonus-granted', subjectOf(bonus), detailOf(bonus))
    await dropWork(tx, 'post-bonus', idOf(bonus))
  })
  return result
}

/** Posts what was recorded with the decision. */
export async function postOrderedBonus(service: Service, actor: Actor, id: string): Promise<void> {
  const form = await findForm(service.db.pool, id)
  if (!form) return
  const { amountMinor, referenceId, reason } = form.content
  const walletId = form.subject.slice('wallet:'.length)
  await postBonus(service, actor, {
    walletId,
    amountMinor: BigInt(amountMinor!),
    referenceId: referenceId!,
    reason: reason!,
  })
}

function keyOf({ referenceId }: Bonus): string {
  return referenceKeyOf({ namespace: serviceNamespace, type: 'BONUS', id: referenceId })
}

function idOf(bonus: Bonus): string {
  return uuidOfReferenceKey(keyOf(bonus))
}

function subjectOf({ walletId }: Bonus): string {
  return `wallet:${walletId}`
}

function correctionOf(bonus: Bonus) {
  const { walletId, amountMinor, reason } = bonus
  return { id: idOf(bonus), walletId, amountMinor, reason, counterAccount: 'bonus', corrects: null }
}

function detailOf({ amountMinor, referenceId, reason }: Bonus): Record<string, string> {
  return { amountMinor: String(amountMinor), referenceId, reason }
}
