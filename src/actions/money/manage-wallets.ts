/** Freezing and unfreezing a wallet. */
import { transact } from '../../store/connection/database.ts'
import { journalUserFact } from '../../store/events/journal.ts'
import { lockWallet, updateFreeze } from '../../store/wallets.ts'
import { recordAudit, type Actor } from '../audit.ts'
import type { WithDb } from '../service.ts'

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
    if (wallet.frozenFor === null) await journalUserFact(tx, 'wallet.frozen', walletId)
    await recordAudit(tx, actor, 'wallet.frozen', `wallet:${walletId}`, { reason })
    return 'done'
  })
}

/** A wallet with less than zero available stays frozen for its debt: only a credit, a top-up or the end of holds ends that. */
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
    const isInDebt = wallet.balanceMinor < wallet.heldMinor
    await updateFreeze(tx, walletId, isInDebt ? 'debt' : null, null)
    if (!isInDebt) await journalUserFact(tx, 'wallet.unfrozen', walletId)
    await recordAudit(tx, actor, 'wallet.unfrozen', `wallet:${walletId}`, { reason, isInDebt })
    return isInDebt ? 'in-debt' : 'done'
  })
}
