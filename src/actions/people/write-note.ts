/** Writes an operator's note about a user. */
import { transact } from '../../store/connection/database.ts'
import { insertNote, isNote } from '../../store/people/notes.ts'
import { recordAudit, type Actor } from '../audit.ts'
import type { WithDb } from '../service.ts'

export const maxNoteLength = 2_000

/**
 * The id binds the note: a form sent twice writes one note. False when the id belongs to another note, or the account was just deleted.
 */
export async function writeNote(
  service: WithDb,
  actor: Actor,
  note: { id: string; userId: string; operatorId: string; text: string },
): Promise<boolean> {
  return await transact(service.db, async (tx) => {
    if (!(await insertNote(tx, note))) return await isNote(tx, note)
    // The audit record does not contain the text, because it outlives the account.
    await recordAudit(tx, actor, 'wallet.note-written', `wallet:${note.userId}`, { note: note.id })
    return true
  })
}
