/** Email and password → a link. An unknown email and a wrong password are one answer, after the same work. */
import type { App } from '../../store/apps.ts'
import { getIdentity, upsertUserAddress, type Identity } from '../../store/users.ts'
import { connect, type Connected } from './manage-links.ts'
import { normaliseEmail } from './create-user.ts'
import {
  addressHash,
  addressKey,
  clearLimit,
  giveBackLimit,
  takeLimit,
  wrongPasswordsAnywhere,
  wrongPasswordsHere,
  type Limited,
} from '../limits.ts'
import { ensureConfirmCode } from './mail-code.ts'
import { isPassword } from './passwords.ts'
import type { Service } from '../service.ts'

export type LogIn = { readonly email: string; readonly password: string; readonly address: string }

export type LoggedIn = Connected | Limited | { readonly kind: 'unconfirmed' } | { readonly kind: 'wrong' }

export async function logIn(service: Service, app: App, attempt: LogIn): Promise<LoggedIn> {
  const email = normaliseEmail(attempt.email)
  const where = addressKey(attempt.address)
  const retryAfterSeconds = service.wrongPasswords.waitOf(where, service.now())
  if (retryAfterSeconds) return { kind: 'limited', retryAfterSeconds }
  const identity = await getIdentity(service.db.pool, email, addressHash(attempt.address))
  const limited = await takePasswordLimits(service, email, where, identity)
  if (limited) return limited

  const isRight = await isPassword(attempt.password, identity.passwordHash)
  if (!isRight || (!identity.userId && !identity.isSigningUp)) {
    service.wrongPasswords.count(where, service.now())
    return { kind: 'wrong' }
  }
  await clearLimit(service, wrongPasswordsHere, email, where)
  if (!identity.isKnownAddress) await giveBackLimit(service, wrongPasswordsAnywhere, email)
  if (!identity.userId) {
    await ensureConfirmCode(service, app, email, attempt.address)
    return { kind: 'unconfirmed' }
  }
  await upsertUserAddress(service.db.pool, identity.userId, addressHash(attempt.address))
  return await connect(service.db.pool, app, identity.userId)
}

async function takePasswordLimits(
  service: Service,
  email: string,
  where: string,
  { isKnownAddress }: Identity,
): Promise<Limited | undefined> {
  const limited = await takeLimit(service, wrongPasswordsHere, email, where)
  // Where the user has signed in before, the guesses of strangers elsewhere change nothing.
  return limited ?? (isKnownAddress ? undefined : await takeLimit(service, wrongPasswordsAnywhere, email))
}
