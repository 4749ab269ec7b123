/**
 * Another email for the account: a code to the address there is and one to the new one, and both are needed. What is answered, and how
 * long it takes, never tells whether the new address has an account already: its owner is mailed that instead of a code.
 */
import { sqlState, transact, uniqueViolation } from '../../store/connection/database.ts'
import { deleteEmailChange, updateEmailChangeTries, upsertEmailChange } from '../../store/people/email-changes.ts'
import { findLiveUser, getIdentity, lockUser, updateUserEmail } from '../../store/people/users.ts'
import type { Session } from '../../store/people/widget-sessions.ts'
import { recordAudit } from '../audit.ts'
import { addressHash, addressKey, type Limited } from '../limits.ts'
import { sendSoon, notify } from '../mails/notify.ts'
import type { Service } from '../service.ts'
import { newId, newMailedCode } from '../tokens.ts'
import { normaliseEmail } from './create-user.ts'
import { codeLifetimeMs, mailCode, maxTries, takeMailLimits, type Asked, type Mailed } from './mail-code.ts'
import { hashPassword, isPassword } from './passwords.ts'

export async function beginEmailChange(
  service: Service,
  session: Session,
  { email: asked, address, lang }: Asked,
): Promise<Mailed | { readonly kind: 'same' }> {
  const { pool } = service.db
  const user = await findLiveUser(pool, session.userId)
  const email = normaliseEmail(asked)
  if (!user || user.email === email) return { kind: 'same' }
  const identity = await getIdentity(pool, email, addressHash(address))
  const own = await getIdentity(pool, user.email, addressHash(address))
  const limited =
    (await takeMailLimits(service, user.email, address, own)) ??
    // To the new address always as a stranger: that its owner signed in from here before is no reason to mail it more often.
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

/** A repeat of what was done already is done. */
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
  const where = addressKey(address)
  const retryAfterSeconds = service.wrongCodes.waitOf(where, service.now())
  if (retryAfterSeconds) return { kind: 'limited', retryAfterSeconds }
  const change = await updateEmailChangeTries(service.db.pool, userId, maxTries)
  // Both are compared whatever the first came to: which of the two is wrong is not told, not by the time either.
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

/** False when the change is not to be made any more, or somebody has signed up with the address since. */
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
