/** Users. A user's wallet is created with the user and has the same id. */
import type { Queryable, Transaction } from '../connection/database.ts'
import { maybe, one } from '../connection/rows.ts'

export type User = {
  readonly id: string
  /** Null for a deleted user. */
  readonly email: string | null
  readonly passwordHash: string | null
  readonly firstName: string
  readonly lastName: string
  /** Null when the user has not chosen one. */
  readonly language: string | null
  readonly createdAt: Date
}

/** Not deleted. */
export type LiveUser = User & { readonly email: string }

const userColumns = `id, email, password_hash as "passwordHash", first_name as "firstName", last_name as "lastName", language,
  created_at as "createdAt"`

type NewUser = Pick<LiveUser, 'id' | 'email' | 'passwordHash' | 'firstName' | 'lastName'>

/** False when the email is taken. */
export async function insertUser(tx: Transaction, user: NewUser): Promise<boolean> {
  const { rowCount } = await tx.query(
    `insert into users (id, email, password_hash, first_name, last_name) values ($1, $2, $3, $4, $5)
     on conflict (email) do nothing`,
    [user.id, user.email, user.passwordHash, user.firstName, user.lastName],
  )
  if (rowCount === 0) return false
  await tx.query('insert into wallets (id) values ($1)', [user.id])
  return true
}

export async function findUserByEmail(db: Queryable, email: string): Promise<User | undefined> {
  const { rows } = await db.query<User>(`select ${userColumns} from users where email = $1`, [email])
  return maybe(rows)
}

export async function findUser(db: Queryable, id: string): Promise<User | undefined> {
  const { rows } = await db.query<User>(`select ${userColumns} from users where id = $1`, [id])
  return maybe(rows)
}

/** In any order; unknown ids are skipped. */
export async function listUsers(db: Queryable, ids: readonly string[]): Promise<User[]> {
  if (ids.length === 0) return []
  const { rows } = await db.query<User>(`select ${userColumns} from users where id = any($1::uuid[])`, [ids])
  return rows
}

/** Locks the user until the transaction ends, against changes, new links and deletion. Undefined when the user is deleted. */
export async function lockUser(tx: Transaction, id: string): Promise<LiveUser | undefined> {
  const { rows } = await tx.query<User>(`select ${userColumns} from users where id = $1 for update`, [id])
  const user = maybe(rows)
  return user && isLive(user) ? user : undefined
}

export async function findLiveUser(db: Queryable, id: string): Promise<LiveUser | undefined> {
  const user = await findUser(db, id)
  return user && isLive(user) ? user : undefined
}

function isLive(user: User): user is LiveUser {
  return user.email !== null
}

export async function updateUserNames(
  tx: Transaction,
  id: string,
  { firstName, lastName }: { firstName: string; lastName: string },
): Promise<void> {
  await tx.query('update users set first_name = $2, last_name = $3 where id = $1', [id, firstName, lastName])
}

/** False when there is no such user, or the user is deleted. */
export async function updateUserLanguage(db: Queryable, id: string, language: string | null): Promise<boolean> {
  const { rowCount } = await db.query('update users set language = $2 where id = $1 and deleted_at is null', [
    id,
    language,
  ])
  return rowCount === 1
}

/** Throws a unique violation when another user has the email. */
export async function updateUserEmail(tx: Transaction, id: string, email: string): Promise<void> {
  await tx.query('update users set email = $2 where id = $1', [id, email])
}

/**
 * Deletes everything that identifies the user. The row, the disconnected links and the audit log stay, because the books and the
 * apps refer to their ids. Returns how many notes of operators were deleted.
 */
export async function updateUserDeleted(tx: Transaction, { id, email }: LiveUser): Promise<number> {
  await tx.query(
    `update users set email = null, password_hash = null, first_name = '', last_name = '', language = null, deleted_at = now()
     where id = $1`,
    [id],
  )
  await tx.query('update links set disconnected_at = now() where user_id = $1 and disconnected_at is null', [id])
  await tx.query('delete from link_codes where link_id in (select id from links where user_id = $1)', [id])
  await tx.query(
    `delete from work where (kind, key) in (select 'send-mail', fact from mails where user_id = $1
       union all select 'find-first-payment', link_id from new_links where user_id = $1)`,
    [id],
  )
  for (const table of [
    'widget_sessions',
    'devices',
    'user_addresses',
    'email_changes',
    'mails',
    'mail_settings',
    'new_links',
    'paper_links',
  ])
    await tx.query(`delete from ${table} where user_id = $1`, [id])
  for (const table of ['sign_ups', 'mailed_codes', 'code_handles'])
    await tx.query(`delete from ${table} where email = $1`, [email])
  return (await tx.query('delete from notes where user_id = $1', [id])).rowCount ?? 0
}

/** Undefined when no user has the email. */
export async function updateUserPassword(
  tx: Transaction,
  email: string,
  passwordHash: string,
): Promise<User | undefined> {
  const { rows } = await tx.query<User>(
    `update users set password_hash = $2 where email = $1 returning ${userColumns}`,
    [email, passwordHash],
  )
  return maybe(rows)
}

/** What is known about an email. One read, which does the same work whether or not the user exists. */
export type Identity = {
  readonly userId: string | null
  readonly passwordHash: string | null
  /** The language the user has chosen. */
  readonly language: string | null
  /** A sign-up with this email waits for confirmation. It may be another person's attempt with a user's email. */
  readonly isSigningUp: boolean
  /** Of the sign-up; null when two sign-ups disagreed. */
  readonly signUpHash: string | null
  /** The user has signed in from this address before. */
  readonly isKnownAddress: boolean
}

const identitySql = `select u.id as "userId", u.password_hash as "passwordHash", u.language, s.email is not null as "isSigningUp",
    s.password_hash as "signUpHash",
    exists (select 1 from user_addresses a where a.user_id = u.id and a.address_hash = any($2)) as "isKnownAddress"
  from (select $1::text as email) as asked
    left join users u on u.email = asked.email
    left join sign_ups s on s.email = asked.email and s.expires_at > now()`

export async function getIdentity(db: Queryable, email: string, addressHashes: readonly Buffer[]): Promise<Identity> {
  const { rows } = await db.query<Identity>({ name: 'get-identity', text: identitySql, values: [email, addressHashes] })
  return one(rows)
}
