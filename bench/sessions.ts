/** Widget sessions that outlive a measurement. */
import { hashSecret, newSessionToken } from '../src/actions/tokens.ts'
import type { Site } from './stage.ts'

/** A session for each serviceUserId. Returns their tokens. */
export async function insertSessions(site: Site, users: readonly string[]): Promise<string[]> {
  const tokens = users.map(() => newSessionToken())
  await site.database.query(
    `insert into widget_sessions (token_hash, client_id, link_id, user_id, created_at, expires_at)
     select decode(t.hash, 'hex'), l.client_id, l.id, l.user_id, now(), now() + interval '1 hour'
     from unnest($1::text[], $2::text[]) as t (link_id, hash) join links l on l.id = t.link_id`,
    [users, tokens.map((token) => hashSecret(token).toString('hex'))],
  )
  return tokens
}
