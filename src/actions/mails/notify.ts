/**
 * Mails that notify users of what happened. A notification becomes a row, and work for the queue, in the transaction of its cause.
 * The mail is sent in the background, and retried for a day while the mail server is away. It is sent at most once: losing a mail
 * does no harm, sending one twice does.
 */
import type { Queryable } from '../../store/connection/database.ts'
import { insertMail } from '../../store/mails.ts'
import type { Service } from '../service.ts'
import type { Notification } from './write-letters.ts'

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

/** Sends what is due now instead of at the next poll. */
export function sendSoon({ wakeUps }: Pick<Service, 'wakeUps'>): void {
  wakeUps.wake('send-mail')
}
