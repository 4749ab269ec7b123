/** Client apps and their secrets. */
import type { Queryable, Transaction } from './connection/database.ts'
import { journalPing } from './events/journal.ts'
import { maybe, one } from './connection/rows.ts'

export const scopes = ['wallet:read', 'wallet:write'] as const
export type Scope = (typeof scopes)[number]

/** The settings an operator edits. */
export type AppSettings = {
  readonly name: string
  readonly allowedOrigins: readonly string[]
  readonly allowedIframeParents: readonly string[]
  readonly scopes: readonly Scope[]
  readonly strictReferences: boolean
  /** `#rrggbb`, or null for the default of the service. */
  readonly accentColor: string | null
  readonly logoUrl: string | null
  /** How many debits and credits it may have under way in each process; null for the service's default. */
  readonly maxOperations: number | null
}

export type AppSecret = {
  readonly id: string
  readonly hash: Buffer
  readonly createdAt: Date
  readonly expiresAt: Date | null
  /** When an operator ended it; null when it is valid or its overlap ended. */
  readonly revokedAt: Date | null
  /** At the time of the read. Code that caches a secret compares `expiresAt` instead. */
  readonly hasEnded: boolean
  readonly lastUsedAt: Date | null
}

export type App = AppSettings & {
  readonly clientId: string
  readonly isActive: boolean
  /** What happens to its users is recorded for it, and it can read that. */
  readonly hasEvents: boolean
  readonly createdAt: Date
  /** Newest first, expired ones included. */
  readonly secrets: readonly AppSecret[]
}

/** A counter that grows with every change of an app or a secret, and the database's clock. */
export async function getAppsVersion(db: Queryable): Promise<{ version: bigint; now: Date }> {
  const { rows } = await db.query<{ version: bigint; now: Date }>(
    'select version, clock_timestamp() as now from apps_version',
  )
  return one(rows)
}

const appsSql = `select client_id as "clientId", name, allowed_origins as "allowedOrigins",
  allowed_iframe_parents as "allowedIframeParents", scopes, strict_references as "strictReferences",
  accent_color as "accentColor", logo_url as "logoUrl", max_operations as "maxOperations",
  is_active as "isActive", has_events as "hasEvents", created_at as "createdAt" from apps`

type AppRow = Omit<App, 'secrets'>
type SecretRow = AppSecret & { readonly clientId: string }

const secretsSql = `select s.client_id as "clientId", s.id, s.secret_hash as hash, s.created_at as "createdAt",
    s.expires_at as "expiresAt", s.revoked_at as "revokedAt", coalesce(s.expires_at <= now(), false) as "hasEnded", u.last_used_at as "lastUsedAt"
  from app_secrets s left join app_secret_uses u on u.secret_id = s.id`

export async function listApps(db: Queryable): Promise<App[]> {
  const apps = await db.query<AppRow>(`${appsSql} order by created_at, client_id`)
  const secrets = await db.query<SecretRow>(`${secretsSql} order by s.created_at desc, s.id`)
  const byApp = Map.groupBy(secrets.rows, (row) => row.clientId)
  return apps.rows.map((row) => ({ ...row, secrets: byApp.get(row.clientId) ?? [] }))
}

export async function findApp(db: Queryable, clientId: string): Promise<App | undefined> {
  const { rows } = await db.query<AppRow>(`${appsSql} where client_id = $1`, [clientId])
  const app = maybe(rows)
  if (!app) return undefined
  const secrets = await db.query<SecretRow>(`${secretsSql} where s.client_id = $1 order by s.created_at desc, s.id`, [
    clientId,
  ])
  return { ...app, secrets: secrets.rows }
}

/** Locks the app's row against other changes of the app. */
export async function lockApp(tx: Transaction, clientId: string): Promise<App | undefined> {
  await tx.query('select from apps where client_id = $1 for no key update', [clientId])
  return await findApp(tx, clientId)
}

export async function insertApp(db: Queryable, clientId: string, settings: AppSettings): Promise<void> {
  await db.query(
    `insert into apps (client_id, name, allowed_origins, allowed_iframe_parents, scopes, strict_references, accent_color, logo_url,
       max_operations)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
    settingValues(clientId, settings),
  )
}

export async function updateApp(db: Queryable, clientId: string, settings: AppSettings): Promise<void> {
  await db.query(
    `update apps set name = $2, allowed_origins = $3, allowed_iframe_parents = $4, scopes = $5, strict_references = $6,
       accent_color = $7, logo_url = $8, max_operations = $9 where client_id = $1`,
    settingValues(clientId, settings),
  )
}

function settingValues(clientId: string, s: AppSettings): unknown[] {
  const lists = [s.allowedOrigins, s.allowedIframeParents, s.scopes]
  return [clientId, s.name, ...lists, s.strictReferences, s.accentColor, s.logoUrl, s.maxOperations]
}

export async function updateAppActive(db: Queryable, clientId: string, isActive: boolean): Promise<void> {
  await db.query('update apps set is_active = $2 where client_id = $1', [clientId, isActive])
}

/** Starts with an event, so that a receiver has one to read. */
export async function updateAppEvents(tx: Transaction, clientId: string, hasEvents: boolean): Promise<void> {
  await tx.query('update apps set has_events = $2 where client_id = $1', [clientId, hasEvents])
  if (hasEvents) await journalPing(tx, clientId)
}

export async function insertSecret(db: Queryable, id: string, clientId: string, hash: Buffer): Promise<void> {
  await db.query('insert into app_secrets (id, client_id, secret_hash) values ($1, $2, $3)', [id, clientId, hash])
}

/** Makes the app's other secrets expire after the given time, unless they expire earlier. Without a time they are revoked. Returns that instant. */
export async function updateOtherSecretsEnd(
  db: Queryable,
  clientId: string,
  keptId: string,
  lifetimeMs: number,
): Promise<Date> {
  const { rows } = await db.query<{ at: Date }>(
    `with chosen as (select now() + $3 * interval '1 ms' as at),
       ended as (update app_secrets set expires_at = chosen.at, revoked_at = case when $3 = 0 then now() end from chosen
         where client_id = $1 and id <> $2 and (expires_at is null or expires_at > chosen.at))
     select at from chosen`,
    [clientId, keptId, lifetimeMs],
  )
  return one(rows).at
}

/** Makes the secret expire now. False when the app has no such secret. */
export async function updateSecretEnd(db: Queryable, clientId: string, secretId: string): Promise<boolean> {
  const { rowCount } = await db.query(
    `update app_secrets set expires_at = least(coalesce(expires_at, 'infinity'), now()),
       revoked_at = case when expires_at <= now() then revoked_at else now() end where client_id = $1 and id = $2`,
    [clientId, secretId],
  )
  return rowCount === 1
}

/** Deletes secrets that expired ninety days ago; until then the list of secrets shows them to operators. */
export async function deleteEndedSecrets(tx: Transaction): Promise<number> {
  const { rows } = await tx.query<{ id: string }>(
    `select id from app_secrets where expires_at <= now() - interval '90 days' limit 1000`,
  )
  // A DELETE that finds nothing would still fire app_secrets_changed, and every process would read all apps again.
  if (rows.length === 0) return 0
  await tx.query('delete from app_secrets where id = any($1::uuid[])', [rows.map(({ id }) => id)])
  return rows.length
}

export async function upsertSecretUse(db: Queryable, secretId: string): Promise<void> {
  await db.query(
    `insert into app_secret_uses as u (secret_id, last_used_at) values ($1, now())
     on conflict (secret_id) do update set last_used_at = greatest(u.last_used_at, excluded.last_used_at)`,
    [secretId],
  )
}
