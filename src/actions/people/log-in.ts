/** Email and password → a link. An unknown email and a wrong password get the same answer after the same work. */
import { upsertAddress } from '../../store/people/addresses.ts'
import type { App } from '../../store/apps.ts'
import { transact } from '../../store/connection/database.ts'
import { upsertMailLanguage } from '../../store/mails.ts'
import { getIdentity, type Identity } from '../../store/people/users.ts'
import { connectApp, type SignedIn } from './manage-links.ts'
import { normaliseEmail } from './create-user.ts'
import { addressHashes, countWrongGuess, forgiveRightGuess, takeGuess, userPasswords, type Limited } from '../limits.ts'
import { ensureConfirmCode, type Asked } from './mail-code.ts'
import { sendSoon, notify } from '../mails/notify.ts'
import { isPassword } from './passwords.ts'
import { recordAudit } from '../audit.ts'
import type { Service } from '../service.ts'
import { addDevice, replaceDevice, type Browser } from './trust-device.ts'
import { newId } from '../tokens.ts'
import { browserName } from '../browser-name.ts'

export type LogIn = Asked &
  Browser & {
    readonly password: string
    /** Of a code that was mailed to this browser before. */
    readonly handle?: string | undefined
  }

export type LoggedIn =
  | SignedIn
  | Limited
  | { readonly kind: 'unconfirmed'; readonly handle: string }
  | { readonly kind: 'wrong' }

export async function logIn(service: Service, app: App, attempt: LogIn): Promise<LoggedIn> {
  const result = await tryPassword(service, app, attempt)
  const isRight = result.kind === 'connected' || result.kind === 'unconfirmed'
  service.metrics.signIn('user', isRight ? 'right' : result.kind)
  return result
}

async function tryPassword(service: Service, app: App, attempt: LogIn): Promise<LoggedIn> {
  const email = normaliseEmail(attempt.email)
  const identity = await getIdentity(service.db.pool, email, await addressHashes(service, attempt.address))
  const guess = { whose: email, address: attempt.address, isKnownAddress: identity.isKnownAddress }
  const limited = await takeGuess(service, userPasswords, guess)
  if (limited) return limited

  const isRight = await isPassword(service, attempt.password, identity.passwordHash)
  if (!identity.userId || !isRight) {
    const result = await logInUnconfirmed(service, app, attempt, identity)
    if (result.kind === 'wrong') await countWrongGuess(service, userPasswords, guess)
    return result
  }
  await forgiveRightGuess(service, userPasswords, guess)
  const { userId, passwordHash } = identity
  return (await signIn(service, app, attempt, { userId, passwordHash })) ?? { kind: 'wrong' }
}

async function signIn(
  service: Service,
  app: App,
  attempt: LogIn,
  { userId, passwordHash }: { userId: string; passwordHash: string | null },
): Promise<SignedIn | undefined> {
  const { address, userAgent, lang } = attempt
  const browser = browserName(userAgent)
  const signedIn = await transact(service.db, async (tx) => {
    const { clientId } = app
    const device = await addDevice(service, tx, { userId, clientId, passwordHash, hasPassword: true }, attempt)
    const connected = device && (await connectApp(tx, app, userId, address))
    if (!connected) return undefined
    await replaceDevice(tx, userId, attempt)
    const isNewAddress = await upsertAddress(tx, 'user', userId, await addressHashes(service, address))
    const detail = { clientId: app.clientId, browser }
    await recordAudit(tx, { name: `user:${userId}`, address }, 'user.signed-in', `user:${userId}`, detail)
    if (lang) await upsertMailLanguage(tx, userId, lang)
    const notification = { kind: 'sign-in', at: service.now().toISOString(), browser } as const
    if (isNewAddress) await notify(tx, userId, notification, { id: newId(), lang })
    return { connected: { ...connected, deviceToken: device.deviceToken }, isNewAddress }
  })
  if (signedIn?.isNewAddress) sendSoon(service)
  return signedIn?.connected
}

/**
 * Handles the password of an unconfirmed sign-up. The email may belong to a user and the sign-up to a stranger, so the answer and
 * the work are those for an unknown email. The attempt stays counted: otherwise a stranger could sign up with a user's email and
 * use that password to win back guesses at the user's own.
 */
async function logInUnconfirmed(
  service: Service,
  app: App,
  { email, password, address, lang, handle }: LogIn,
  { isSigningUp, signUpHash }: Identity,
): Promise<LoggedIn> {
  if (!isSigningUp || !(await isPassword(service, password, signUpHash))) return { kind: 'wrong' }
  const asked = { email: normaliseEmail(email), address, lang, handle }
  const mailed = await ensureConfirmCode(service, app, asked)
  return mailed.kind === 'limited' ? mailed : { kind: 'unconfirmed', handle: mailed.handle }
}
