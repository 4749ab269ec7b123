/** Sends a mail that notifies a user. */
import { stopUrlOf } from '../actions/mails/stop-mails.ts'
import { availableAfter, writeNotification, type Notification } from '../actions/mails/write-letters.ts'
import type { Service } from '../actions/service.ts'
import { chooseLanguage } from '../languages/languages.ts'
import { findMailReader, updateMailTried, type MailChoice } from '../store/mails.ts'
import type { Piece } from '../store/work/work.ts'
import { done, single, usual, type Ended, type Kind } from './kind.ts'

/** The notifications a user can opt out of. The others protect the account, or are sent once. */
const choices: Partial<Record<Notification['kind'], MailChoice>> = {
  topup: 'receipts',
  refund: 'receipts',
  returned: 'receipts',
  declined: 'receipts',
  'first-payment': 'payments',
  'sign-in': 'sign-ins',
}

/** A user whose refund leaves a debt is notified despite an opt-out. */
function choiceOf(notification: Notification): MailChoice | undefined {
  const owes = notification.kind === 'refund' && availableAfter(notification) < 0n
  return owes ? undefined : choices[notification.kind]
}

const dayMs = 24 * 60 * 60_000

/** Retries only on `away`: on `unsure` the mail server may have accepted the mail. */
async function send(service: Service, { key, attempts }: Piece): Promise<Ended> {
  const { db, config, log, mail } = service
  const sent = await updateMailTried(db.pool, key)
  const reader = sent && (await findMailReader(db.pool, sent.userId))
  if (!reader) return done
  const { userId, email, language, ageMs } = sent
  const notification = sent.detail as Notification
  const choice = choiceOf(notification)
  if (choice && reader.stopped.includes(choice)) return done
  const to = chooseLanguage(reader.language, language, reader.pageLanguage)
  const apps = new Map((await service.apps.list()).map((app) => [app.clientId, app.name]))
  const nameOf = (clientId: string) => apps.get(clientId) ?? clientId
  const letter = writeNotification({ language: to, config }, notification, { firstName: reader.firstName, nameOf })
  const mailbox = email ?? reader.email
  const stopUrl = choice && (await stopUrlOf(service, { userId, email: mailbox }, choice))
  const result = await mail.deliver({ to: mailbox, language: to, letter: { ...letter, stopUrl } })
  if (result !== 'away') return done
  const error = 'The mail server did not take it; the log says why.'
  if (ageMs < dayMs) return { kind: 'again', afterMs: retryAfterMs(attempts), error, isAway: true }
  log.error('a mail was given up', { kind: notification.kind, tries: attempts })
  return { kind: 'given-up', error }
}

const retryAfterMs = (attempts: number) => Math.min(30_000 * 4 ** (attempts - 1), 6 * 60 * 60_000)

export const sendMail: Kind = {
  ...usual,
  ...single(send),
  name: 'send-mail',
  concurrency: 8,
  isAtMostOnce: true,
  retryAfterMs,
}
