/** Links: their ids are the serviceUserIds, one for each (app, user) at a time. */
import type { Queryable } from './database.ts'

export type Link = { readonly id: string; readonly clientId: string; readonly userId: string; readonly createdAt: Date }

type Row = { id: string; client_id: string; user_id: string; created_at: Date }

/** The live link of this app and user: the one there is, or a new one with the given id. */
export async function getOrInsertLink(
  db: Queryable,
  link: { id: string; clientId: string; userId: string },
): Promise<Link> {
  const { rows } = await db.query<Row>(
    `insert into links as l (id, client_id, user_id) values ($1, $2, $3)
     on conflict (user_id, client_id, disconnected_at) do update set user_id = l.user_id
     returning id, client_id, user_id, created_at`,
    [link.id, link.clientId, link.userId],
  )
  return toLink(rows[0]!)
}

/** The user's live link, when it is this app's. */
export async function findLink(db: Queryable, clientId: string, serviceUserId: string): Promise<Link | undefined> {
  const { rows } = await db.query<Row>(
    'select id, client_id, user_id, created_at from links where id = $1 and client_id = $2 and disconnected_at is null',
    [serviceUserId, clientId],
  )
  return rows[0] && toLink(rows[0])
}

export async function listLinksOfUser(db: Queryable, userId: string): Promise<Link[]> {
  const { rows } = await db.query<Row>(
    'select id, client_id, user_id, created_at from links where user_id = $1 and disconnected_at is null order by created_at, id',
    [userId],
  )
  return rows.map(toLink)
}

/** Whether there was a live link to disconnect. */
export async function updateLinkDisconnected(db: Queryable, userId: string, linkId: string): Promise<boolean> {
  const { rowCount } = await db.query(
    'update links set disconnected_at = now() where id = $1 and user_id = $2 and disconnected_at is null',
    [linkId, userId],
  )
  return rowCount === 1
}

function toLink(row: Row): Link {
  return { id: row.id, clientId: row.client_id, userId: row.user_id, createdAt: row.created_at }
}

/* Link codes: one-time, for two minutes, stored hashed, worth nothing to another app. */

export async function insertLinkCode(
  db: Queryable,
  code: { codeHash: Buffer; linkId: string; clientId: string; lifetimeMs: number },
): Promise<void> {
  await db.query(
    `insert into link_codes (code_hash, link_id, client_id, expires_at) values ($1, $2, $3, now() + $4 * interval '1 ms')`,
    [code.codeHash, code.linkId, code.clientId, code.lifetimeMs],
  )
}

/** Uses the code up. The link it stood for, unless that was disconnected, or the code is another app's or too old. */
export async function deleteLinkCode(db: Queryable, clientId: string, codeHash: Buffer): Promise<string | undefined> {
  // Two processes may delete at once: the row lock lets one of them see the row, and the other none.
  const { rows } = await db.query<{ link_id: string }>(
    `delete from link_codes c using links l
     where c.code_hash = $1 and c.client_id = $2 and c.expires_at > now() and l.id = c.link_id and l.disconnected_at is null
     returning c.link_id`,
    [codeHash, clientId],
  )
  return rows[0]?.link_id
}

export async function deleteLinkCodesOfUser(db: Queryable, userId: string): Promise<void> {
  await db.query('delete from link_codes where link_id in (select id from links where user_id = $1)', [userId])
}
