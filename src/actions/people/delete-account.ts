/**
 * Deletes a user and keeps the books. The wallet is closed under its row lock: a concurrent credit is either in the balance read
 * here, or finds the wallet closed.
 */
import { ProcessorUnavailable } from '../../cards/processor.ts'
import { transact, type Queryable, type Transaction } from '../../store/connection/database.ts'
import { journalUserFact } from '../../store/events/journal.ts'
import { findMailReader } from '../../store/mails.ts'
import { updateDeletionOvertaken } from '../../store/people/deletions.ts'
import { lockUser, updateUserDeleted, type LiveUser } from '../../store/people/users.ts'
import type { Session } from '../../store/people/widget-sessions.ts'
import { findUnresolved, listOpenTopups } from '../../store/topups.ts'
import { findWallet, lockWallet, updateFreeze, type WalletRow } from '../../store/wallets.ts'
import { recordAudit, type Actor } from '../audit.ts'
import type { Limited } from '../limits.ts'
import type { Service } from '../service.ts'
import { resolveTopup } from '../topups/resolve-topup.ts'
import { cancelUnpaid } from '../topups/topup-limits.ts'
import { addFarewell, sendSoon, type Farewell } from '../mails/notify.ts'
import { provePassword } from './prove-password.ts'

/** Reasons why an account cannot be deleted yet. */
export const keptReasons = ['hold', 'balance', 'debt', 'frozen', 'topup', 'dispute'] as const

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
  const actor = { name: `user:${userId}`, address }
  const reason = reasonOf((await findWallet(service.db.pool, userId))!)
  if (reason) return { kind: 'kept', reason }
  await cancelOpenTopups(service, actor, userId)
  const deletion = await transact(service.db, async (tx): Promise<Deletion> => {
    const user = await lockUser(tx, userId)
    if (!user || user.passwordHash !== proved.user.passwordHash) return { kind: 'wrong' }
    const kept = await closeAccount(tx, actor, user, { detail: { clientId }, notification: { kind: 'deleted' } })
    if (kept) return { kind: 'kept', reason: kept }
    await updateDeletionOvertaken(tx, userId, actor.name)
    return { kind: 'deleted' }
  })
  if (deletion.kind === 'deleted') announceDeletion(service, userId)
  return deletion
}

/**
 * Deletes the account in the transaction of the caller, who has locked the user. Returns why it must stay, and then nothing is changed.
 * Every deletion passes here, so all of them follow the same rules.
 */
export async function closeAccount(
  tx: Transaction,
  actor: Actor,
  user: LiveUser,
  { detail, notification }: { detail: Record<string, unknown>; notification: Farewell['notification'] },
): Promise<KeptReason | undefined> {
  const kept = reasonOf((await lockWallet(tx, user.id))!) ?? (await findUnresolved(tx, user.id))
  if (kept) return kept
  const reader = (await findMailReader(tx, user.id))!
  await updateFreeze(tx, user.id, 'closed', null)
  // Before the links end with the account.
  await journalUserFact(tx, 'user.deleted', user.id)
  const notes = await updateUserDeleted(tx, user)
  const whole = notes > 0 ? { ...detail, notesDeleted: notes } : detail
  await recordAudit(tx, actor, 'user.deleted', `user:${user.id}`, whole)
  await addFarewell(tx, reader, notification)
  return undefined
}

/** After the commit: open widgets see it at once, and the mail is sent. */
export function announceDeletion(service: Service, userId: string): void {
  service.live.poke(userId)
  sendSoon(service)
}

function reasonOf({ balanceMinor, heldMinor, frozenFor }: WalletRow): KeptReason | undefined {
  // Before the balance: what is held cannot be paid out.
  if (heldMinor > 0n) return 'hold'
  if (balanceMinor > 0n) return 'balance'
  if (balanceMinor < 0n) return 'debt'
  return frozenFor === null ? undefined : 'frozen'
}

/** An unpaid top-up must not block the deletion until it expires. A top-up that was paid meanwhile still blocks it. */
export async function cancelOpenTopups(service: Service, actor: Actor, userId: string): Promise<void> {
  const open = await listOpenTopups(service.db.pool, userId, maxOpenTopups)
  if (open.length === 0) return
  const topups = open.map(({ id }) => id)
  await recordAudit(service.db.pool, actor, 'user.topups-cancelled', `user:${userId}`, { topups })
  try {
    for (const id of topups) await cancelUnpaid(service, await resolveTopup(service, id))
  } catch (error) {
    if (!(error instanceof ProcessorUnavailable)) throw error
  }
}

/** The reason according to the database alone, without asking the card processor. */
export async function findKeptReason(db: Queryable, userId: string): Promise<KeptReason | undefined> {
  return reasonOf((await findWallet(db, userId))!) ?? (await findUnresolved(db, userId))
}
