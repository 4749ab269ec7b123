/**
 * Notifies users by mail. The transaction of the cause inserts a row for the notification, and work for the queue.
 * The queue sends the mail, and retries for a day while the mail server is away. It sends a mail at most once: a lost mail does
 * less harm than a repeated one.
 */
import type { Queryable } from '../../store/connection/database.ts'
import { insertMail, type MailReader } from '../../store/mails.ts'
import { addWork } from '../../store/work/work.ts'
import { newId } from '../tokens.ts'
import type { Service } from '../service.ts'
import type { Notification } from './write-letters.ts'

export type NotifyOptions = {
  /** Unique within its kind: of two notifications with the same id, only one is sent. */
  readonly id: string
  /** The language of the page that caused it. */
  readonly lang?: string | undefined
  /** Sends to this address instead of the user's current one. */
  readonly email?: string
}

/** A travelling user signs in from many new addresses a day. */
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

/** Starts sending now instead of at the next poll. */
export function sendSoon({ wakeUps }: Pick<Service, 'wakeUps'>): void {
  wakeUps.wake('send-mail')
  wakeUps.wake('send-farewell')
}

export type Farewell = Pick<MailReader, 'email' | 'firstName' | 'language' | 'pageLanguage'> & {
  readonly notification: Extract<Notification, { kind: 'deleted' }>
}

/**
 * The last mail of an account, in the transaction that deletes it. The queue has the address and the name until the mail is sent, for a
 * day at most: the user's row has them no longer.
 */
export async function addFarewell(
  db: Queryable,
  { email, firstName, language, pageLanguage }: MailReader,
  notification: Farewell['notification'],
): Promise<void> {
  const payload: Farewell = { email, firstName, language, pageLanguage, notification }
  await addWork(db, { kind: 'send-farewell', key: newId(), payload })
}
