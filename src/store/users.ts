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
