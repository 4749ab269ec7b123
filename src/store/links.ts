/** Links: the id of a link is the serviceUserId, and an app and a user have one live link at a time. */
import type { Queryable, Transaction } from './connection/database.ts'
import { journalLinkFact } from './events/journal.ts'
import { maybe } from './connection/rows.ts'

export type Link = { readonly id: string; readonly clientId: string; readonly userId: string; readonly createdAt: Date }

const linkColumns = `id, client_id as "clientId", user_id as "userId", created_at as "createdAt"`

/**
 * The live link of this app and a user who has just signed in: the existing one, or a new one with the given id.
 * Undefined when the user is being deleted: the statement waits for the lock on the user's row, and reads the row
 * again.
 */
export async function upsertLink(
  db: Queryable,
  link: { id: string; clientId: string; userId: string },
): Promise<(Link & { readonly isNew: boolean }) | undefined> {
  const { rows } = await db.query<Link>(
    `insert into links as l (id, client_id, user_id, signed_in_at)
     select $1, $2, id, now() from users where id = $3 and deleted_at is null for key share
     on conflict (user_id, client_id, disconnected_at) do update set signed_in_at = now(), signed_out_at = null
     returning ${linkColumns}`,
    [link.id, link.clientId, link.userId],
  )
  const upserted = maybe(rows)
  if (!upserted) return undefined
  const isNew = upserted.id === link.id
  if (isNew) await journalLinkFact(db, 'link.created', link.id)
  return { ...upserted, isNew }
}

/** The same for a user who is known to exist. */
export async function getOrInsertLink(
  db: Queryable,
  link: { id: string; clientId: string; userId: string },
): Promise<Link> {
  const upserted = await upsertLink(db, link)
  if (!upserted) throw new Error('the user is deleted')
  return upserted
}

/** The link of this id, if it is live and belongs to the app. */
export async function findLink(db: Queryable, clientId: string, serviceUserId: string): Promise<Link | undefined> {
  const { rows } = await db.query<Link>(
    `select ${linkColumns} from links where id = $1 and client_id = $2 and disconnected_at is null`,
    [serviceUserId, clientId],
  )
  return maybe(rows)
}

/**
 * Signs the user out: the live links, or the one of this app, accept no session until the user signs in again. Returns
 * how many.
 */
export async function updateLinksSignedOut(
  db: Queryable,
  userId: string,
  { clientId, exceptLinkId }: { clientId?: string | undefined; exceptLinkId?: string | undefined } = {},
): Promise<number> {
  const { rowCount } = await db.query(
    `update links set signed_out_at = now() where user_id = $1 and disconnected_at is null and signed_out_at is null
       and ($2::text is null or client_id = $2) and ($3::text is null or id <> $3)`,
    [userId, clientId ?? null, exceptLinkId ?? null],
  )
  return rowCount ?? 0
}

/** Locks the link against signing out and disconnecting. False when the user is signed out of its app. */
export async function lockSignedInLink(tx: Transaction, id: string): Promise<boolean> {
  const { rowCount } = await tx.query(
    'select from links where id = $1 and disconnected_at is null and signed_out_at is null for share',
    [id],
  )
  return rowCount === 1
}

export async function listLinksOfUser(db: Queryable, userId: string): Promise<Link[]> {
  const { rows } = await db.query<Link>(
    `select ${linkColumns} from links where user_id = $1 and disconnected_at is null order by created_at, id`,
    [userId],
  )
  return rows
}

/** The apps the user has ever had a link with. */
export async function listAppsOfUser(db: Queryable, userId: string): Promise<string[]> {
  const text = 'select distinct client_id from links where user_id = $1 order by client_id'
  return (await db.query<{ client_id: string }>(text, [userId])).rows.map((row) => row.client_id)
}

/** False when there was no live link to disconnect. */
export async function updateLinkDisconnected(db: Queryable, userId: string, linkId: string): Promise<boolean> {
  const { rowCount } = await db.query(
    'update links set disconnected_at = now() where id = $1 and user_id = $2 and disconnected_at is null',
    [linkId, userId],
  )
  if (rowCount !== 1) return false
  await journalLinkFact(db, 'link.disconnected', linkId)
  return true
}

/* Link codes: used once, valid for two minutes, stored hashed, and useless to another app. */

export async function insertLinkCode(
  db: Queryable,
  code: { codeHash: Buffer; linkId: string; clientId: string; lifetimeMs: number },
): Promise<void> {
  await db.query(
    `insert into link_codes (code_hash, link_id, client_id, expires_at) values ($1, $2, $3, now() + $4 * interval '1 ms')`,
    [code.codeHash, code.linkId, code.clientId, code.lifetimeMs],
  )
}

/** Consumes the code. Undefined when the code is unknown, expired or of another app, or its link is disconnected. */
export async function deleteLinkCode(db: Queryable, clientId: string, codeHash: Buffer): Promise<string | undefined> {
  // Of two processes that delete at once, the row lock lets only one see the row.
  const { rows } = await db.query<{ link_id: string }>(
    `delete from link_codes c using links l
     where c.code_hash = $1 and c.client_id = $2 and c.expires_at > now() and l.id = c.link_id and l.disconnected_at is null
     returning c.link_id`,
    [codeHash, clientId],
  )
  return maybe(rows)?.link_id
}

export async function deleteLinkCodesOfUser(db: Queryable, userId: string): Promise<void> {
  await db.query('delete from link_codes where link_id in (select id from links where user_id = $1)', [userId])
}
