/**
 * The link in a mail that stops mails of its kind, without signing in. It holds who and which kind, encrypted: nobody can guess or
 * alter it, it opens nothing else, and there is no row to keep for it. It ends when the key that encrypted it is taken away.
 */
import { findMailReader, mailChoices, updateMailChoice, type MailChoice } from '../../store/mails.ts'
import { isUuid } from '../tokens.ts'
import type { Service } from '../service.ts'

const place = { purpose: 'mail-stop', id: 'link' }
export const stopPath = '/mails/stop'

export async function stopUrlOf({ secrets, config }: Service, userId: string, choice: MailChoice): Promise<string> {
  const token = await secrets.seal(`${choice} ${userId}`, place)
  return `${config.publicUrl}${stopPath}?token=${encodeURIComponent(token)}`
}

export type StopLink = { readonly userId: string; readonly choice: MailChoice }

/** Undefined when it is none of ours, or too old. */
export async function readStopLink({ secrets }: Service, token: string): Promise<StopLink | undefined> {
  if (token.length > 400) return undefined
  const text = await secrets.unseal(token, place).catch(() => '')
  const [choice, userId = ''] = text.split(' ')
  const known = mailChoices.find((each) => each === choice)
  return known && isUuid(userId) ? { userId, choice: known } : undefined
}

/** What the user has stopped; undefined of one who is deleted. */
export async function readMailChoices({ db }: Service, userId: string): Promise<readonly MailChoice[] | undefined> {
  return (await findMailReader(db.pool, userId))?.stopped
}

/** What the user has stopped after it; undefined of one who is deleted. As often as anybody likes. */
export async function chooseMail(
  { db }: Service,
  userId: string,
  choice: MailChoice,
  isWanted: boolean,
): Promise<readonly MailChoice[] | undefined> {
  return await updateMailChoice(db.pool, userId, choice, isWanted)
}
