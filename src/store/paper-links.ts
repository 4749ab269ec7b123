/** Links to receipts, statements and data, each used once. A link ends with the session and the device it was ordered with. */
import type { Queryable } from './connection/database.ts'
import { maybe } from './connection/rows.ts'

export type PaperLink = {
  readonly userId: string
  readonly sessionHash: Buffer
  /** Null when it was ordered with a session alone. */
  readonly deviceId: string | null
  readonly paper: object
}

export async function insertPaperLink(
  db: Queryable,
  link: PaperLink & { readonly tokenHash: Buffer; readonly lifetimeMs: number },
): Promise<void> {
  await db.query(
    `insert into paper_links (token_hash, user_id, session_hash, device_id, paper, expires_at)
     values ($1, $2, $3, $4, $5, now() + $6 * interval '1 ms')`,
    [link.tokenHash, link.userId, link.sessionHash, link.deviceId, JSON.stringify(link.paper), link.lifetimeMs],
  )
}

/**
 * Consumes the link: of two callers at once, one gets the row. Undefined when the link is used, expired or unknown, or when its
 * session or device was ended. A session that only expired does not end it: the page is open longer than five minutes.
 */
export async function deletePaperLink(
  db: Queryable,
  tokenHash: Buffer,
): Promise<(PaperLink & { readonly firstName: string; readonly lastName: string }) | undefined> {
  const { rows } = await db.query<PaperLink & { firstName: string; lastName: string }>(
    `delete from paper_links p using users u, widget_sessions s, links l
     where p.token_hash = $1 and p.expires_at > now() and u.id = p.user_id and u.deleted_at is null
       and s.token_hash = p.session_hash and s.revoked_at is null
       and l.id = s.link_id and l.disconnected_at is null and l.signed_out_at is null
       and (p.device_id is null or exists (
         select from devices d where d.id = p.device_id and d.revoked_at is null and d.expires_at > now()))
     returning p.user_id as "userId", p.session_hash as "sessionHash", p.device_id as "deviceId", p.paper,
       u.first_name as "firstName", u.last_name as "lastName"`,
    [tokenHash],
  )
  return maybe(rows)
}
