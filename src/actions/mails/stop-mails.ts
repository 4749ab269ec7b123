/**
 * The unsubscribe link of a mail, which works without signing in. It contains the user, the email that the mail went to and the kind of
 * mail, encrypted, so it cannot be guessed or altered, gives no other access, and needs no row. It ends with the account, with a change
 * of the email, because the old mailbox may be in other hands, and with its encryption key.
 */
import { listAuditOf } from '../../store/audit.ts'
import { transact, type Queryable } from '../../store/connection/database.ts'
import { findMailReader, mailChoices, updateMailChoice, type MailChoice, type MailReader } from '../../store/mails.ts'
import { recordAudit } from '../audit.ts'
import { browserName } from '../browser-name.ts'
import type { Acting } from '../people/trust-device.ts'
import { hashSecret, isUuid, newId } from '../tokens.ts'
import type { Service } from '../service.ts'
import { notify, sendSoon } from './notify.ts'

const sealContext = { purpose: 'mail-stop', id: 'link' }
export const stopPath = '/mails/stop'

export async function stopUrlOf(
  { secrets, config }: Service,
  { userId, email }: { readonly userId: string; readonly email: string },
  choice: MailChoice,
): Promise<string> {
  const token = await secrets.seal(`${choice} ${userId} ${markOf(email)}`, sealContext)
  return `${config.publicUrl}${stopPath}?token=${encodeURIComponent(token)}`
}

/** Keeps the link short. */
function markOf(email: string): string {
  return hashSecret(email).toString('hex').slice(0, 16)
}

export type StopLink = { readonly userId: string; readonly choice: MailChoice; readonly reader: MailReader }

/** Undefined when the token is invalid, or what it hangs on has ended. */
export async function readStopLink({ secrets, db }: Service, token: string): Promise<StopLink | undefined> {
  if (token.length > 400) return undefined
  const text = await secrets.unseal(token, sealContext).catch(() => '')
  const [choice, userId = '', mark] = text.split(' ')
  const known = mailChoices.find((each) => each === choice)
  const reader = known && isUuid(userId) ? await findMailReader(db.pool, userId) : undefined
  if (!known || !reader) return undefined
  const isSame = mark === undefined ? await hasFirstEmail(db.pool, userId) : mark === markOf(reader.email)
  return isSame ? { userId, choice: known, reader } : undefined
}

/** Links of older releases do not name the email: they end with the first change. */
async function hasFirstEmail(db: Queryable, userId: string): Promise<boolean> {
  const subject = `user:${userId}`
  const filter = { actions: ['user.email-changed'], before: undefined, limit: 1 }
  return (await listAuditOf(db, [subject, subject], filter)).length === 0
}

/** The kinds the user has unsubscribed from; undefined for a deleted user. */
export async function readMailChoices({ db }: Service, userId: string): Promise<readonly MailChoice[] | undefined> {
  return (await findMailReader(db.pool, userId))?.stopped
}

/** Mails that warn the user of another person's acts: stopping them needs the user's presence. */
export function isWarning(choice: MailChoice): boolean {
  return choice !== 'receipts'
}

/**
 * Returns the kinds the user is unsubscribed from afterwards; undefined for a deleted user. Safe to repeat. The user is mailed when
 * warnings stop: a mail with the link may have been forwarded. `clientId` is the app of the account's page; absent for a link.
 */
export async function chooseMail(
  service: Pick<Service, 'db' | 'now' | 'wakeUps'>,
  { userId, clientId }: { readonly userId: string; readonly clientId?: string },
  { choice, isWanted, address, userAgent, lang }: Acting & { choice: MailChoice; isWanted: boolean },
): Promise<readonly MailChoice[] | undefined> {
  const changed = await transact(service.db, async (tx) => {
    const before = await findMailReader(tx, userId)
    const stopped = before && (await updateMailChoice(tx, userId, choice, isWanted))
    if (!stopped) return undefined
    const isStopped = isWarning(choice) && !isWanted && !before.stopped.includes(choice)
    if (!isStopped) return { stopped, isStopped }
    const actor = { name: `user:${userId}`, address }
    await recordAudit(tx, actor, 'user.mails-stopped', `user:${userId}`, { ...(clientId && { clientId }), choice })
    const at = service.now().toISOString()
    const notification = { kind: 'mails-stopped', choice, at, browser: browserName(userAgent) } as const
    await notify(tx, userId, notification, { id: newId(), lang })
    return { stopped, isStopped }
  })
  if (changed?.isStopped) sendSoon(service)
  return changed?.stopped
}
