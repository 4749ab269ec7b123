/** What an operator does to a wallet: freeze it, thaw it, grant a bonus. */
import { transact } from '../../store/database.ts'
import type { PostingResult } from '../../store/writer/posting.ts'
import { lockWallet, updateFreeze } from '../../store/wallets.ts'
import { postForService } from './post.ts'
import { record, type Actor } from '../audit.ts'
import type { Service } from '../service.ts'

export type FreezeResult = 'done' | 'unknown-wallet' | 'already' | 'in-debt' | 'closed'

export async function freezeWallet(
  service: Service,
  actor: Actor,
  walletId: string,
  reason: string,
): Promise<FreezeResult> {
  return await transact(service.db, async (tx) => {
    const wallet = await lockWallet(tx, walletId)
    if (!wallet) return 'unknown-wallet'
    if (wallet.frozenFor === 'closed') return 'closed'
    if (wallet.frozenFor === 'operator') return 'already'
    await updateFreeze(tx, walletId, 'operator', reason)
    await record(tx, actor, 'wallet.frozen', `wallet:${walletId}`, { reason })
    return 'done'
  })
}

/** A wallet below zero stays frozen for its debt: only money thaws that. */
export async function unfreezeWallet(
  service: Service,
  actor: Actor,
  walletId: string,
  reason: string,
): Promise<FreezeResult> {
  return await transact(service.db, async (tx) => {
    const wallet = await lockWallet(tx, walletId)
    if (!wallet) return 'unknown-wallet'
    if (wallet.frozenFor === 'closed') return 'closed'
    if (wallet.frozenFor === null) return 'already'
    if (wallet.frozenFor === 'debt') return 'in-debt'
    const isInDebt = wallet.balanceMinor < 0n
    await updateFreeze(tx, walletId, isInDebt ? 'debt' : null, null)
    await record(tx, actor, 'wallet.unfrozen', `wallet:${walletId}`, { reason, isInDebt })
    return isInDebt ? 'in-debt' : 'done'
  })
}

/** A gift from the service. The reference is the caller's, so that a repeated click grants once. */
export async function grantBonus(
  service: Service,
  actor: Actor,
  grant: { walletId: string; amountMinor: bigint; referenceId: string; reason: string },
): Promise<PostingResult> {
  const { walletId, amountMinor, referenceId, reason } = grant
  const detail = { amountMinor: String(amountMinor), referenceId, reason }
  // Before the money moves, which the writer does in a transaction of its own: no bonus is ever without an audit record.
  await record(service.db.pool, actor, 'wallet.bonus-ordered', `wallet:${walletId}`, detail)
  const result = await postForService(service, {
    walletId,
    counterAccount: 'bonus',
    amountMinor,
    referenceType: 'BONUS',
    referenceId,
    description: reason,
  })
  if (result.kind === 'outcome' && !result.replay && !result.outcome.refusal)
    await record(service.db.pool, actor, 'wallet.bonus-granted', `wallet:${walletId}`, detail)
  return result
}
