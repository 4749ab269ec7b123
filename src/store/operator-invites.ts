/** One-time links for operators. */
import type { Queryable, Transaction } from './connection/database.ts'
import type { Role } from './operators.ts'
import { maybe } from './connection/rows.ts'

export type Invite = {
  /** The operator whose password and second factor the link resets; null for a new operator. */
  readonly operatorId: string | null
  readonly role: Role
  /** The recipient of a new operator's link, as described by its creator. */
  readonly forWhom: string | null
  /** An actor, as in the audit log. */
  readonly createdBy: string
}

const inviteColumns = `i.operator_id as "operatorId", i.role, i.for_whom as "forWhom", i.created_by as "createdBy"`

export async function insertInvite(
  tx: Transaction,
  tokenHash: Buffer,
  invite: Invite & { readonly id: string; readonly lifetimeMs: number },
): Promise<void> {
  await tx.query(
    `insert into operator_invites (id, token_hash, operator_id, role, for_whom, created_by, created_at, expires_at)
     values ($1, $2, $3, $4, $5, $6, now(), now() + $7 * interval '1 ms')`,
    [invite.id, tokenHash, invite.operatorId, invite.role, invite.forWhom, invite.createdBy, invite.lifetimeMs],
  )
}

/**
 * A link is valid while its creator may create one: an operator while they are an active admin, the service itself
 * until the first operator exists, the command line always.
 */
const isGood = `i.expires_at > now() and case
    when i.created_by like 'operator:%' then exists (
      select from operators m where 'operator:' || m.id = i.created_by and m.role = 'admin' and m.is_active)
    when i.created_by = 'system' then not exists (select from operators)
    else true end`

export async function findInvite(db: Queryable, tokenHash: Buffer): Promise<Invite | undefined> {
  const text = `select ${inviteColumns} from operator_invites i where i.token_hash = $1 and ${isGood}`
  const { rows } = await db.query<Invite>(text, [tokenHash])
  return maybe(rows)
}

export type ListedInvite = Invite & {
  readonly id: string
  /** The email of the operator it is for, and of the operator who created it; null for none. */
  readonly operatorEmail: string | null
  readonly makerEmail: string | null
  readonly createdAt: Date
  readonly expiresAt: Date
}

/** Valid ones, newest first. */
export async function listInvites(db: Queryable): Promise<ListedInvite[]> {
  const { rows } = await db.query<ListedInvite>(
    `select ${inviteColumns}, i.id, o.email as "operatorEmail", m.email as "makerEmail", i.created_at as "createdAt",
       i.expires_at as "expiresAt" from operator_invites i
     left join operators o on o.id = i.operator_id
     left join operators m on 'operator:' || m.id = i.created_by
     where ${isGood} order by i.created_at desc, i.id`,
  )
  return rows
}

/** Consumes the invite: only one caller gets it. */
export async function deleteInvite(tx: Transaction, tokenHash: Buffer): Promise<Invite | undefined> {
  const text = `delete from operator_invites i where i.token_hash = $1 and ${isGood} returning ${inviteColumns}`
  const { rows } = await tx.query<Invite>(text, [tokenHash])
  return maybe(rows)
}

/** Revokes it. Undefined when there is none of this id. */
export async function deleteInviteById(tx: Transaction, id: string): Promise<Invite | undefined> {
  const text = `delete from operator_invites i where i.id = $1 returning ${inviteColumns}`
  const { rows } = await tx.query<Invite>(text, [id])
  return maybe(rows)
}

/** Revokes all valid invites of a creator, and returns how many. */
export async function deleteInvitesBy(tx: Transaction, createdBy: string): Promise<number> {
  const { rowCount } = await tx.query('delete from operator_invites where created_by = $1 and expires_at > now()', [
    createdBy,
  ])
  return rowCount ?? 0
}

export async function deleteInvitesOf(tx: Transaction, operatorId: string): Promise<number> {
  const { rowCount } = await tx.query('delete from operator_invites where operator_id = $1', [operatorId])
  return rowCount ?? 0
}
