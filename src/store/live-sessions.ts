/** Widget sessions that are alive, for operators. Few are at any moment, so the index on their end finds them. */
import type { Queryable } from './database.ts'

export async function countLiveSessions(db: Queryable, now: Date, clientId?: string): Promise<number> {
  const { rows } = await db.query<{ count: bigint }>(
    `select count(*) as count from widget_sessions
     where expires_at > $1 and revoked_at is null and ($2::text is null or client_id = $2)`,
    [now, clientId ?? null],
  )
  return Number(rows[0]!.count)
}

export type LiveSession = {
  readonly clientId: string
  readonly parentOrigin: string | null
  readonly createdAt: Date
  readonly expiresAt: Date
}

type Row = { client_id: string; parent_origin: string | null; created_at: Date; expires_at: Date }

export async function listLiveSessionsOfUser(db: Queryable, now: Date, userId: string): Promise<LiveSession[]> {
  const { rows } = await db.query<Row>(
    `select client_id, parent_origin, created_at, expires_at from widget_sessions
     where expires_at > $1 and revoked_at is null and user_id = $2 order by created_at desc limit 50`,
    [now, userId],
  )
  return rows.map((row) => ({
    clientId: row.client_id,
    parentOrigin: row.parent_origin,
    createdAt: row.created_at,
    expiresAt: row.expires_at,
  }))
}
