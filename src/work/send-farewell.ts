/**
 * Sends the last mail of a deleted account. Unlike other mails it is sent again when the process dies on the way: the user cannot ask
 * for it again, and the address must not stay in the queue.
 */
import type { Farewell } from '../actions/mails/notify.ts'
import { writeNotification } from '../actions/mails/write-letters.ts'
import type { Service } from '../actions/service.ts'
import { chooseLanguage } from '../languages/languages.ts'
import type { Piece } from '../store/work/work.ts'
import { done, single, usual, type Ended, type Kind } from './kind.ts'

const dayMs = 24 * 60 * 60_000

async function send({ config, log, mail }: Service, { payload, attempts, ageMs }: Piece): Promise<Ended> {
  const { email, firstName, language: chosen, pageLanguage, notification } = payload as Farewell
  const language = chooseLanguage(chosen, pageLanguage)
  const letter = writeNotification({ language, config }, notification, { firstName, nameOf: (clientId) => clientId })
  const result = await mail.deliver({ to: email, language, letter })
  if (result !== 'away') return done
  if (ageMs < dayMs) return { kind: 'again', afterMs: retryAfterMs(attempts), error: awayError, isAway: true }
  // The row goes, and the address with it.
  log.error('a mail was given up', { kind: notification.kind, tries: attempts })
  return done
}

const awayError = 'The mail server did not take it; the log says why.'

const retryAfterMs = (attempts: number) => Math.min(30_000 * 4 ** (attempts - 1), 6 * 60 * 60_000)

export const sendFarewell: Kind = {
  ...usual,
  ...single(send),
  name: 'send-farewell',
  concurrency: 2,
  retryAfterMs,
}
