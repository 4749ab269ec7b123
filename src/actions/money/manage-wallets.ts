/** Freezing and unfreezing a wallet, and granting a bonus. */
import { transact, type Queryable } from '../../store/connection/database.ts'
import type { PostingResult } from '../../store/writer/posting.ts'
import { lockWallet, updateFreeze } from '../../store/wallets.ts'
import { postForService } from './post.ts'
import { recordAudit, type Actor } from '../audit.ts'
import type { Service, WithDb } from '../service.ts'

export type FreezeResult = 'done' | 'unknown-wallet' | 'already' | 'in-debt' | 'closed'

export async function freezeWallet(
  service: WithDb,
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
    await recordAudit(tx, actor, 'wallet.frozen', `wallet:${walletId}`, { reason })
    return 'done'
  })
}

/** A wallet below zero stays frozen for its debt: only a credit or a top-up ends that. */
export async function unfreezeWallet(
  service: WithDb,
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
    await recordAudit(tx, actor, 'wallet.unfrozen', `wallet:${walletId}`, { reason, isInDebt })
    return isInDebt ? 'in-debt' : 'done'
  })
}

export type Bonus = {
  readonly walletId: string
  readonly amountMinor: bigint
  readonly referenceId: string
  readonly reason: string
}

/** The caller gives the reference, so a repeat grants once. Bonuses that operators ask for go through correct-wallet. */
export async function grantBonus(service: Service, actor: Actor, bonus: Bonus): Promise<PostingResult> {
  await recordBonus(service.db.pool, actor, bonus)
  return await postBonus(service, actor, bonus)
}

/** Recorded before the writer moves the money in another transaction, so no bonus lacks an audit record. */
export async function recordBonus(db: Queryable, actor: Actor, bonus: Bonus): Promise<void> {
  await recordAudit(db, actor, 'wallet.bonus-ordered', `wallet:${bonus.walletId}`, detailOf(bonus))
}

function detailOf({ amountMinor, referenceId, reason }: Bonus): Record<string, string> {
  return { amountMinor: String(amountMinor), referenceId, reason }
}

export async function postBonus(service: Service, actor: Actor, bonus: Bonus): Promise<PostingResult> {
  const { walletId, amountMinor, referenceId, reason } = bonus
  const result = await postForService(service, {
    walletId,
    counterAccount: 'bonus',
    amountMinor,
    referenceType: 'BONUS',
    referenceId,
    description: reason,
  })
  if (result.kind === 'outcome' && !result.replay && !result.outcome.refusal)
    await recordAudit(service.db.pool, actor, 'wallet.bonus-granted', `wallet:${walletId}`, detailOf(bonus))
  return result
}
