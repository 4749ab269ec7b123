/**
 * Checks the password of a signed-in user again. The attempts count against the limits of signing in, so an open wallet does
 * not help to guess the password.
 */
import { findLiveUser, getIdentity, type LiveUser } from '../../store/people/users.ts'
import type { Session } from '../../store/people/widget-sessions.ts'
import { addressHashes, countWrongGuess, forgiveRightGuess, takeGuess, userPasswords, type Limited } from '../limits.ts'
import type { Service } from '../service.ts'
import { isPassword } from './passwords.ts'

export type Proved = { readonly kind: 'right'; readonly user: LiveUser } | Limited | { readonly kind: 'wrong' }

export async function provePassword(
  service: Service,
  session: Session,
  { password, address }: { password: string; address: string },
): Promise<Proved> {
  const user = await findLiveUser(service.db.pool, session.userId)
  if (!user) return { kind: 'wrong' }
  const { isKnownAddress } = await getIdentity(service.db.pool, user.email, await addressHashes(service, address))
  const guess = { whose: user.email, address, isKnownAddress }
  const limited = await takeGuess(service, userPasswords, guess)
  if (limited) return limited
  if (!(await isPassword(service, password, user.passwordHash))) {
    await countWrongGuess(service, userPasswords, guess)
    return { kind: 'wrong' }
  }
  await forgiveRightGuess(service, userPasswords, guess)
  return { kind: 'right', user }
}
