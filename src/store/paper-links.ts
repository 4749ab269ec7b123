/** Links to receipts and statements, each used once and valid for two minutes. */
import type { Queryable } from './connection/database.ts'
import { maybe } from './connection/rows.ts'

export async function insertPaperLink(
  db: Queryable,
  link: { tokenHash: Buffer; userId: string; paper: object; lifetimeMs: number },
): Promise<void> {
  await db.query(
    `insert into paper_links (token_hash, user_id, paper, expires_at) values ($1, $2, $3, now() + $4 * interval '1 ms')`,
    [link.tokenHash, link.userId, JSON.stringify(link.paper), link.lifetimeMs],
  )
}

/** Consumes the link: of two callers at once, one gets the row. Undefined when the link is used, expired or unknown. */
export async function deletePaperLink(
  db: Queryable,
  tokenHash: Buffer,
): Promise<{ userId: string; firstName: string; lastName: string; paper: object } | undefined> {
  const { rows } = await db.query<{ userId: string; firstName: string; lastName: string; paper: object }>(
    `delete from paper_links l using users u
     where l.token_hash = $1 and l.expires_at > now() and u.id = l.user_id and u.deleted_at is null
     returning l.user_id as "userId", u.first_name as "firstName", u.last_name as "lastName", l.paper`,
    [tokenHash],
  )
  return maybe(rows)
}
