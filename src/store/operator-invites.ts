/** One-time links for operators, and forms that count once. */
import type { Queryable } from './database.ts'
import type { Role } from './operators.ts'

export type Invite = {
  /** The operator who gets a new password and second factor; null for a new operator. */
  readonly operatorId: string | null
  readonly role: Role
  readonly createdBy: string
}

type Row = { operator_id: string | null; role: Role; created_by: string }

export async function insertInvite(
  db: Queryable,
  tokenHash: Buffer,
  invite: Invite & { readonly lifetimeMs: number },
): Promise<void> {
  await db.query(
    `insert into operator_invites (token_hash, operator_id, role, created_by, created_at, expires_at)
     values ($1, $2, $3, $4, now(), now() + $5 * interval '1 ms')`,
    [tokenHash, invite.operatorId, invite.role, invite.createdBy, invite.lifetimeMs],
  )
}

export async function findInvite(db: Queryable, tokenHash: Buffer): Promise<Invite | undefined> {
  const { rows } = await db.query<Row>('select * from operator_invites where token_hash = $1 and expires_at > now()', [
    tokenHash,
  ])
  return rows[0] && toInvite(rows[0])
}

/** Takes the invite: whoever gets it here is the only one. */
export async function deleteInvite(db: Queryable, tokenHash: Buffer): Promise<Invite | undefined> {
  const { rows } = await db.query<Row>(
    'delete from operator_invites where token_hash = $1 and expires_at > now() returning *',
    [tokenHash],
  )
  return rows[0] && toInvite(rows[0])
}

/** Ends all open invites that someone made, and those that have run out. */
export async function deleteInvitesBy(db: Queryable, createdBy: string): Promise<void> {
  await db.query('delete from operator_invites where created_by = $1 or expires_at <= now()', [createdBy])
}

export async function deleteInvitesOf(db: Queryable, operatorId: string): Promise<void> {
  await db.query('delete from operator_invites where operator_id = $1', [operatorId])
}

/** False when this form was sent before. */
export async function insertForm(db: Queryable, id: string, subject: string): Promise<boolean> {
  const { rowCount } = await db.query(
    'insert into operator_forms (id, subject) values ($1, $2) on conflict (id) do nothing',
    [id, subject],
  )
  return rowCount === 1
}

function toInvite(row: Row): Invite {
  return {
    operatorId: row.operator_id,
    role: row.role,
    createdBy: row.created_by,
  }
}
