/** Notes of operators about users. Never changed; deleted with the account they are about. */
import type { Queryable, Transaction } from '../connection/database.ts'
import type { Listing } from '../connection/listing.ts'
import { maybe } from '../connection/rows.ts'

export type OperatorNote = {
  readonly id: string
  readonly operatorId: string
  readonly text: string
  readonly writtenAt: Date
}

const columns = 'id, operator_id as "operatorId", text, written_at as "writtenAt"'

export const operatorNoteListing: Listing = {
  table: 'notes',
  alias: 'n',
  columns: `${columns}, user_id as "userId"`,
  key: [{ sql: 'n.id', type: 'uuid' }],
  time: { sql: 'n.written_at', type: 'timestamptz' },
  people: [`'operator:' || n.operator_id`],
  choices: {},
  equals: { user: { sql: 'n.user_id', type: 'uuid' } },
  ids: [{ sql: 'n.id', type: 'uuid' }],
}

export type ListedNote = OperatorNote & { readonly userId: string }

/** False when the note exists already, or the user is deleted. */
export async function insertNote(
  tx: Transaction,
  note: { id: string; userId: string; operatorId: string; text: string },
): Promise<boolean> {
  const { rowCount } = await tx.query(
    `insert into notes (id, user_id, operator_id, text)
     select $1, id, $3, $4 from users where id = $2 and deleted_at is null for key share
     on conflict (id) do nothing`,
    [note.id, note.userId, note.operatorId, note.text],
  )
  return rowCount === 1
}

/** Whether the id is that of this user's note with this text. */
export async function isNote(tx: Transaction, note: { id: string; userId: string; text: string }): Promise<boolean> {
  const { rows } = await tx.query('select from notes where id = $1 and user_id = $2 and text = $3', [
    note.id,
    note.userId,
    note.text,
  ])
  return rows.length === 1
}

export async function findNote(db: Queryable, id: string): Promise<ListedNote | undefined> {
  const { rows } = await db.query<ListedNote>(`select ${columns}, user_id as "userId" from notes where id = $1`, [id])
  return maybe(rows)
}

/** Newest first. */
export async function listNotes(db: Queryable, userId: string, limit: number): Promise<OperatorNote[]> {
  const { rows } = await db.query<OperatorNote>(
    `select ${columns} from notes
     where user_id = $1 order by written_at desc, id desc limit $2`,
    [userId, limit],
  )
  return rows
}
