/** Operators: the people who sign in to /admin. */
import type { Queryable, Transaction } from './connection/database.ts'
import { maybe, one } from './connection/rows.ts'

export const roles = ['viewer', 'support', 'finance', 'admin'] as const
export type Role = (typeof roles)[number]

export type Operator = {
  readonly id: string
  readonly email: string
  readonly name: string
  readonly role: Role
  /** Null for an operator who signs in only with the company's account. */
  readonly passwordHash: string | null
  /** Sealed; null until the operator has confirmed it with a first code. */
  readonly totpSealed: string | null
  /** The time step of the last accepted code. */
  readonly totpStep: number
  readonly isActive: boolean
  /** When one admin alone took the access away; null for access that was removed. */
  readonly suspendedAt: Date | null
  readonly createdAt: Date
  readonly signedInAt: Date | null
}

export const operatorColumns = (alias: string) => `${alias}.id, ${alias}.email, ${alias}.name, ${alias}.role,
  ${alias}.password_hash as "passwordHash", ${alias}.totp_secret as "totpSealed", ${alias}.totp_step::float8 as "totpStep",
  ${alias}.is_active as "isActive", ${alias}.suspended_at as "suspendedAt", ${alias}.created_at as "createdAt", ${alias}.signed_in_at as "signedInAt"`

const selectSql = `select ${operatorColumns('o')} from operators o`

type NewOperator = Pick<Operator, 'id' | 'email' | 'name' | 'role' | 'passwordHash'>

/** False when the email is taken. */
export async function insertOperator(db: Queryable, operator: NewOperator): Promise<boolean> {
  const { rowCount } = await db.query(
    `insert into operators (id, email, name, role, password_hash) values ($1, $2, $3, $4, $5) on conflict (email) do nothing`,
    [operator.id, operator.email, operator.name, operator.role, operator.passwordHash],
  )
  return rowCount === 1
}

export async function findOperator(db: Queryable, id: string): Promise<Operator | undefined> {
  const { rows } = await db.query<Operator>(`${selectSql} where id = $1`, [id])
  return maybe(rows)
}

export async function findOperatorByEmail(db: Queryable, email: string): Promise<Operator | undefined> {
  const { rows } = await db.query<Operator>(`${selectSql} where email = $1`, [email])
  return maybe(rows)
}

export async function hasOperators(db: Queryable): Promise<boolean> {
  const { rows } = await db.query<{ has: boolean }>('select exists (select from operators) as has')
  return one(rows).has
}

export async function listOperators(db: Queryable): Promise<Operator[]> {
  return (await db.query<Operator>(`${selectSql} order by created_at, id`)).rows
}

/** By the complete id, or any part of the name or the email. `position` has no wildcards. */
export async function searchOperators(db: Queryable, text: string, limit: number): Promise<Operator[]> {
  const { rows } = await db.query<Operator>(
    `${selectSql} where id::text = lower($1) or position(lower($1) in email) > 0 or position(lower($1) in lower(name)) > 0
     order by created_at, id limit $2`,
    [text, limit],
  )
  return rows
}

/** Locks all operators, so that two admins cannot demote each other at once and leave no admin. */
export async function lockOperators(tx: Transaction): Promise<Operator[]> {
  return (await tx.query<Operator>(`${selectSql} order by id for update`)).rows
}

/** Ends a suspension: the access is given back, or removed by a decision that needs no more. */
export async function updateOperatorAccess(
  db: Queryable,
  id: string,
  access: Pick<Operator, 'role' | 'isActive'>,
): Promise<void> {
  await db.query('update operators set role = $2, is_active = $3, suspended_at = null where id = $1', [
    id,
    access.role,
    access.isActive,
  ])
}

export async function updateOperatorSuspended(db: Queryable, id: string): Promise<void> {
  await db.query('update operators set is_active = false, suspended_at = now() where id = $1', [id])
}

export async function updateOperatorPassword(db: Queryable, id: string, passwordHash: string | null): Promise<void> {
  await db.query('update operators set password_hash = $2 where id = $1', [id, passwordHash])
}

export async function updateOperatorSignedIn(db: Queryable, id: string, at: Date): Promise<void> {
  await db.query('update operators set signed_in_at = $2 where id = $1', [id, at])
}

/**
 * Whether the operator of this email has signed in from the address: the same single read whether or not the operator
 * exists.
 */
export async function isOperatorAddress(
  db: Queryable,
  email: string,
  addressHashes: readonly Buffer[],
): Promise<boolean> {
  const { rows } = await db.query<{ is_known: boolean }>(
    `select exists (select from operator_addresses a join operators o on o.id = a.operator_id
       where o.email = $1 and a.address_hash = any($2)) as is_known`,
    [email, addressHashes],
  )
  return one(rows).is_known
}

/** The sealed secret that is being set up, until its set-up expires. */
export async function findPendingTotp(db: Queryable, id: string): Promise<string | undefined> {
  const { rows } = await db.query<{ sealed: string }>(
    'select totp_pending as sealed from operators where id = $1 and totp_pending is not null and totp_pending_until > now()',
    [id],
  )
  return maybe(rows)?.sealed
}

/**
 * It takes effect once confirmed with a first code. A secret that is already being set up stays, so that two open pages
 * show the same one.
 */
export async function updatePendingTotp(
  db: Queryable,
  id: string,
  { sealed, lifetimeMs }: { sealed: string; lifetimeMs: number },
): Promise<void> {
  await db.query(
    `update operators set totp_pending = $2, totp_pending_until = now() + $3 * interval '1 ms'
     where id = $1 and (totp_pending is null or totp_pending_until is null or totp_pending_until <= now())`,
    [id, sealed, lifetimeMs],
  )
}

/** Clears expired set-ups of all operators. */
export async function deletePendingTotp(tx: Transaction): Promise<number> {
  const { rowCount } = await tx.query(
    'update operators set totp_pending = null, totp_pending_until = null where totp_pending_until <= now()',
  )
  return rowCount ?? 0
}

/** Makes the pending secret effective. False when it has expired, or is not the one the code belongs to. */
export async function updateTotpConfirmed(
  db: Queryable,
  id: string,
  { sealed, step }: { sealed: string; step: number },
): Promise<boolean> {
  const { rowCount } = await db.query(
    `update operators set totp_secret = totp_pending, totp_pending = null, totp_pending_until = null, totp_step = $3
     where id = $1 and totp_pending = $2 and totp_pending_until > now()`,
    [id, sealed, step],
  )
  return rowCount === 1
}

export async function updateTotpCleared(db: Queryable, id: string): Promise<void> {
  await db.query(
    'update operators set totp_secret = null, totp_pending = null, totp_pending_until = null where id = $1',
    [id],
  )
  await db.query('delete from operator_recovery_codes where operator_id = $1', [id])
}

/** Consumes a time step. False when it or a later one was consumed before: of two requests with one code, one wins. */
export async function updateTotpStep(db: Queryable, id: string, step: number): Promise<boolean> {
  const { rowCount } = await db.query('update operators set totp_step = $2 where id = $1 and totp_step < $2', [
    id,
    step,
  ])
  return rowCount === 1
}

export async function replaceRecoveryCodes(tx: Transaction, operatorId: string, hashes: Buffer[]): Promise<void> {
  await tx.query('delete from operator_recovery_codes where operator_id = $1', [operatorId])
  await tx.query('insert into operator_recovery_codes (operator_id, code_hash) select $1, unnest($2::bytea[])', [
    operatorId,
    hashes,
  ])
}

/** False when there is no such unused code. */
export async function updateRecoveryCodeUsed(
  db: Queryable,
  operatorId: string,
  hash: Buffer,
  at: Date,
): Promise<boolean> {
  const { rowCount } = await db.query(
    'update operator_recovery_codes set used_at = $3 where operator_id = $1 and code_hash = $2 and used_at is null',
    [operatorId, hash, at],
  )
  return rowCount === 1
}

export async function countRecoveryCodes(db: Queryable, operatorId: string): Promise<number> {
  const { rows } = await db.query<{ left: number }>(
    'select count(*)::int as left from operator_recovery_codes where operator_id = $1 and used_at is null',
    [operatorId],
  )
  return one(rows).left
}
