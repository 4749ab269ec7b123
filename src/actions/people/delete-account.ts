/**
 * The end of an account: the person goes, the books stay. The wallet is closed under its lock, so that a credit that is under way is
 * either in the balance that is looked at here, or finds a wallet that takes no money any more.
 */
import { ProcessorUnavailable } from '../../cards/processor.ts'
import { transact, type Queryable } from '../../store/connection/database.ts'
import { lockUser, updateUserDeleted } from '../../store/people/users.ts'
import type { Session } from '../../store/people/widget-sessions.ts'
import { findUnresolved, listOpenTopups } from '../../store/topups.ts'
import { findWallet, lockWallet, updateFreeze, type WalletRow } from '../../store/wallets.ts'
import { recordAudit } from '../audit.ts'
import type { Limited } from '../limits.ts'
import type { Service } from '../service.ts'
import { resolveTopup } from '../topups/resolve-topup.ts'
import { cancelUnpaid } from '../topups/topup-limits.ts'
import { provePassword } from './prove-password.ts'
import { notifyUser } from './notify-user.ts'

/** Why an account cannot be deleted yet. */
export const keptReasons = ['balance', 'debt', 'frozen', 'topup', 'dispute'] as const

export type KeptReason = (typeof keptReasons)[number]

export type Deletion =
  | Limited
  | { readonly kind: 'deleted' | 'wrong' }
  | { readonly kind: 'kept'; readonly reason: KeptReason }

/** More than anybody leaves open in an hour, after which they end by themselves. */
const maxOpenTopups = 10

export async function deleteAccount(
  service: Service,
  session: Session,
  { password, address }: { password: string; address: string },
): Promise<Deletion> {
  const { userId, clientId } = session
  const proved = await provePassword(service, session, { password, address })
  if (proved.kind !== 'right') return proved
  const reason = reasonOf((await findWallet(service.db.pool, userId))!)
  if (reason) return { kind: 'kept', reason }
  await cancelOpenTopups(service, userId)
  const deletion = await transact(service.db, async (tx): Promise<Deletion> => {
    const user = await lockUser(tx, userId)
    if (!user || user.passwordHash !== proved.user.passwordHash) return { kind: 'wrong' }
    const found = reasonOf((await lockWallet(tx, userId))!) ?? (await findUnresolved(tx, userId))
    if (found) return { kind: 'kept', reason: found }
    await updateFreeze(tx, userId, 'closed', null)
    const notes = await updateUserDeleted(tx, user)
    const detail = notes > 0 ? { clientId, notesDeleted: notes } : { clientId }
    await recordAudit(tx, { name: `user:${userId}`, address }, 'user.deleted', `user:${userId}`, detail)
    return { kind: 'deleted' }
  })
  if (deletion.kind !== 'deleted') return deletion
  service.live.poke(userId)
  await notifyUser(service, proved.user, { kind: 'deleted' })
  return deletion
}

function reasonOf({ balanceMinor, frozenFor }: WalletRow): KeptReason | undefined {
  if (balanceMinor > 0n) return 'balance'
  if (balanceMinor < 0n) return 'debt'
  return frozenFor === null ? undefined : 'frozen'
}

/** A top-up that was begun and never paid must not hold up its user for an hour. One that was paid meanwhile stays. */
async function cancelOpenTopups(service: Service, userId: string): Promise<void> {
  try {
    for (const { id } of await listOpenTopups(service.db.pool, userId, maxOpenTopups))
      await cancelUnpaid(service, await resolveTopup(service, id))
  } catch (error) {
    if (!(error instanceof ProcessorUnavailable)) throw error
  }
}

/** What still keeps the account, as far as it can be told without asking anybody else. */
export async function findKeptReason(db: Queryable, userId: string): Promise<KeptReason | undefined> {
  return reasonOf((await findWallet(db, userId))!) ?? (await findUnresolved(db, userId))
}
