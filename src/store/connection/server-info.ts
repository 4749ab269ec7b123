/** What a server of PostgreSQL says of itself and of the role that asks. Nothing is changed, and no table needs to be there. */
import type { Queryable } from './database.ts'

export type ServerInfo = {
  /** As `server_version_num`: 180004. */
  readonly version: number
  readonly versionText: string
  readonly encoding: string
  /** On or off, and the like. */
  readonly settings: Readonly<Record<SettingName, string>>
  readonly isReadOnly: boolean
  /** Names of standbys that must confirm a commit; empty without one. */
  readonly standbys: string
  /** Undefined where the server does not say. */
  readonly isEncrypted: boolean | undefined
  /** The server is this machine: a socket, or the address of the loopback. */
  readonly isLocal: boolean
  readonly role: {
    readonly name: string
    readonly isSuperuser: boolean
    readonly mayCreate: boolean
    readonly mayUseTemporary: boolean
    /** Tables of ours that it may not read and write. */
    readonly closedTables: readonly string[]
    /** Tables of ours that belong to another role: a migration could not change them. */
    readonly othersTables: readonly string[]
  }
  readonly databaseBytes: number
  /** How long one question and its answer take, the median of a few. */
  readonly roundTripMs: number
}

const settingNames = [
  'fsync',
  'full_page_writes',
  'synchronous_commit',
  'data_checksums',
  'autovacuum',
  'archive_mode',
  'zero_damaged_pages',
  'ignore_checksum_failure',
] as const
type SettingName = (typeof settingNames)[number]

const factsSql = `select current_setting('server_version_num')::int as version, current_setting('server_version') as version_text,
    (select pg_encoding_to_char(encoding) from pg_database where datname = current_database()) as encoding,
    pg_is_in_recovery() or current_setting('transaction_read_only') = 'on' as is_read_only,
    current_setting('synchronous_standby_names') as standbys,
    (select ssl from pg_stat_ssl where pid = pg_backend_pid()) as is_encrypted,
    coalesce(host(inet_server_addr()), '127.0.0.1') as server,
    current_user as role, (select rolsuper from pg_roles where rolname = current_user) as is_superuser,
    has_schema_privilege('public', 'create') as may_create,
    has_database_privilege(current_database(), 'temporary') as may_use_temporary`

type Row = {
  version: number
  version_text: string
  encoding: string
  is_read_only: boolean
  standbys: string
  is_encrypted: boolean | null
  server: string
  role: string
  is_superuser: boolean
  may_create: boolean | null
  may_use_temporary: boolean
}

export async function readServerInfo(db: Queryable): Promise<ServerInfo> {
  const { rows } = await db.query<Row>(factsSql)
  const row = rows[0]!
  const settings = await db.query<{ name: SettingName; setting: string }>(
    'select name, setting from pg_settings where name = any($1::text[])',
    [settingNames],
  )
  return {
    version: row.version,
    versionText: row.version_text,
    encoding: row.encoding,
    settings: Object.fromEntries(settings.rows.map(({ name, setting }) => [name, setting])) as ServerInfo['settings'],
    isReadOnly: row.is_read_only,
    standbys: row.standbys,
    isEncrypted: row.is_encrypted ?? undefined,
    isLocal: /^(127\.|::1$)/.test(row.server),
    role: {
      name: row.role,
      isSuperuser: row.is_superuser,
      mayCreate: row.may_create ?? false,
      mayUseTemporary: row.may_use_temporary,
      ...(await readTables(db)),
    },
    databaseBytes: await getDatabaseBytes(db),
    roundTripMs: await timeRoundTrip(db),
  }
}

/** Of the append-only tables it may change nothing, and need not. */
async function readTables(db: Queryable): Promise<Pick<ServerInfo['role'], 'closedTables' | 'othersTables'>> {
  const { rows } = await db.query<{ name: string; is_open: boolean; is_own: boolean }>(
    `select c.relname as name, has_table_privilege(c.oid, 'select') and has_table_privilege(c.oid, 'insert') as is_open,
       pg_has_role(c.relowner, 'usage') as is_own
     from pg_class c where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') order by 1`,
  )
  return {
    closedTables: rows.filter(({ is_open }) => !is_open).map(({ name }) => name),
    othersTables: rows.filter(({ is_own }) => !is_own).map(({ name }) => name),
  }
}

async function timeRoundTrip(db: Queryable): Promise<number> {
  const times: number[] = []
  for (let i = 0; i < 5; i++) {
    const startedAt = performance.now()
    await db.query('select 1')
    times.push(performance.now() - startedAt)
  }
  return times.sort((a, b) => a - b)[2]!
}

/** How much room the whole database takes, its indexes included. */
export async function getDatabaseBytes(db: Queryable): Promise<number> {
  const { rows } = await db.query<{ bytes: bigint }>('select pg_database_size(current_database()) as bytes')
  return Number(rows[0]!.bytes)
}
