/** Pending changes of an email, confirmed by two codes: the newest of each user, a few attempts, used once. */
import type { Queryable } from '../connection/database.ts'
import { maybe } from '../connection/rows.ts'

export type EmailChange = {
  readonly id: string
  readonly email: string
  readonly oldCodeHash: string
  readonly newCodeHash: string
}

export async function upsertEmailChange(
  db: Queryable,
  userId: string,
  change: EmailChange & { readonly lifetimeMs: number },
): Promise<void> {
  // A user who is being deleted gets none: the statement waits for the lock on the user's row, and reads the row again.
  await db.query(
    `insert into email_changes (user_id, id, email, old_code_hash, new_code_hash, expires_at)
     select id, $2, $3, $4, $5, now() + $6 * interval '1 ms' from users where id = $1 and deleted_at is null for key share
     on conflict (user_id) do update set id = excluded.id, email = excluded.email, old_code_hash = excluded.old_code_hash,
       new_code_hash = excluded.new_code_hash, expires_at = excluded.expires_at, tries = 0`,
    [userId, change.id, change.email, change.oldCodeHash, change.newCodeHash, change.lifetimeMs],
  )
}

/** Counts the attempt before the codes are compared, so that concurrent guesses cannot exceed the limit. */
export async function updateEmailChangeTries(
  db: Queryable,
  userId: string,
  maxTries: number,
): Promise<EmailChange | undefined> {
  const { rows } = await db.query<EmailChange>(
    `update email_changes set tries = tries + 1 where user_id = $1 and expires_at > now() and tries < $2
     returning id, email, old_code_hash as "oldCodeHash", new_code_hash as "newCodeHash"`,
    [userId, maxTries],
  )
  return maybe(rows)
}

/** False when this change was already made, or replaced by a newer one. */
export async function deleteEmailChange(db: Queryable, userId: string, id: string): Promise<boolean> {
  const { rowCount } = await db.query('delete from email_changes where user_id = $1 and id = $2', [userId, id])
  return rowCount === 1
}
