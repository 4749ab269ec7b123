/** Codes sent by mail. Each belongs to one handle, has a few attempts, and is used once. */
import type { Queryable } from '../connection/database.ts'
import { maybe } from '../connection/rows.ts'

export type CodePurpose = 'confirm' | 'reset'

/** A code is found only by all three: a handle of another email or purpose finds nothing. */
export type CodeKey = { readonly handleHash: Buffer; readonly email: string; readonly purpose: CodePurpose }

export async function insertMailedCode(
  db: Queryable,
  { handleHash, email, purpose, codeHash, lifetimeMs }: CodeKey & { codeHash: string; lifetimeMs: number },
): Promise<void> {
  await db.query(
    `insert into code_handles (handle_hash, email, purpose, code_hash, expires_at)
     values ($1, $2, $3, $4, now() + $5 * interval '1 ms')`,
    [handleHash, email, purpose, codeHash, lifetimeMs],
  )
}

const isLive = 'handle_hash = $1 and email = $2 and purpose = $3 and expires_at > now() and tries < $4'

/** Counts the attempt before the code is compared, so that concurrent guesses cannot exceed the limit. */
export async function updateCodeTries(
  db: Queryable,
  { handleHash, email, purpose }: CodeKey,
  maxTries: number,
): Promise<{ readonly codeHash: string } | undefined> {
  const { rows } = await db.query<{ codeHash: string }>(
    `update code_handles set tries = tries + 1 where ${isLive} returning code_hash as "codeHash"`,
    [handleHash, email, purpose, maxTries],
  )
  return maybe(rows)
}

export async function hasMailedCode(
  db: Queryable,
  { handleHash, email, purpose }: CodeKey,
  maxTries: number,
): Promise<boolean> {
  const { rows } = await db.query(`select 1 from code_handles where ${isLive}`, [handleHash, email, purpose, maxTries])
  return rows.length > 0
}

/**
 * Deletes this code and all others of the email and purpose; none when this one is gone. The rows are locked in one order: two
 * calls with two handles of one email would otherwise wait for each other.
 */
export async function deleteMailedCodes(db: Queryable, { handleHash, email, purpose }: CodeKey): Promise<boolean> {
  const { rowCount } = await db.query(
    `with live as materialized (
       select handle_hash from code_handles where email = $2 and purpose = $3 order by handle_hash for update
     )
     delete from code_handles
     where handle_hash in (select handle_hash from live) and exists (select 1 from live where handle_hash = $1)`,
    [handleHash, email, purpose],
  )
  return (rowCount ?? 0) > 0
}
