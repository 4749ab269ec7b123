/**
 * A sign-up creates no account; confirming the mailed code does. An email that already has an account gets a pending sign-up
 * too, so that later answers are the same; its owner gets a mail about the existing account, without a code.
 */
import { networkOf } from '../../platform/address.ts'
import { upsertAddress } from '../../store/people/addresses.ts'
import type { App } from '../../store/apps.ts'
import { transact } from '../../store/connection/database.ts'
import { upsertMailLanguage } from '../../store/mails.ts'
import { deleteSignUp, upsertSignUp } from '../../store/people/sign-ups.ts'
import { getIdentity, insertUser } from '../../store/people/users.ts'
import { connectApp, type SignedIn } from './manage-links.ts'
import { normaliseEmail } from './create-user.ts'
import { addressHashes, type Limited } from '../limits.ts'
import {
  checkCode,
  mailCode,
  newCode,
  signUpMail,
  takeMailLimits,
  useCode,
  type Asked,
  type Mailed,
} from './mail-code.ts'
import { sendSoon, notify } from '../mails/notify.ts'
import { hashPassword, isPassword } from './passwords.ts'
import { recordAudit } from '../audit.ts'
import type { Service } from '../service.ts'
import { addDevice, replaceDevice, type Browser } from './trust-device.ts'
import { newId } from '../tokens.ts'

export type SignUpAttempt = Asked & {
  readonly password: string
  readonly firstName: string
  readonly lastName: string
}

const signUpLifetimeMs = 24 * 60 * 60_000

export async function signUp(service: Service, app: App, attempt: SignUpAttempt): Promise<Mailed> {
  const { password, firstName, lastName, address } = attempt
  const email = normaliseEmail(attempt.email)
  const { excess, secondsLeft } = service.signUps.count(networkOf(address), service.now())
  if (excess > 0) return { kind: 'limited', retryAfterSeconds: secondsLeft }
  const identity = await getIdentity(service.db.pool, email, await addressHashes(service, address))
  const limited = await takeMailLimits(service, email, address, identity)
  if (limited) return limited

  // Compare and hash in every case, so that the time reveals nothing about the email.
  const isSame = await isPassword(service, password, identity.signUpHash)
  const passwordHash = await hashPassword(service, password)
  const { code, handle } = await newCode(service, 'confirm', email)
  const waiting = { email, passwordHash, firstName, lastName, lifetimeMs: signUpLifetimeMs }
  await upsertSignUp(service.db.pool, waiting, isSame ? identity.signUpHash : null)
  mailCode(service, email, identity.language ?? attempt.lang, signUpMail(app, code, identity))
  return { kind: 'mailed', handle }
}

export type Confirmed = SignedIn | Limited | { readonly kind: 'wrong-code' }

/** Creates the account and its wallet, and signs the user in. */
export async function confirmEmail(
  service: Service,
  app: App,
  attempt: Asked & Browser & { code: string; handle: string },
): Promise<Confirmed> {
  const email = normaliseEmail(attempt.email)
  const { address, code, handle } = attempt
  const checked = await checkCode(service, 'confirm', { email, code, handle, address })
  if (!checked || 'kind' in checked) return checked ?? { kind: 'wrong-code' }
  const created = await transact(service.db, async (tx) => {
    if (!(await useCode(tx, checked))) return undefined
    const waiting = await deleteSignUp(tx, email)
    if (!waiting) return undefined
    const { passwordHash, firstName, lastName } = waiting
    const id = newId(service.now())
    if (!(await insertUser(tx, { id, email, passwordHash, firstName, lastName }))) return undefined
    await upsertAddress(tx, 'user', id, await addressHashes(service, address))
    const actor = { name: `user:${id}`, address }
    await recordAudit(tx, actor, 'user.signed-up', `user:${id}`, { clientId: app.clientId })
    // The code proves the mailbox. The password may have been given long before, and in another browser.
    const signIn = { userId: id, clientId: app.clientId, passwordHash, hasPassword: false }
    const device = await addDevice(service, tx, signIn, attempt)
    const connected = device && (await connectApp(tx, app, id, address))
    if (!connected) return undefined
    await replaceDevice(tx, id, attempt)
    const { lang } = attempt
    if (lang) await upsertMailLanguage(tx, id, lang)
    const notification = passwordHash === null ? ({ kind: 'no-password' } as const) : welcomeTo(app)
    await notify(tx, id, notification, { id, lang })
    return { ...connected, deviceToken: device.deviceToken }
  })
  if (!created) return { kind: 'wrong-code' }
  sendSoon(service)
  return created
}

function welcomeTo({ clientId }: App) {
  return { kind: 'welcome', clientId } as const
}
