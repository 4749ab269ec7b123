/** Changes the password of a user who knows the old one, and ends all other sessions of the account. */
import { transact } from '../../store/connection/database.ts'
import { deleteLinkCodesOfUser, updateLinksSignedOut } from '../../store/links.ts'
import { updateDevicesRevoked } from '../../store/people/devices.ts'
import { lockUser, updateUserPassword } from '../../store/people/users.ts'
import { updateSessionsRevoked, type Session } from '../../store/people/widget-sessions.ts'
import { recordAudit } from '../audit.ts'
import type { Limited } from '../limits.ts'
import { sendSoon, notify } from '../mails/notify.ts'
import type { Service } from '../service.ts'
import { newId } from '../tokens.ts'
import { findPasswordProblem } from './password-rules.ts'
import { hashPassword } from './passwords.ts'
import { provePassword } from './prove-password.ts'
import { browserName } from '../browser-name.ts'

export type PasswordChange =
  | Limited
  | { readonly kind: 'changed' | 'wrong' }
  | { readonly kind: 'weak'; readonly problem: string }

export async function changePassword(
  service: Service,
  session: Session,
  attempt: { password: string; newPassword: string; address: string; userAgent: string | null },
): Promise<PasswordChange> {
  const { password, newPassword, address } = attempt
  const proved = await provePassword(service, session, { password, address })
  if (proved.kind !== 'right') return proved
  const { email, passwordHash: provedHash } = proved.user
  const problem = findPasswordProblem(newPassword, email)
  if (problem) return { kind: 'weak', problem }
  const passwordHash = await hashPassword(service, newPassword)
  const { userId, linkId, clientId, tokenHash, deviceId } = session
  const isChanged = await transact(service.db, async (tx) => {
    const user = await lockUser(tx, userId)
    // Of two concurrent changes, the second proved a password that is no longer valid.
    if (!user || user.passwordHash !== provedHash) return false
    await updateUserPassword(tx, user.email, passwordHash)
    await deleteLinkCodesOfUser(tx, userId)
    await updateLinksSignedOut(tx, userId, { exceptLinkId: linkId })
    await updateSessionsRevoked(tx, userId, 'password-changed', { except: tokenHash })
    await updateDevicesRevoked(tx, userId, { exceptId: deviceId ?? undefined })
    await recordAudit(tx, { name: `user:${userId}`, address }, 'user.password-changed', `user:${userId}`, { clientId })
    const at = service.now().toISOString()
    await notify(tx, userId, { kind: 'password-changed', at, browser: browserName(attempt.userAgent) }, { id: newId() })
    return true
  })
  if (!isChanged) return { kind: 'wrong' }
  service.live.poke(userId)
  sendSoon(service)
  return { kind: 'changed' }
}
