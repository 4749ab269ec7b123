/** People. A user's wallet is made with the user and has the same id. */
import type { Queryable, Transaction } from './database.ts'

export type User = {
  readonly id: string
  readonly email: string
  readonly passwordHash: string | null
  readonly firstName: string
  readonly lastName: string
  readonly createdAt: Date
}

type Row = {
  id: string
  email: string
  password_hash: string | null
  first_name: string
  last_name: string
  created_at: Date
}

/** False when the email is taken. */
export async function insertUser(tx: Transaction, user: Omit<User, 'createdAt'>): Promise<boolean> {
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
  const { rows } = await db.query<Row>('select * from users where email = $1', [email])
  return rows[0] && toUser(rows[0])
}

export async function findUser(db: Queryable, id: string): Promise<User | undefined> {
  const { rows } = await db.query<Row>('select * from users where id = $1', [id])
  return rows[0] && toUser(rows[0])
}

/** The user, when there is one. */
export async function updatePassword(tx: Transaction, email: string, passwordHash: string): Promise<User | undefined> {
  const { rows } = await tx.query<Row>('update users set password_hash = $2 where email = $1 returning *', [
    email,
    passwordHash,
  ])
  return rows[0] && toUser(rows[0])
}

/** What is known about an email. Found in one read that does the same work whether or not there is anybody. */
export type Identity = {
  readonly userId: string | undefined
  readonly passwordHash: string | null
  /** A sign-up waits for its email to be confirmed; also one with the email of a user, who has nothing to do with it. */
  readonly isSigningUp: boolean
  /** The sign-up's, as long as only one was chosen. */
  readonly signUpHash: string | null
  /** The user has signed in from this address before. */
  readonly isKnownAddress: boolean
}

const identitySql = `select u.id, u.password_hash, s.email is not null as is_signing_up,
    s.password_hash as sign_up_hash, a.user_id is not null as is_known_address
  from (select $1::text as email) as asked
    left join users u on u.email = asked.email
    left join sign_ups s on s.email = asked.email and s.expires_at > now()
    left join user_addresses a on a.user_id = u.id and a.address_hash = $2`

export async function getIdentity(db: Queryable, email: string, addressHash: Buffer): Promise<Identity> {
  const { rows } = await db.query<{
    id: string | null
    password_hash: string | null
    is_signing_up: boolean
    sign_up_hash: string | null
    is_known_address: boolean
  }>({ name: 'get-identity', text: identitySql, values: [email, addressHash] })
  const row = rows[0]!
  return {
    userId: row.id ?? undefined,
    passwordHash: row.password_hash,
    isSigningUp: row.is_signing_up,
    signUpHash: row.sign_up_hash,
    isKnownAddress: row.is_known_address,
  }
}

function toUser(row: Row): User {
  return {
    id: row.id,
    email: row.email,
    passwordHash: row.password_hash,
    firstName: row.first_name,
    lastName: row.last_name,
    createdAt: row.created_at,
  }
}
