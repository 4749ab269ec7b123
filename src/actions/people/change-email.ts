/**
 * Changes the email of an account. It takes two codes: one mailed to the old address, one to the new. Neither the answer nor its
 * time reveals whether the new address already has an account: its owner gets a mail that says so, without a code.
 */
import { networkOf } from '../../platform/address.ts'
import { sqlState, transact, uniqueViolation } from '../../store/connection/database.ts'
import { deleteEmailChange, updateEmailChangeTries, upsertEmailChange } from '../../store/people/email-changes.ts'
import { findLiveUser, getIdentity, lockUser, updateUserEmail } from '../../store/people/users.ts'
import type { Session } from '../../store/people/widget-sessions.ts'
import { recordAudit } from '../audit.ts'
import { addressHashes, type Limited } from '../limits.ts'
import { sendSoon, notify } from '../mails/notify.ts'
import type { Service } from '../service.ts'
import { newId, newMailedCode } from '../tokens.ts'
import { normaliseEmail } from './create-user.ts'
import { codeLifetimeMs, mailCode, maxTries, takeMailLimits, type Asked } from './mail-code.ts'
import { hashPassword, isPassword } from './passwords.ts'

export async function beginEmailChange(
  service: Service,
  session: Session,
  { email: asked, address, lang }: Asked,
): Promise<Limited | { readonly kind: 'mailed' | 'same' }> {
  const { pool } = service.db
  const user = await findLiveUser(pool, session.userId)
  const email = normaliseEmail(asked)
  if (!user || user.email === email) return { kind: 'same' }
  const identity = await getIdentity(pool, email, await addressHashes(service, address))
  const own = await getIdentity(pool, user.email, await addressHashes(service, address))
  const limited =
    (await takeMailLimits(service, user.email, address, own)) ??
    // The new address always gets the limits of an unknown network, even if its owner has signed in from here.
    (await takeMailLimits(service, email, address, { isKnownAddress: false }))
  if (limited) return limited
  const [oldCode, newCode] = [newMailedCode(), newMailedCode()]
  const oldCodeHash = await hashPassword(service, oldCode)
  const newCodeHash = await hashPassword(service, newCode)
  const change = { id: newId(), email, oldCodeHash, newCodeHash, lifetimeMs: codeLifetimeMs }
  await upsertEmailChange(pool, user.id, change)
  const language = user.language ?? lang
  mailCode(service, user.email, language, { kind: 'change-old', code: oldCode, newEmail: email })
  const appName = (await service.apps.find(session.clientId))?.name ?? ''
  mailCode(
    service,
    email,
    language,
    identity.userId ? { kind: 'taken', appName } : { kind: 'change-new', code: newCode },
  )
  return { kind: 'mailed' }
}

export type EmailChanged = Limited | { readonly kind: 'changed' | 'wrong-code' }

/** Repeating a change that was made reports success. */
export async function confirmEmailChange(
  service: Service,
  session: Session,
  attempt: { email: string; oldCode: string; newCode: string; address: string },
): Promise<EmailChanged> {
  const { userId, clientId } = session
  const { address } = attempt
  const email = normaliseEmail(attempt.email)
  const before = await findLiveUser(service.db.pool, userId)
  if (before?.email === email) return { kind: 'changed' }
  const where = networkOf(address)
  const retryAfterSeconds = service.wrongCodes.waitOf(where, service.now())
  if (retryAfterSeconds) return { kind: 'limited', retryAfterSeconds }
  const change = await updateEmailChangeTries(service.db.pool, userId, maxTries)
  // Compare both codes in every case, so that neither the answer nor its time reveals which one is wrong.
  const isOldRight = await isPassword(service, attempt.oldCode, change?.oldCodeHash)
  const isNewRight = await isPassword(service, attempt.newCode, change?.newCodeHash)
  if (!change || change.email !== email || !isOldRight || !isNewRight) {
    service.wrongCodes.count(where, service.now())
    return { kind: 'wrong-code' }
  }
  const isChanged = await makeChange(service, { userId, clientId, address, email, changeId: change.id })
  if (!isChanged) return { kind: 'wrong-code' }
  sendSoon(service)
  return { kind: 'changed' }
}

type Change = { userId: string; clientId: string; address: string; email: string; changeId: string }

/** False when the change was replaced or used, or another user has taken the address since. */
async function makeChange(service: Service, change: Change): Promise<boolean> {
  const { userId, clientId, address, email, changeId } = change
  try {
    return await transact(service.db, async (tx) => {
      const user = await lockUser(tx, userId)
      if (!user || !(await deleteEmailChange(tx, userId, changeId))) return false
      await updateUserEmail(tx, userId, email)
      await recordAudit(tx, { name: `user:${userId}`, address }, 'user.email-changed', `user:${userId}`, { clientId })
      const notification = { kind: 'email-changed', at: service.now().toISOString(), newEmail: email } as const
      await notify(tx, userId, notification, { id: changeId, email: user.email })
      return true
    })
  } catch (error) {
    if (sqlState(error) === uniqueViolation) return false
    throw error
  }
}
