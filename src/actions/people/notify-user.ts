/** Mails a user about an event of the account at once, without the queue: the user's row may be gone afterwards. */
import { chooseLanguage } from '../../languages/languages.ts'
import type { LiveUser } from '../../store/people/users.ts'
import { writeNotification, type Notification } from '../mails/write-letters.ts'
import type { Service } from '../service.ts'

export async function notifyUser(
  service: Pick<Service, 'apps' | 'config' | 'mail'>,
  { email, firstName, language: chosen }: LiveUser,
  fact: Notification,
): Promise<void> {
  const apps = new Map((await service.apps.list()).map((app) => [app.clientId, app.name]))
  const language = chooseLanguage(chosen)
  const reader = { firstName, nameOf: (clientId: string) => apps.get(clientId) ?? clientId }
  const letter = writeNotification({ language, config: service.config }, fact, reader)
  service.mail.send({ to: email, language, letter })
}
