/** Sign-ups that wait for their email to be confirmed. */
import type { Queryable } from '../connection/database.ts'
import { maybe } from '../connection/rows.ts'

export type SignUp = {
  readonly email: string
  /** Null when two sign-ups of this email disagreed. */
  readonly passwordHash: string | null
  readonly firstName: string
  readonly lastName: string
}

/**
 * A new sign-up, or the newest of several. Unless it has the same password as the one that waits already, neither
 * password counts any more; also when the other came in only a moment ago, which is why the hash seen is compared here.
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
