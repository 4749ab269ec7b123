/** Sends a mail again, for a user who reports that it never arrived. */
import { transact } from '../../store/connection/database.ts'
import { updateMailAgain } from '../../store/mails.ts'
import { insertForm } from '../../store/operator-invites.ts'
import { recordAudit, type Actor } from '../audit.ts'
import type { Service } from '../service.ts'
import { sendSoon } from './notify.ts'

/**
 * Sends to the user's current address, or to the address stored with the mail (the old one, after a change). Opt-outs still apply.
 * A form sent twice has one `formId` and sends one mail. False when the mail is already waiting, or no longer stored.
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
