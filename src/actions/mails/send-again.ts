/** A mail once more, because somebody says that it never came. */
import { transact } from '../../store/connection/database.ts'
import { updateMailAgain } from '../../store/mails.ts'
import { insertForm } from '../../store/operator-invites.ts'
import { recordAudit, type Actor } from '../audit.ts'
import type { Service } from '../service.ts'
import { sendSoon } from './notify.ts'

/**
 * To the address of now, unless it was one that was left; what the user chose not to get is not sent. The form's id is the caller's:
 * sent twice it sends one mail. False when the mail is on its way already, or kept no more.
 */
export async function sendMailAgain(
  service: Service,
  actor: Actor,
  { formId, userId, fact }: { formId: string; userId: string; fact: string },
): Promise<boolean> {
  const isDone = await transact(service.db, async (tx) => {
    if (!(await insertForm(tx, formId, `user:${userId}`))) return true
    const kind = await updateMailAgain(tx, userId, fact)
    if (kind !== undefined) await recordAudit(tx, actor, 'mail.sent-again', `user:${userId}`, { kind })
    return kind !== undefined
  })
  sendSoon(service)
  return isDone
}
