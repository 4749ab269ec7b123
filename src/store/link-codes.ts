/** Link codes: one-time, for two minutes, stored hashed, worth nothing to another app. */
import type { Queryable } from './database.ts'

export async function insertLinkCode(
  db: Queryable,
  code: { codeHash: Buffer; linkId: string; clientId: string; expiresAt: Date },
): Promise<void> {
  await db.query('insert into link_codes (code_hash, link_id, client_id, expires_at) values ($1, $2, $3, $4)', [
    code.codeHash,
    code.linkId,
    code.clientId,
    code.expiresAt,
  ])
}

/** Uses the code up. The link it stood for, unless that was disconnected, or the code is another app's or too old. */
export async function deleteLinkCode(
  db: Queryable,
  clientId: string,
  codeHash: Buffer,
  now: Date,
): Promise<string | undefined> {
  // Two processes may delete at once: the row lock lets one of them see the row, and the other none.
  const { rows } = await db.query<{ link_id: string }>(
    `delete from link_codes c using links l
     where c.code_hash = $1 and c.client_id = $2 and c.expires_at > $3 and l.id = c.link_id and l.disconnected_at is null
     returning c.link_id`,
    [codeHash, clientId, now],
  )
  return rows[0]?.link_id
}

export async function deleteLinkCodesOfUser(db: Queryable, userId: string): Promise<void> {
  await db.query('delete from link_codes where link_id in (select id from links where user_id = $1)', [userId])
}
