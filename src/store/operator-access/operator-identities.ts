/** Accounts of the identity provider that operators sign in with, and sign-ins that were sent there. */
import type { Queryable, Transaction } from '../connection/database.ts'
import { maybe, one } from '../connection/rows.ts'
import { operatorColumns, type Operator } from '../operators.ts'

export type OperatorIdentity = {
  readonly issuer: string
  readonly subject: string
  readonly createdAt: Date
}

type Name = Pick<OperatorIdentity, 'issuer' | 'subject'>

export async function findOperatorByIdentity(db: Queryable, { issuer, subject }: Name): Promise<Operator | undefined> {
  const { rows } = await db.query<Operator>(
    `select ${operatorColumns('o')} from operator_identities i join operators o on o.id = i.operator_id
     where i.issuer = $1 and i.subject = $2`,
    [issuer, subject],
  )
  return maybe(rows)
}

export async function findIdentityOf(
  db: Queryable,
  issuer: string,
  operatorId: string,
): Promise<OperatorIdentity | undefined> {
  const { rows } = await db.query<OperatorIdentity>(
    `select issuer, subject, created_at as "createdAt" from operator_identities where issuer = $1 and operator_id = $2`,
    [issuer, operatorId],
  )
  return maybe(rows)
}

/** Replaces the identity that the operator has at this issuer. False when the identity is another operator's. */
export async function upsertIdentity(tx: Transaction, { issuer, subject }: Name, operatorId: string): Promise<boolean> {
  const { rows } = await tx.query<{ operatorId: string }>(
    `select operator_id as "operatorId" from operator_identities where issuer = $1 and subject = $2 for update`,
    [issuer, subject],
  )
  const holder = maybe(rows)?.operatorId
  if (holder === operatorId) return true
  if (holder !== undefined) return false
  await deleteIdentity(tx, issuer, operatorId)
  const { rowCount } = await tx.query(
    `insert into operator_identities (issuer, subject, operator_id, used_at) values ($1, $2, $3, now())
     on conflict (issuer, subject) do nothing`,
    [issuer, subject, operatorId],
  )
  return rowCount === 1
}

export async function updateIdentityUsed(db: Queryable, { issuer, subject }: Name): Promise<void> {
  await db.query('update operator_identities set used_at = now() where issuer = $1 and subject = $2', [issuer, subject])
}

export async function deleteIdentity(db: Queryable, issuer: string, operatorId: string): Promise<boolean> {
  const { rowCount } = await db.query('delete from operator_identities where issuer = $1 and operator_id = $2', [
    issuer,
    operatorId,
  ])
  return rowCount === 1
}

/** Admins who can sign in without the provider. */
export async function countLocalAdmins(db: Queryable): Promise<number> {
  const { rows } = await db.query<{ count: number }>(
    `select count(*)::int as count from operators
     where role = 'admin' and is_active and password_hash is not null and totp_secret is not null`,
  )
  return one(rows).count
}

export type OidcPurpose =
  | { readonly purpose: 'sign-in' }
  | { readonly purpose: 'connect'; readonly sessionId: string }
  | { readonly purpose: 'accept'; readonly inviteHash: Buffer }

export type OidcStart = OidcPurpose & { readonly next: string }

export async function insertOidcStart(
  db: Queryable,
  hashes: { readonly stateHash: Buffer; readonly browserHash: Buffer },
  start: OidcStart,
  lifetimeMs: number,
): Promise<void> {
  await db.query(
    `insert into oidc_starts (state_hash, browser_hash, purpose, session_id, invite_hash, next, expires_at)
     values ($1, $2, $3, $4, $5, $6, now() + $7 * interval '1 ms')`,
    [
      hashes.stateHash,
      hashes.browserHash,
      start.purpose,
      start.purpose === 'connect' ? start.sessionId : null,
      start.purpose === 'accept' ? start.inviteHash : null,
      start.next,
      lifetimeMs,
    ],
  )
}

/** Uses the start. Undefined when it was used, has expired, or began in another browser. */
export async function deleteOidcStart(
  db: Queryable,
  { stateHash, browserHash }: { readonly stateHash: Buffer; readonly browserHash: Buffer },
): Promise<OidcStart | undefined> {
  const { rows } = await db.query<{
    purpose: OidcStart['purpose']
    sessionId: string | null
    inviteHash: Buffer | null
    next: string
  }>(
    `delete from oidc_starts where state_hash = $1 and browser_hash = $2 and expires_at > now()
     returning purpose, session_id as "sessionId", invite_hash as "inviteHash", next`,
    [stateHash, browserHash],
  )
  const row = maybe(rows)
  if (!row) return undefined
  const { purpose, sessionId, inviteHash, next } = row
  if (purpose === 'connect') return { purpose, sessionId: sessionId!, next }
  if (purpose === 'accept') return { purpose, inviteHash: inviteHash!, next }
  return { purpose, next }
}
