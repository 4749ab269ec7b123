/** A new password, for whoever can read the account's mail. */
import { upsertAddress } from '../../store/addresses.ts'
import type { App } from '../../store/apps.ts'
import { transact } from '../../store/database.ts'
import { deleteLinkCodesOfUser } from '../../store/links.ts'
import { updatePassword } from '../../store/users.ts'
import { connect } from './manage-links.ts'
import { normaliseEmail } from './create-user.ts'
import { addressHash, addressKey, clearLimit, userPasswords } from '../limits.ts'
import { checkCode, useCode } from './mail-code.ts'
import { passwordChangedMail } from '../mail-texts.ts'
import { hashPassword } from './passwords.ts'
import { record } from '../audit.ts'
import type { Service } from '../service.ts'
import type { Confirmed } from './sign-up.ts'

export async function resetPassword(
  service: Service,
  app: App,
  attempt: { email: string; code: string; password: string; address: string },
): Promise<Confirmed> {
  const email = normaliseEmail(attempt.email)
  const { address } = attempt
  const checked = await checkCode(service, 'reset', { email, code: attempt.code, address })
  if (!checked || 'kind' in checked) return checked ?? { kind: 'wrong-code' }
  const passwordHash = await hashPassword(service, attempt.password)
  const connected = await transact(service.db, async (tx) => {
    if (!(await useCode(tx, email, checked.id))) return undefined
    const user = await updatePassword(tx, email, passwordHash)
    if (!user) return undefined
    // A link code that was given for the old password a moment ago must not be worth anything any more.
    await deleteLinkCodesOfUser(tx, user.id)
    await upsertAddress(tx, 'user', user.id, addressHash(address))
    const actor = { name: `user:${user.id}`, address }
    await record(tx, actor, 'user.password-reset', `user:${user.id}`, { clientId: app.clientId })
    return await connect(tx, app, user.id)
  })
  if (!connected) return { kind: 'wrong-code' }
  await clearLimit(service, userPasswords.here, email, addressKey(address))
  service.mail.send(passwordChangedMail(app, email))
  return connected
}
