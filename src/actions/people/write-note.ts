/** Writes an operator's note about a user. */
import { transact } from '../../store/connection/database.ts'
import { insertNote } from '../../store/people/notes.ts'
import { recordAudit, type Actor } from '../audit.ts'
import type { WithDb } from '../service.ts'

export const maxNoteLength = 2_000

/** The caller gives the id, so a form that is sent twice writes one note. */
export async function writeNote(
  service: WithDb,
  actor: Actor,
  note: { id: string; userId: string; operatorId: string; text: string },
): Promise<void> {
  await transact(service.db, async (tx) => {
    // The audit record does not contain the text, because it outlives the account.
    if (await insertNote(tx, note))
      await recordAudit(tx, actor, 'wallet.note-written', `wallet:${note.userId}`, { note: note.id })
  })
}
