/** Mailed codes of six digits. For an unknown address the same work is done, except for the mail. */
import { chooseLanguage } from '../../languages/languages.ts'
import type { App } from '../../store/apps.ts'
import type { Queryable } from '../../store/connection/database.ts'
import {
  deleteMailedCode,
  hasMailedCode,
  updateCodeTries,
  upsertMailedCode,
  type CodePurpose,
} from '../../store/people/mailed-codes.ts'
import { getIdentity, type Identity } from '../../store/people/users.ts'
import { normaliseEmail } from './create-user.ts'
import { addressHash, addressKey, mailsADay, mailsAnywhere, mailsHere, takeLimits, type Limited } from '../limits.ts'
import { writeCodeLetter, type CodeMail } from '../mails/write-letters.ts'
import { hashPassword, isPassword } from './passwords.ts'
import type { Service } from '../service.ts'
import { newId, newMailedCode } from '../tokens.ts'

export const codeLifetimeMs = 15 * 60_000
export const maxTries = 5

export type Mailed = { readonly kind: 'mailed' } | Limited

/** Mails a new code for an unconfirmed sign-up. */
export async function resendConfirmCode(service: Service, app: App, asked: Asked): Promise<Mailed> {
  return await sendCode(service, 'confirm', asked, (code, identity) =>
    identity.isSigningUp ? signUpMail(app, code, identity) : undefined,
  )
}

export async function sendResetCode(service: Service, app: App, asked: Asked): Promise<Mailed> {
  return await sendCode(service, 'reset', asked, (code, identity) => {
    if (identity.userId) return { kind: 'reset', appName: app.name, code }
    return identity.isSigningUp ? { kind: 'unconfirmed', appName: app.name } : undefined
  })
}

/** The mail about a sign-up. The owner of an existing account gets no code. */
export function signUpMail({ name: appName }: App, code: string, { userId }: Identity): CodeMail {
  return userId ? { kind: 'taken', appName } : { kind: 'confirm', appName, code }
}

export function mailCode(service: Service, to: string, lang: string | undefined, mail: CodeMail): void {
  const language = chooseLanguage(lang)
  service.mail.send({ to, language, letter: writeCodeLetter({ language, config: service.config }, mail) })
}

/** `address` is the IP address of the caller, `lang` the language of the page. */
export type Asked = { readonly email: string; readonly address: string; readonly lang?: string | undefined }

async function sendCode(
  service: Service,
  purpose: CodePurpose,
  asked: Asked,
  choose: (code: string, identity: Identity) => CodeMail | undefined,
): Promise<Mailed> {
  const email = normaliseEmail(asked.email)
  const identity = await getIdentity(service.db.pool, email, addressHash(asked.address))
  const limited = await takeMailLimits(service, email, asked.address, identity)
  if (limited) return limited
  const code = await newCode(service, purpose, email)
  const mail = choose(code, identity)
  if (mail) mailCode(service, email, identity.language ?? asked.lang, mail)
  return { kind: 'mailed' }
}

/** A sign-in before the confirmation mails a code only if the last one has expired or is used up. */
export async function ensureConfirmCode(service: Service, app: App, asked: Asked): Promise<void> {
  const isLive = await hasMailedCode(service.db.pool, asked.email, 'confirm', maxTries)
  if (!isLive) await resendConfirmCode(service, app, asked)
}

export async function takeMailLimits(
  service: Service,
  email: string,
  address: string,
  { isKnownAddress }: Pick<Identity, 'isKnownAddress'>,
): Promise<Limited | undefined> {
  const everywhere = [[mailsAnywhere, email] as const, [mailsADay, email] as const]
  return await takeLimits(service, [[mailsHere, email, addressKey(address)], ...(isKnownAddress ? [] : everywhere)])
}

/** Replaces the previous code. Only a slow hash protects six digits during their lifetime. */
export async function newCode(service: Service, purpose: CodePurpose, email: string): Promise<string> {
  const code = newMailedCode()
  const codeHash = await hashPassword(service, code)
  await upsertMailedCode(service.db.pool, { email, purpose, id: newId(), codeHash, lifetimeMs: codeLifetimeMs })
  return code
}

/** The id of the code, for `useCode`; undefined when the code is wrong. */
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

/** Deletes the code in the transaction that it authorizes: of two concurrent calls only one finds the row. */
export async function useCode(tx: Queryable, email: string, id: string): Promise<boolean> {
  return await deleteMailedCode(tx, id, email)
}
