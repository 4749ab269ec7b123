/** Widget sessions, found by the hash of their token. */
import { ofSessions } from '../cluster/guarded-read.ts'
import { plainArray } from '../connection/arrays.ts'
import type { Queryable } from '../connection/database.ts'
import type { FrozenFor } from '../wallets.ts'
import { maybe, one } from '../connection/rows.ts'
import { heldSql } from '../writer/stored-holds.ts'
import { isUseDueSql, presenceUntilSql } from './devices.ts'

export type NewSession = {
  readonly tokenHash: Buffer
  readonly clientId: string
  readonly linkId: string
  readonly userId: string
  readonly parentOrigin: string | null
  readonly lifetimeMs: number
}

/** Why sessions are revoked before they expire. */
export type RevokedFor = 'signed-out' | 'signed-out-everywhere' | 'password-changed'

/** The current state of a session, with everything that can end it and that it shows. */
export type Session = Omit<NewSession, 'lifetimeMs'> & {
  readonly expiresAt: Date
  /** The database's clock at the read, which alone decides whether a session has expired. */
  readonly readAt: Date
  readonly isExpired: boolean
  readonly firstName: string
  readonly lastName: string
  /** The user's choice; null when none. */
  readonly language: string | null
  /** The browser that uses the session is known. */
  readonly isBrowserRecorded: boolean
  readonly isRevoked: boolean
  /** Null if it was not revoked, or by a process of an older version. */
  readonly revokedFor: RevokedFor | null
  readonly isDisconnected: boolean
  readonly isSignedOut: boolean
  readonly isAppActive: boolean
  readonly balanceMinor: bigint
  readonly heldMinor: bigint
  readonly sequence: number
  readonly frozenFor: FrozenFor
  /** The device of the call, if it is one of the session's user and has not ended. */
  readonly deviceId: string | null
  /** Until when the password that was given on the device counts; null when it was not given lately. */
  readonly presenceUntil: Date | null
  /** The use of the device should be recorded. */
  readonly isDeviceUseDue: boolean
}

/**
 * Returns the expiry; undefined when the link accepts no sessions. The link's row is locked, so that a concurrent sign-out or
 * deletion either finds the session, or is visible here.
 */
export async function insertWidgetSession(db: Queryable, session: NewSession): Promise<Date | undefined> {
  const { tokenHash, clientId, linkId, userId, parentOrigin, lifetimeMs } = session
  const { rows } = await db.query<{ expiresAt: Date }>(
    `insert into widget_sessions (token_hash, client_id, link_id, user_id, parent_origin, created_at, expires_at)
     select $1, $2, id, $4, $5, now(), now() + $6 * interval '1 ms' from links
     where id = $3 and disconnected_at is null and signed_out_at is null for share returning expires_at as "expiresAt"`,
    [tokenHash, clientId, linkId, userId, parentOrigin, lifetimeMs],
  )
  return maybe(rows)?.expiresAt
}

// The app's state is read from the database, not from the copy in memory: a deactivated app's widgets stop at once.
const sessionColumns = `s.token_hash as "tokenHash", s.client_id as "clientId", s.link_id as "linkId", s.user_id as "userId",
    s.parent_origin as "parentOrigin", s.expires_at as "expiresAt", now() as "readAt", s.expires_at <= now() as "isExpired",
    u.first_name as "firstName", u.last_name as "lastName", u.language, s.address_hash is not null as "isBrowserRecorded",
    s.revoked_at is not null as "isRevoked", s.revoked_for as "revokedFor", l.disconnected_at is not null as "isDisconnected",
    l.signed_out_at is not null as "isSignedOut",
    a.is_active as "isAppActive", d.id as "deviceId", ${presenceUntilSql('d')} as "presenceUntil",
    ${isUseDueSql('d')} as "isDeviceUseDue"`
const walletColumns = (held: string) =>
  `w.balance as "balanceMinor", ${held} as "heldMinor", w.sequence::float8 as sequence, w.frozen_for as "frozenFor"`
const sessionTables = `widget_sessions s join links l on l.id = s.link_id join apps a on a.client_id = s.client_id
    join users u on u.id = s.user_id
    left join devices d on d.token_hash = $2 and d.user_id = s.user_id and d.revoked_at is null and d.expires_at > now()`
const isAsked = 's.token_hash = any($1::bytea[])'

/** On a cluster the wallet is on another server than the other tables. Joined, every server would be asked. */
const findSessionsSql = {
  name: 'find-sessions',
  text: `select ${sessionColumns}, ${walletColumns(heldSql('w'))} from ${sessionTables} join wallets w on w.id = s.user_id where ${isAsked}`,
  onCluster: `select ${sessionColumns} from ${sessionTables} where ${isAsked}`,
}

type SessionWallet = Pick<Session, 'userId' | 'balanceMinor' | 'heldMinor' | 'sequence' | 'frozenFor'>

const sessionWalletsSql = {
  name: 'find-session-wallets',
  text: `select w.id as "userId", ${walletColumns(heldSql('w', 'h.wallet_id = any($1::uuid[])'))} from wallets w where w.id = any($1::uuid[])`,
}

/** The token of a device counts only for sessions of the same user. */
export async function findSession(
  db: Queryable,
  tokenHash: Buffer,
  deviceTokenHash: Buffer | null = null,
): Promise<Session | undefined> {
  return maybe(await readSessions(db, [tokenHash], deviceTokenHash))
}

/** Many sessions in one read, without devices. */
export async function findSessions(db: Queryable, tokenHashes: readonly Buffer[]): Promise<Session[]> {
  return await readSessions(db, tokenHashes, null)
}

async function readSessions(
  db: Queryable,
  tokenHashes: readonly Buffer[],
  deviceTokenHash: Buffer | null,
): Promise<Session[]> {
  const { rows } = await db.query<Session>({ ...findSessionsSql, values: [tokenHashes, deviceTokenHash] })
  const userIds = rows.flatMap(({ userId, sequence }) => (sequence === undefined ? [userId] : []))
  if (userIds.length === 0) return rows
  const found = await db.query<SessionWallet>({
    ...sessionWalletsSql,
    values: [plainArray(userIds, String)],
    findAway: ofSessions(tokenHashes),
  })
  const wallets = new Map(found.rows.map((wallet) => [wallet.userId, wallet]))
  return rows.flatMap((session) => {
    const wallet = wallets.get(session.userId)
    return wallet ? [{ ...session, ...wallet }] : []
  })
}

export async function updateSessionRevoked(db: Queryable, tokenHash: Buffer): Promise<void> {
  await db.query(
    `update widget_sessions set revoked_at = now(), revoked_for = 'signed-out' where token_hash = $1 and revoked_at is null`,
    [tokenHash],
  )
}

/** Revokes the user's sessions, or those of one app; also those that expired lately, which links to papers still depend on. */
export async function updateSessionsRevoked(
  db: Queryable,
  userId: string,
  revokedFor: RevokedFor,
  { clientId, except }: { clientId?: string | undefined; except?: Buffer | undefined } = {},
): Promise<void> {
  await db.query(
    `update widget_sessions set revoked_at = now(), revoked_for = $4
     where user_id = $1 and expires_at > now() - interval '15 minutes' and revoked_at is null
       and ($2::text is null or client_id = $2) and ($3::bytea is null or token_hash <> $3)`,
    [userId, clientId ?? null, except ?? null, revokedFor],
  )
}

/** Of the last day, newest first; older ones are deleted. */
export async function listSessionsOfUser(
  db: Queryable,
  userId: string,
): Promise<{ clientId: string; browser: string | null; createdAt: Date; expiresAt: Date }[]> {
  const { rows } = await db.query<{ clientId: string; browser: string | null; createdAt: Date; expiresAt: Date }>(
    `select client_id as "clientId", browser, created_at as "createdAt", expires_at as "expiresAt" from widget_sessions
     where user_id = $1 order by expires_at desc limit 1000`,
    [userId],
  )
  return rows
}

/** Records the browser and network that use the session. The first call counts. */
export async function updateSessionBrowser(
  db: Queryable,
  tokenHash: Buffer,
  { browser, addressHash }: { browser: string | null; addressHash: Buffer },
): Promise<void> {
  await db.query(
    'update widget_sessions set browser = $2, address_hash = $3 where token_hash = $1 and address_hash is null',
    [tokenHash, browser, addressHash],
  )
}

/* Where a user is signed in: the apps, and the browsers that used the wallet there within the last day. */

export type AppSignIn = {
  readonly clientId: string
  readonly since: Date
  readonly browsers: readonly SignedInBrowser[]
}

export type SignedInBrowser = {
  readonly browser: string | null
  readonly addressHash: Buffer
  readonly lastAt: Date
  /** One of its sessions is live. */
  readonly isLive: boolean
  /** The caller's session is one of its sessions. */
  readonly isThis: boolean
}

type SignedInRow = {
  client_id: string
  since: Date
  browser: string | null
  address_hash: Buffer | null
  last_at: Date | null
  is_live: boolean | null
  is_this: boolean | null
}

/** An app may open any number of sessions, so only the newest thousand are read; a browser renews every five minutes. */
const signedInSql = `
with recent as materialized (
  select link_id, browser, address_hash, created_at, expires_at, token_hash from widget_sessions
  where user_id = $1 and expires_at > now() - interval '1 day' and revoked_at is null and address_hash is not null
  order by expires_at desc limit 1000
), browsers as (
  select link_id, browser, address_hash, max(created_at) as last_at, bool_or(expires_at > now()) as is_live,
    bool_or(token_hash = $2) as is_this, row_number() over (partition by link_id order by max(created_at) desc) as ordinal
  from recent group by link_id, browser, address_hash
)
select l.client_id, coalesce(l.signed_in_at, l.created_at) as since, b.browser, b.address_hash, b.last_at, b.is_live, b.is_this
from links l left join browsers b on b.link_id = l.id and b.ordinal <= 10
where l.user_id = $1 and l.disconnected_at is null and l.signed_out_at is null
order by since desc, l.id, b.last_at desc`

export async function listAppSignIns(db: Queryable, userId: string, tokenHash: Buffer): Promise<AppSignIn[]> {
  const { rows } = await db.query<SignedInRow>(signedInSql, [userId, tokenHash])
  const signIns = new Map<string, { clientId: string; since: Date; browsers: SignedInBrowser[] }>()
  for (const row of rows) {
    const signIn = signIns.get(row.client_id) ?? { clientId: row.client_id, since: row.since, browsers: [] }
    signIns.set(row.client_id, signIn)
    if (row.address_hash === null) continue
    signIn.browsers.push({
      browser: row.browser,
      addressHash: row.address_hash,
      lastAt: row.last_at!,
      isLive: row.is_live!,
      isThis: row.is_this!,
    })
  }
  return [...signIns.values()]
}

/* Live widget sessions, for operators. There are few at a time, so the index on their expiry finds them. */

export async function countLiveSessions(db: Queryable, clientId?: string): Promise<number> {
  const { rows } = await db.query<{ count: number }>(
    `select count(*)::int as count from widget_sessions
     where expires_at > now() and revoked_at is null and ($1::text is null or client_id = $1)`,
    [clientId ?? null],
  )
  return one(rows).count
}

export type LiveSession = {
  readonly clientId: string
  readonly parentOrigin: string | null
  readonly createdAt: Date
  readonly expiresAt: Date
}

export async function listLiveSessionsOfUser(db: Queryable, userId: string): Promise<LiveSession[]> {
  const { rows } = await db.query<LiveSession>(
    `select client_id as "clientId", parent_origin as "parentOrigin", created_at as "createdAt", expires_at as "expiresAt"
     from widget_sessions
     where expires_at > now() and revoked_at is null and user_id = $1 order by created_at desc limit 50`,
    [userId],
  )
  return rows
}
