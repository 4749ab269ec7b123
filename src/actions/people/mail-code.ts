/**
 * Mailed codes of six digits. For an unknown address the same work is done, except for the mail.
 *
 * A code works only together with the handle that the browser got when it asked. So a stranger who asks for codes, or enters
 * wrong ones, never ends the code of another browser. It allows no more guesses than one code per email did: each handle costs one
 * mail, a guess needs a live handle, and a handle has `maxTries` guesses. `mailsADay` mails × five tries are 150 guesses a day from
 * unknown addresses, however many handles, browsers and addresses share them.
 */
import { networkOf } from '../../platform/address.ts'
import { chooseLanguage } from '../../languages/languages.ts'
import type { App } from '../../store/apps.ts'
import type { Queryable } from '../../store/connection/database.ts'
import {
  deleteMailedCodes,
  hasMailedCode,
  insertMailedCode,
  updateCodeTries,
  type CodeKey,
  type CodePurpose,
} from '../../store/people/mailed-codes.ts'
import { getIdentity, type Identity } from '../../store/people/users.ts'
import { normaliseEmail } from './create-user.ts'
import { addressHashes, mailsADay, mailsAnywhere, mailsHere, takeLimits, type Limited } from '../limits.ts'
import { writeCodeLetter, type CodeMail } from '../mails/write-letters.ts'
import { hashPassword, isPassword } from './passwords.ts'
import type { Service } from '../service.ts'
import { hashSecret, newCodeHandle, newMailedCode } from '../tokens.ts'

export const codeLifetimeMs = 15 * 60_000
export const maxTries = 5

export type Mailed = { readonly kind: 'mailed'; readonly handle: string } | Limited

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
  const identity = await getIdentity(service.db.pool, email, await addressHashes(service, asked.address))
  const limited = await takeMailLimits(service, email, asked.address, identity)
  if (limited) return limited
  const { code, handle } = await newCode(service, purpose, email)
  const mail = choose(code, identity)
  if (mail) mailCode(service, email, identity.language ?? asked.lang, mail)
  return { kind: 'mailed', handle }
}

/** A sign-in before the confirmation mails no code to a browser whose last one still works. */
export async function ensureConfirmCode(
  service: Service,
  app: App,
  asked: Asked & { handle?: string | undefined },
): Promise<Mailed> {
  const { email, handle } = asked
  if (handle !== undefined && (await hasMailedCode(service.db.pool, keyOf('confirm', email, handle), maxTries)))
    return { kind: 'mailed', handle }
  return await resendConfirmCode(service, app, asked)
}

function keyOf(purpose: CodePurpose, email: string, handle: string): CodeKey {
  return { purpose, email, handleHash: hashSecret(handle) }
}

export async function takeMailLimits(
  service: Service,
  email: string,
  address: string,
  { isKnownAddress }: Pick<Identity, 'isKnownAddress'>,
): Promise<Limited | undefined> {
  const everywhere = [[mailsAnywhere, email] as const, [mailsADay, email] as const]
  return await takeLimits(service, [[mailsHere, email, networkOf(address)], ...(isKnownAddress ? [] : everywhere)])
}

/** Call `takeMailLimits` first: it bounds the handles of an email. Only a slow hash protects six digits during their lifetime. */
export async function newCode(
  service: Service,
  purpose: CodePurpose,
  email: string,
): Promise<{ readonly code: string; readonly handle: string }> {
  const [code, handle] = [newMailedCode(), newCodeHandle()]
  const codeHash = await hashPassword(service, code)
  await insertMailedCode(service.db.pool, { ...keyOf(purpose, email, handle), codeHash, lifetimeMs: codeLifetimeMs })
  return { code, handle }
}

/** The key of the code, for `useCode`; undefined when the code is wrong. */
export async function checkCode(
  service: Service,
  purpose: CodePurpose,
  { email, code, handle, address }: { email: string; code: string; handle: string; address: string },
): Promise<CodeKey | Limited | undefined> {
  const where = networkOf(address)
  const retryAfterSeconds = service.wrongCodes.waitOf(where, service.now())
  if (retryAfterSeconds) return { kind: 'limited', retryAfterSeconds }
  const key = keyOf(purpose, email, handle)
  const mailed = await updateCodeTries(service.db.pool, key, maxTries)
  // No code can be right without a live handle: the attempt costs no slow hash, and nothing of the limit of an address that the
  // owner may share. Known and unknown emails have handles alike, so the faster answer reveals nothing about the email.
  if (!mailed) return undefined
  if (await isPassword(service, code, mailed.codeHash)) return key
  service.wrongCodes.count(where, service.now())
  return undefined
}

/**
 * Deletes the code in the transaction that it authorizes: of two concurrent calls only one finds the row. The other codes of the
 * email and purpose end with it.
 */
export async function useCode(tx: Queryable, key: CodeKey): Promise<boolean> {
  return await deleteMailedCodes(tx, key)
}
