/** Sets a new password with a mailed code. */
import { networkOf } from '../../platform/address.ts'
import { upsertAddress } from '../../store/people/addresses.ts'
import type { App } from '../../store/apps.ts'
import { transact } from '../../store/connection/database.ts'
import { deleteLinkCodesOfUser, updateLinksSignedOut } from '../../store/links.ts'
import { updateDevicesRevoked } from '../../store/people/devices.ts'
import { updateUserPassword } from '../../store/people/users.ts'
import { updateSessionsRevoked } from '../../store/people/widget-sessions.ts'
import { connectApp } from './manage-links.ts'
import { normaliseEmail } from './create-user.ts'
import { addressHashes, clearLimit, userPasswords } from '../limits.ts'
import { checkCode, useCode, type Asked } from './mail-code.ts'
import { sendSoon, notify } from '../mails/notify.ts'
import { hashPassword } from './passwords.ts'
import { recordAudit } from '../audit.ts'
import { browserName } from '../browser-name.ts'
import type { Service } from '../service.ts'
import { newId } from '../tokens.ts'
import { addDevice, replaceDevice, type Browser } from './trust-device.ts'
import type { Confirmed } from './sign-up.ts'

export async function resetPassword(
  service: Service,
  app: App,
  attempt: Asked & Browser & { code: string; handle: string; password: string },
): Promise<Confirmed> {
  const email = normaliseEmail(attempt.email)
  const { address, code, handle } = attempt
  const checked = await checkCode(service, 'reset', { email, code, handle, address })
  if (!checked || 'kind' in checked) return checked ?? { kind: 'wrong-code' }
  const passwordHash = await hashPassword(service, attempt.password)
  const changed = await transact(service.db, async (tx) => {
    if (!(await useCode(tx, checked))) return undefined
    const user = await updateUserPassword(tx, email, passwordHash)
    if (!user) return undefined
    // A link code issued with the old password must not work any more.
    await deleteLinkCodesOfUser(tx, user.id)
    // Every app that was signed in with the old password needs a new sign-in.
    await updateLinksSignedOut(tx, user.id)
    await updateSessionsRevoked(tx, user.id, 'password-changed')
    await updateDevicesRevoked(tx, user.id)
    await upsertAddress(tx, 'user', user.id, await addressHashes(service, address))
    const actor = { name: `user:${user.id}`, address }
    await recordAudit(tx, actor, 'user.password-reset', `user:${user.id}`, { clientId: app.clientId })
    const notification = {
      kind: 'password-changed',
      at: service.now().toISOString(),
      browser: browserName(attempt.userAgent),
    } as const
    await notify(tx, user.id, notification, { id: newId(), lang: attempt.lang })
    const signIn = { userId: user.id, clientId: app.clientId, passwordHash, hasPassword: true }
    const device = await addDevice(service, tx, signIn, attempt)
    const connected = device && (await connectApp(tx, app, user.id, address))
    await replaceDevice(tx, user.id, attempt)
    return connected && { user, connected: { ...connected, deviceToken: device.deviceToken } }
  })
  if (!changed) return { kind: 'wrong-code' }
  service.live.poke(changed.user.id)
  await clearLimit(service, userPasswords.here, email, networkOf(address))
  sendSoon(service)
  return changed.connected
}
