/** Six digits by mail. Everything but the mail itself happens for an unknown address too. */
import type { App } from '../../store/apps.ts'
import type { Queryable } from '../../store/database.ts'
import {
  deleteMailedCode,
  hasMailedCode,
  updateCodeTries,
  upsertMailedCode,
  type CodePurpose,
} from '../../store/mailed-codes.ts'
import { getIdentity, type Identity } from '../../store/users.ts'
import { normaliseEmail } from './create-user.ts'
import { addressHash, addressKey, mailsADay, mailsAnywhere, mailsHere, takeLimits, type Limited } from '../limits.ts'
import type { Mail } from '../mail.ts'
import { confirmMail, resetMail, takenMail, unconfirmedMail } from '../mail-texts.ts'
import { hashPassword, isPassword } from './passwords.ts'
import type { Service } from '../service.ts'
import { newId, newMailedCode } from '../tokens.ts'

const codeLifetimeMs = 15 * 60_000
const maxTries = 5

export type Mailed = { readonly kind: 'mailed' } | Limited

/** A new code for a sign-up that waits to be confirmed. */
export async function resendConfirmCode(service: Service, app: App, asked: Asked): Promise<Mailed> {
  return await sendCode(service, 'confirm', asked, (email, code, identity) =>
    identity.isSigningUp ? signUpMail(app, email, code, identity) : undefined,
  )
}

/** A code that lets the owner of the mailbox choose a new password. */
export async function sendResetCode(service: Service, app: App, asked: Asked): Promise<Mailed> {
  return await sendCode(service, 'reset', asked, (email, code, identity) => {
    if (identity.userId) return resetMail(app, email, code)
    return identity.isSigningUp ? unconfirmedMail(app, email) : undefined
  })
}

/** What the owner of the address reads about a sign-up. The code is of no use to one who has an account: it is not told. */
export function signUpMail(app: App, email: string, code: string, { userId }: Identity): Mail {
  return userId ? takenMail(app, email) : confirmMail(app, email, code)
}

export type Asked = { readonly email: string; readonly address: string }

async function sendCode(
  service: Service,
  purpose: CodePurpose,
  asked: Asked,
  write: (email: string, code: string, identity: Identity) => Mail | undefined,
): Promise<Mailed> {
  const email = normaliseEmail(asked.email)
  const identity = await getIdentity(service.db.pool, email, addressHash(asked.address))
  const limited = await takeMailLimits(service, email, asked.address, identity)
  if (limited) return limited
  const code = await newCode(service, purpose, email)
  const mail = write(email, code, identity)
  if (mail) service.mail.send(mail)
  return { kind: 'mailed' }
}

/** Someone who signs in before confirming gets a code only when the last one is of no more use. */
export async function ensureConfirmCode(service: Service, app: App, email: string, address: string): Promise<void> {
  const isLive = await hasMailedCode(service.db.pool, email, 'confirm', maxTries)
  if (!isLive) await resendConfirmCode(service, app, { email, address })
}

export async function takeMailLimits(
  service: Service,
  email: string,
  address: string,
  { isKnownAddress }: Identity,
): Promise<Limited | undefined> {
  const everywhere = [[mailsAnywhere, email] as const, [mailsADay, email] as const]
  return await takeLimits(service, [[mailsHere, email, addressKey(address)], ...(isKnownAddress ? [] : everywhere)])
}

/** Replaces the one before. Six digits are so few that only a slow hash hides them for the minutes they live. */
export async function newCode(service: Service, purpose: CodePurpose, email: string): Promise<string> {
  const code = newMailedCode()
  const codeHash = await hashPassword(service, code)
  await upsertMailedCode(service.db.pool, { email, purpose, id: newId(), codeHash, lifetimeMs: codeLifetimeMs })
  return code
}

/** The id of the code, to be used up with what it allows; undefined when it is not the one that was mailed. */
export async function checkCode(
  service: Service,
  purpose: CodePurpose,
  { email, code, address }: { email: string; code: string; address: string },
): Promise<{ id: string } | Limited | undefined> {
  const where = addressKey(address)
  const retryAfterSeconds = service.wrongCodes.waitOf(where, service.now())
  if (retryAfterSeconds) return { kind: 'limited', retryAfterSeconds }
  const mailed = await updateCodeTries(service.db.pool, email, purpose, maxTries)
  if ((await isPassword(service, code, mailed?.codeHash)) && mailed) return { id: mailed.id }
  service.wrongCodes.count(where, service.now())
  return undefined
}

/** Deletes the code's row, in the transaction that does what the code allows: of two at once only one finds the row. */
export async function useCode(tx: Queryable, email: string, id: string): Promise<boolean> {
  return await deleteMailedCode(tx, id, email)
}
