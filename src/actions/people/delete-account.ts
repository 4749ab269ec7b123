/**
 * Deletes a user and keeps the books. The wallet is closed under its row lock: a concurrent credit is either in the balance read
 * here, or finds the wallet closed.
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

/** Reasons why an account cannot be deleted yet. */
export const keptReasons = ['balance', 'debt', 'frozen', 'topup', 'dispute'] as const

export type KeptReason = (typeof keptReasons)[number]

export type Deletion =
  | Limited
  | { readonly kind: 'deleted' | 'wrong' }
  | { readonly kind: 'kept'; readonly reason: KeptReason }

/** More than a user leaves open within an hour, after which unpaid top-ups expire. */
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

/** An unpaid top-up must not block the deletion until it expires. A top-up that was paid meanwhile still blocks it. */
async function cancelOpenTopups(service: Service, userId: string): Promise<void> {
  try {
    for (const { id } of await listOpenTopups(service.db.pool, userId, maxOpenTopups))
      await cancelUnpaid(service, await resolveTopup(service, id))
  } catch (error) {
    if (!(error instanceof ProcessorUnavailable)) throw error
  }
}

/** The reason according to the database alone, without asking the card processor. */
export async function findKeptReason(db: Queryable, userId: string): Promise<KeptReason | undefined> {
  return reasonOf((await findWallet(db, userId))!) ?? (await findUnresolved(db, userId))
}
