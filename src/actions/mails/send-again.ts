/** Sends a mail again, for a user who reports that it never arrived. */
import { transact } from '../../store/connection/database.ts'
import { updateMailAgain } from '../../store/mails.ts'
import { bindForm, updateFormResult } from '../../store/operator-access/operator-forms.ts'
import { recordAudit, type Actor } from '../audit.ts'
import type { Service } from '../service.ts'
import { sendSoon } from './notify.ts'

/**
 * Sends to the user's current address, or to the address stored with the mail (the old one, after a change). Opt-outs still apply.
 * The form's id binds its mail: a form sent twice sends one mail. `gone`: the mail is already waiting, or no longer stored.
 */
export async function sendMailAgain(
  service: Service,
  actor: Actor,
  { formId, userId, fact }: { formId: string; userId: string; fact: string },
): Promise<'sent' | 'gone' | 'reused'> {
  const done = await transact(service.db, async (tx) => {
    const bound = await bindForm(tx, { id: formId, subject: `user:${userId}`, content: { fact } })
    if (bound.kind === 'other') return 'reused'
    if (bound.kind === 'repeat') return (bound.result as { done: 'sent' | 'gone' } | null)?.done ?? 'sent'
    const kind = await updateMailAgain(tx, userId, fact)
    if (kind !== undefined) await recordAudit(tx, actor, 'mail.sent-again', `user:${userId}`, { kind })
    const result = { done: kind === undefined ? 'gone' : 'sent' } as const
    await updateFormResult(tx, formId, result)
    return result.done
  })
  sendSoon(service)
  return done
}
