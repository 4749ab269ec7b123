/** Email and password → a link. An unknown email and a wrong password are one answer, after the same work. */
import type { App } from '../../store/apps.ts'
import { getIdentity, upsertUserAddress } from '../../store/users.ts'
import { connect, type Connected } from './manage-links.ts'
import { normaliseEmail } from './create-user.ts'
import { addressHash, settleRightGuess, takeGuess, userPasswords, type Limited } from '../limits.ts'
import { ensureConfirmCode } from './mail-code.ts'
import { isPassword } from './passwords.ts'
import type { Service } from '../service.ts'

export type LogIn = { readonly email: string; readonly password: string; readonly address: string }

export type LoggedIn = Connected | Limited | { readonly kind: 'unconfirmed' } | { readonly kind: 'wrong' }

export async function logIn(service: Service, app: App, attempt: LogIn): Promise<LoggedIn> {
  const email = normaliseEmail(attempt.email)
  const identity = await getIdentity(service.db.pool, email, addressHash(attempt.address))
  const guess = { whose: email, address: attempt.address, isKnownAddress: identity.isKnownAddress }
  const limited = await takeGuess(service, userPasswords, guess)
  if (limited) return limited

  const isRight = await isPassword(attempt.password, identity.passwordHash)
  if (!isRight || (!identity.userId && !identity.isSigningUp)) return { kind: 'wrong' }
  await settleRightGuess(service, userPasswords, guess)
  if (!identity.userId) {
    await ensureConfirmCode(service, app, email, attempt.address)
    return { kind: 'unconfirmed' }
  }
  await upsertUserAddress(service.db.pool, identity.userId, addressHash(attempt.address))
  return await connect(service.db.pool, app, identity.userId)
}
