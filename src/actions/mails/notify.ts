/**
 * NotifyOptions users what happened. A fact becomes a row where it is decided, in the same transaction; the row is sent in the
 * background by whichever process takes it first, and tried again for a day while the mail server is away. Nobody waits for it,
 * and a mail that is lost harms nobody: each is sent at most once.
 */
import { chooseLanguage } from '../../languages/languages.ts'
import { longRunning, type Queryable } from '../../store/connection/database.ts'
import {
  claimDueMails,
  findMailReader,
  insertMail,
  updateMailDue,
  type DueMail,
  type MailChoice,
} from '../../store/mails.ts'
import type { Service } from '../service.ts'
import { stopUrlOf } from './stop-mails.ts'
import { writeNotification, type Notification } from './write-letters.ts'

/** The notifications a user can opt out of. The others protect the account, or come once. */
const choices: Partial<Record<Notification['kind'], MailChoice>> = {
  topup: 'receipts',
  refund: 'receipts',
  returned: 'receipts',
  declined: 'receipts',
  'first-payment': 'payments',
  'sign-in': 'sign-ins',
}

/** A user who owes money is notified whatever they chose. */
function choiceOf(notification: Notification): MailChoice | undefined {
  const owes = notification.kind === 'refund' && BigInt(notification.balanceMinor) < 0n
  return owes ? undefined : choices[notification.kind]
}

export type NotifyOptions = {
  /** Unique within its kind: of two notifications with the same id one is sent. */
  readonly id: string
  /** The language of the page where it happened. */
  readonly lang?: string | undefined
  /** Another address than the user's own. */
  readonly email?: string
}

/** A user who travels signs in from a new address many times a day. */
const maxADay = (kind: Notification['kind']) => (kind === 'sign-in' ? 5 : 50)

/** Call it in the transaction of the cause, and `sendSoon` after the commit. */
export async function notify(
  db: Queryable,
  userId: string,
  notification: Notification,
  { id, lang, email }: NotifyOptions,
): Promise<void> {
  const { kind } = notification
  await insertMail(db, {
    fact: `${kind}:${id}`,
    userId,
    kind,
    detail: notification,
    email,
    language: lang,
    maxADay: maxADay(kind),
  })
}

/** Sends what is due now instead of at the next run of the job. */
export function sendSoon(service: Service): void {
  service.mail.soon(() => sendMails(longRunning(service)))
}

const atOnce = 8
const dayMs = 24 * 60 * 60_000

/** Until nothing is due, or the mail server does not answer. */
export async function sendMails(service: Service): Promise<void> {
  for (;;) {
    const due = await claimDueMails(service.db.pool, atOnce)
    const isAway = await Promise.all(due.map((mail) => sendOne(service, mail)))
    if (due.length < atOnce || isAway.includes(true)) return
  }
}

/** True when the mail server did not answer. */
async function sendOne(
  service: Service,
  { fact: key, userId, detail, email, language, tries }: DueMail,
): Promise<boolean> {
  const { db, config, log, mail } = service
  const notification = detail as Notification
  const reader = await findMailReader(db.pool, userId)
  const choice = choiceOf(notification)
  if (!reader || (choice && reader.stopped.includes(choice))) return false
  const to = chooseLanguage(reader.language, language, reader.pageLanguage)
  const apps = new Map((await service.apps.list()).map((app) => [app.clientId, app.name]))
  const nameOf = (clientId: string) => apps.get(clientId) ?? clientId
  const letter = writeNotification({ language: to, config }, notification, { firstName: reader.firstName, nameOf })
  const stopUrl = choice && (await stopUrlOf(service, userId, choice))
  const result = await mail.deliver({ to: email ?? reader.email, language: to, letter: { ...letter, stopUrl } })
  if (result !== 'away') return false
  const afterMs = Math.min(30_000 * 4 ** (tries - 1), 6 * 60 * 60_000)
  const isKept = await updateMailDue(db.pool, key, { afterMs, withinMs: dayMs })
  if (!isKept) log.error('a mail was given up', { kind: notification.kind, tries })
  return true
}
