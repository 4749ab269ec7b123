/** One-time links for operators, and the state of their mails. */
import type { Queryable, Transaction } from '../connection/database.ts'
import { roles, type Role } from '../operators.ts'
import { maybe } from '../connection/rows.ts'
import { choicesOf, type Listing } from '../connection/listing.ts'

export type Invite = {
  readonly id: string
  /** The operator whose password and second factor the link resets; null for a new operator. */
  readonly operatorId: string | null
  readonly role: Role
  /** The mailbox that the link is for, and the email of a new operator. Null: the first operator, who chooses one. */
  readonly email: string | null
  /** Actors, as in the audit log. `approvedBy` is the second admin of a change that needed two. */
  readonly createdBy: string
  readonly approvedBy: string | null
}

const inviteColumns = `i.id, i.operator_id as "operatorId", i.role, i.email, i.created_by as "createdBy",
  i.approved_by as "approvedBy"`

export async function insertInvite(
  tx: Transaction,
  tokenHash: Buffer,
  invite: Invite & { readonly lifetimeMs: number },
): Promise<void> {
  await tx.query(
    `insert into operator_invites (id, token_hash, operator_id, role, email, created_by, approved_by, created_at, expires_at)
     values ($1, $2, $3, $4, $5, $6, $7, now(), now() + $8 * interval '1 ms')`,
    [
      invite.id,
      tokenHash,
      invite.operatorId,
      invite.role,
      invite.email,
      invite.createdBy,
      invite.approvedBy,
      invite.lifetimeMs,
    ],
  )
}

/**
 * A link is valid while its creator may create one: an operator while they are an active admin, the service itself
 * until the first operator exists, the command line always. A link of an operator without a mailbox comes from an older process,
 * which showed it to its creator.
 */
const isGood = `i.expires_at > now() and case
    when i.created_by like 'operator:%' then i.email is not null and exists (
      select from operators m where 'operator:' || m.id = i.created_by and m.role = 'admin' and m.is_active)
    when i.created_by = 'system' then not exists (select from operators)
    else true end`

/** A link is mailed again for at most this long after it was asked for. */
const maxLifetime = `interval '7 days'`

/** Replaces the token, so that only the newest mail has a valid link. Undefined when the link has ended. */
export async function updateInviteToken(
  db: Queryable,
  id: string,
  { tokenHash, lifetimeMs }: { tokenHash: Buffer; lifetimeMs: number },
): Promise<Invite | undefined> {
  const { rows } = await db.query<Invite>(
    `update operator_invites i set token_hash = $2, expires_at = least(now() + $3 * interval '1 ms', i.created_at + ${maxLifetime})
     where i.id = $1 and ${isGood} returning ${inviteColumns}`,
    [id, tokenHash, lifetimeMs],
  )
  return maybe(rows)
}

export async function updateInviteMailed(db: Queryable, id: string): Promise<void> {
  await db.query('update operator_invites set mailed_at = now() where id = $1', [id])
}

export async function findInvite(db: Queryable, tokenHash: Buffer): Promise<Invite | undefined> {
  const text = `select ${inviteColumns} from operator_invites i where i.token_hash = $1 and ${isGood}`
  const { rows } = await db.query<Invite>(text, [tokenHash])
  return maybe(rows)
}

export async function findInviteById(db: Queryable, id: string): Promise<Invite | undefined> {
  const { rows } = await db.query<Invite>(
    `select ${inviteColumns} from operator_invites i where i.id = $1 and ${isGood}`,
    [id],
  )
  return maybe(rows)
}

/** Valid ones, by the complete id, or any part of the email that the link is for. */
export async function searchInvites(db: Queryable, text: string, limit: number): Promise<Invite[]> {
  const { rows } = await db.query<Invite>(
    `select ${inviteColumns} from operator_invites i
     where ${isGood} and (i.id::text = lower($1) or position(lower($1) in lower(i.email)) > 0)
     order by i.created_at desc, i.id limit $2`,
    [text, limit],
  )
  return rows
}

export type ListedInvite = Invite & {
  /** The email of the operator it is for, and of the operator who created it; null for none. */
  readonly operatorEmail: string | null
  readonly makerEmail: string | null
  readonly createdAt: Date
  readonly expiresAt: Date
  /** Null for a link that was printed on the command line. */
  readonly mail: 'waiting' | 'sent' | 'failed' | null
  readonly mailedAt: Date | null
  readonly mailError: string | null
}

export const linkMailKey = (inviteId: string) => `link:${inviteId}`

/** Used and revoked links are deleted: what they gave is in the list of access given, or in the audit log. */
export const inviteListing: Listing = {
  table: 'operator_invites',
  alias: 'i',
  columns: `${inviteColumns}, (select o.email from operators o where o.id = i.operator_id) as "operatorEmail",
    i.created_at as "createdAt", i.expires_at as "expiresAt", i.mailed_at as "mailedAt", ${isGood} as "isOpen"`,
  key: [{ sql: 'i.id', type: 'uuid' }],
  time: { sql: 'i.created_at', type: 'timestamptz' },
  people: ['i.created_by', 'i.approved_by', `'operator:' || i.operator_id`],
  choices: {
    role: choicesOf('i.role', roles),
    state: { open: `(${isGood})`, ended: `not (${isGood})` },
  },
  equals: {},
  ids: [{ sql: 'i.id', type: 'uuid' }],
}

export type ListedLink = Invite &
  Pick<ListedInvite, 'operatorEmail' | 'createdAt' | 'expiresAt' | 'mailedAt'> & { readonly isOpen: boolean }

/** Valid ones, newest first. */
export async function listInvites(db: Queryable): Promise<ListedInvite[]> {
  const { rows } = await db.query<ListedInvite>(
    `select ${inviteColumns}, o.email as "operatorEmail", m.email as "makerEmail", i.created_at as "createdAt",
       i.expires_at as "expiresAt", i.mailed_at as "mailedAt", w.last_error as "mailError",
       case when i.created_by not like 'operator:%' then null
         when w.key is null and i.mailed_at is not null then 'sent'
         when w.given_up_at is null or w.leased_until > now() then 'waiting'
         else 'failed' end as mail
     from operator_invites i
     left join operators o on o.id = i.operator_id
     left join operators m on 'operator:' || m.id = i.created_by
     left join work w on w.kind = 'send-operator-mail' and w.key = 'link:' || i.id
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

export async function deleteInvitesFor(tx: Transaction, email: string): Promise<void> {
  await tx.query('delete from operator_invites where email = $1 and operator_id is null', [email])
}

export async function deleteInvitesOf(tx: Transaction, operatorId: string): Promise<number> {
  const { rowCount } = await tx.query('delete from operator_invites where operator_id = $1', [operatorId])
  return rowCount ?? 0
}
