/** A note about a user, for other operators. */
import { transact } from '../../store/connection/database.ts'
import { insertNote } from '../../store/people/notes.ts'
import { recordAudit, type Actor } from '../audit.ts'
import type { Service } from '../service.ts'

export const maxNoteLength = 2_000

/** The id is the caller's, so that a form that is sent twice writes one note. */
export async function writeNote(
  service: Service,
  actor: Actor,
  note: { id: string; userId: string; operatorId: string; text: string },
): Promise<void> {
  await transact(service.db, async (tx) => {
    // The text stays out of the record, which outlives the account.
    if (await insertNote(tx, note))
      await recordAudit(tx, actor, 'wallet.note-written', `wallet:${note.userId}`, { note: note.id })
  })
}
