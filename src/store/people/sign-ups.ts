/** Sign-ups whose email is not confirmed yet. */
import type { Queryable } from '../connection/database.ts'
import { maybe } from '../connection/rows.ts'

export type SignUp = {
  readonly email: string
  /** Null after two sign-ups with this email and different passwords. */
  readonly passwordHash: string | null
  readonly firstName: string
  readonly lastName: string
}

/**
 * A new sign-up, or the newest of several. Unless its password equals the pending one's, neither password counts any more.
 * `sameAs` is the hash the caller compared: the statement checks that it is still the stored one, so that a concurrent sign-up
 * counts as different.
 */
export async function upsertSignUp(
  db: Queryable,
  signUp: SignUp & { readonly lifetimeMs: number },
  sameAs: string | null,
): Promise<void> {
  await db.query(
    `insert into sign_ups as s (email, password_hash, first_name, last_name, expires_at) values ($1, $2, $3, $4, now() + $5 * interval '1 ms')
     on conflict (email) do update set
       password_hash = case when s.expires_at <= now() then excluded.password_hash when s.password_hash = $6 then $6 end,
       first_name = excluded.first_name, last_name = excluded.last_name, expires_at = excluded.expires_at`,
    [signUp.email, signUp.passwordHash, signUp.firstName, signUp.lastName, signUp.lifetimeMs, sameAs],
  )
}

export async function deleteSignUp(db: Queryable, email: string): Promise<SignUp | undefined> {
  const text = `delete from sign_ups where email = $1 and expires_at > now()
    returning email, password_hash as "passwordHash", first_name as "firstName", last_name as "lastName"`
  const { rows } = await db.query<SignUp>(text, [email])
  return maybe(rows)
}
