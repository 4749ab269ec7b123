/**
 * The unsubscribe link of a mail, which works without signing in. It contains the user and the kind of mail, encrypted, so it
 * cannot be guessed or altered, gives no other access, and needs no row. It expires when its encryption key is removed.
 */
import { findMailReader, mailChoices, updateMailChoice, type MailChoice } from '../../store/mails.ts'
import { isUuid } from '../tokens.ts'
import type { Service } from '../service.ts'

const sealContext = { purpose: 'mail-stop', id: 'link' }
export const stopPath = '/mails/stop'

export async function stopUrlOf({ secrets, config }: Service, userId: string, choice: MailChoice): Promise<string> {
  const token = await secrets.seal(`${choice} ${userId}`, sealContext)
  return `${config.publicUrl}${stopPath}?token=${encodeURIComponent(token)}`
}

export type StopLink = { readonly userId: string; readonly choice: MailChoice }

/** Undefined when the token is invalid or its key was removed. */
export async function readStopLink({ secrets }: Service, token: string): Promise<StopLink | undefined> {
  if (token.length > 400) return undefined
  const text = await secrets.unseal(token, sealContext).catch(() => '')
  const [choice, userId = ''] = text.split(' ')
  const known = mailChoices.find((each) => each === choice)
  return known && isUuid(userId) ? { userId, choice: known } : undefined
}

/** The kinds the user has unsubscribed from; undefined for a deleted user. */
export async function readMailChoices({ db }: Service, userId: string): Promise<readonly MailChoice[] | undefined> {
  return (await findMailReader(db.pool, userId))?.stopped
}

/** Returns the kinds the user is unsubscribed from afterwards; undefined for a deleted user. Safe to repeat. */
export async function chooseMail(
  { db }: Service,
  userId: string,
  choice: MailChoice,
  isWanted: boolean,
): Promise<readonly MailChoice[] | undefined> {
  return await updateMailChoice(db.pool, userId, choice, isWanted)
}
