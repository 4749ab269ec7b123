/** Reads an account and changes its names and language. */
import { transact } from '../../store/connection/database.ts'
import { findLiveUser, lockUser, updateUserLanguage, updateUserNames, type LiveUser } from '../../store/people/users.ts'
import type { Session } from '../../store/people/widget-sessions.ts'
import { recordAudit } from '../audit.ts'
import type { WithDb } from '../service.ts'

/** Undefined when the user has just been deleted. */
export async function readAccount(service: WithDb, session: Session): Promise<LiveUser | undefined> {
  return await findLiveUser(service.db.pool, session.userId)
}

/** The audit record does not contain the names, because it outlives the account. */
export async function changeNames(
  service: WithDb,
  session: Session,
  { firstName, lastName, address }: { firstName: string; lastName: string; address: string },
): Promise<void> {
  const { userId, clientId } = session
  await transact(service.db, async (tx) => {
    const user = await lockUser(tx, userId)
    if (!user || (user.firstName === firstName && user.lastName === lastName)) return
    await updateUserNames(tx, userId, { firstName, lastName })
    await recordAudit(tx, { name: `user:${userId}`, address }, 'user.name-changed', `user:${userId}`, { clientId })
  })
}

export async function changeLanguage(service: WithDb, session: Session, language: string): Promise<void> {
  await updateUserLanguage(service.db.pool, session.userId, language)
}
