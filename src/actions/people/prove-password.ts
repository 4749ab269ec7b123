/**
 * Checks the password of a signed-in user again, and records on the device of the call that it was given there. The attempts count
 * against the limits of signing in, so an open wallet does not help to guess the password.
 */
import { findLiveUser, getIdentity, type LiveUser } from '../../store/people/users.ts'
import { updateDevicePassword } from '../../store/people/devices.ts'
import type { Session } from '../../store/people/widget-sessions.ts'
import {
  addressHashes,
  countWrongGuess,
  forgiveRightGuess,
  giveBackLimit,
  proofsOfApp,
  takeGuess,
  takeLimit,
  userPasswords,
  type Limited,
} from '../limits.ts'
import type { Service } from '../service.ts'
import { isPassword } from './passwords.ts'

export type Proved =
  /** Without `presenceUntil` the call came from no device of the user. */
  | { readonly kind: 'right'; readonly user: LiveUser; readonly presenceUntil: Date | undefined }
  | Limited
  | { readonly kind: 'wrong' }

export async function provePassword(
  service: Service,
  session: Session,
  { password, address }: { password: string; address: string },
): Promise<Proved> {
  const user = await findLiveUser(service.db.pool, session.userId)
  if (!user) return { kind: 'wrong' }
  const { isKnownAddress } = await getIdentity(service.db.pool, user.email, await addressHashes(service, address))
  const guess = { whose: user.email, address, isKnownAddress }
  const ofApp = [proofsOfApp, session.userId, session.clientId] as const
  const limitedApp = await takeLimit(service, ...ofApp)
  if (limitedApp) return limitedApp
  const limited = await takeGuess(service, userPasswords, guess)
  if (limited) {
    await giveBackLimit(service, ...ofApp)
    return limited
  }
  if (!(await isPassword(service, password, user.passwordHash))) {
    await countWrongGuess(service, userPasswords, guess)
    return { kind: 'wrong' }
  }
  await forgiveRightGuess(service, userPasswords, guess)
  await giveBackLimit(service, ...ofApp)
  const { deviceId } = session
  const presenceUntil = deviceId === null ? undefined : await updateDevicePassword(service.db.pool, deviceId)
  return { kind: 'right', user, presenceUntil }
}
