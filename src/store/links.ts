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
     on conflict (client_id, user_id) where disconnected_at is null do update set user_id = l.user_id
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
