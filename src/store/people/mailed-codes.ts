/** Codes sent by mail: the newest for each address and purpose, a few attempts, used once. */
import type { Queryable } from '../connection/database.ts'
import { maybe } from '../connection/rows.ts'

export type CodePurpose = 'confirm' | 'reset'

export type MailedCode = { readonly id: string; readonly codeHash: string }

export async function upsertMailedCode(
  db: Queryable,
  code: MailedCode & { email: string; purpose: CodePurpose; lifetimeMs: number },
): Promise<void> {
  await db.query(
    `insert into mailed_codes (email, purpose, id, code_hash, expires_at) values ($1, $2, $3, $4, now() + $5 * interval '1 ms')
     on conflict (email, purpose) do update
     set id = excluded.id, code_hash = excluded.code_hash, expires_at = excluded.expires_at, tries = 0`,
    [code.email, code.purpose, code.id, code.codeHash, code.lifetimeMs],
  )
}

/** Counts the attempt before the code is compared, so that concurrent guesses cannot exceed the limit. */
export async function updateCodeTries(
  db: Queryable,
  email: string,
  purpose: CodePurpose,
  maxTries: number,
): Promise<MailedCode | undefined> {
  const { rows } = await db.query<MailedCode>(
    `update mailed_codes set tries = tries + 1
     where email = $1 and purpose = $2 and expires_at > now() and tries < $3 returning id, code_hash as "codeHash"`,
    [email, purpose, maxTries],
  )
  return maybe(rows)
}

export async function hasMailedCode(
  db: Queryable,
  email: string,
  purpose: CodePurpose,
  maxTries: number,
): Promise<boolean> {
  const { rows } = await db.query(
    'select 1 from mailed_codes where email = $1 and purpose = $2 and expires_at > now() and tries < $3',
    [email, purpose, maxTries],
  )
  return rows.length > 0
}

/** False when this code was already used, or replaced by a newer one. */
export async function deleteMailedCode(db: Queryable, id: string, email: string): Promise<boolean> {
  const { rowCount } = await db.query('delete from mailed_codes where email = $1 and id = $2', [email, id])
  return rowCount === 1
}
