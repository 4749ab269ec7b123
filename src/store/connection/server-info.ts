/** What a PostgreSQL server reports about itself and the current role. Read-only, and works without our tables. */
import type { Queryable } from './database.ts'
import { one } from './rows.ts'

export type ServerInfo = {
  /** As `server_version_num`: 180004. */
  readonly version: number
  readonly versionText: string
  readonly encoding: string
  readonly settings: Readonly<Record<SettingName, string>>
  readonly isReadOnly: boolean
  /** The standbys that must confirm a commit; empty without one. */
  readonly standbys: string
  /** Undefined when the server does not report it. */
  readonly isEncrypted: boolean | undefined
  /** The server is on this machine: a socket, or a loopback address. */
  readonly isLocal: boolean
  readonly role: {
    readonly name: string
    readonly isSuperuser: boolean
    readonly mayCreate: boolean
    readonly mayUseTemporary: boolean
    /** Our tables that it may not read and write. */
    readonly closedTables: readonly string[]
    /** Our tables that another role owns: a migration could not change them. */
    readonly othersTables: readonly string[]
  }
  readonly databaseBytes: number
  /** The median of a few. */
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

const serverSql = `select current_setting('server_version_num')::int as version, current_setting('server_version') as "versionText",
    (select pg_encoding_to_char(encoding) from pg_database where datname = current_database()) as encoding,
    pg_is_in_recovery() or current_setting('transaction_read_only') = 'on' as "isReadOnly",
    current_setting('synchronous_standby_names') as standbys,
    (select ssl from pg_stat_ssl where pid = pg_backend_pid()) as "isEncrypted",
    coalesce(host(inet_server_addr()), '127.0.0.1') ~ '^(127\\.|::1$)' as "isLocal"`

const roleSql = `select current_user as name, rolsuper as "isSuperuser",
    coalesce(has_schema_privilege('public', 'create'), false) as "mayCreate",
    has_database_privilege(current_database(), 'temporary') as "mayUseTemporary"
  from pg_roles where rolname = current_user`

type Row = Pick<ServerInfo, 'version' | 'versionText' | 'encoding' | 'isReadOnly' | 'standbys' | 'isLocal'> & {
  readonly isEncrypted: boolean | null
}

export async function readServerInfo(db: Queryable): Promise<ServerInfo> {
  const server = one((await db.query<Row>(serverSql)).rows)
  const role = one((await db.query<Omit<ServerInfo['role'], keyof TableRights>>(roleSql)).rows)
  const settings = await db.query<{ name: SettingName; setting: string }>(
    'select name, setting from pg_settings where name = any($1::text[])',
    [settingNames],
  )
  return {
    ...server,
    isEncrypted: server.isEncrypted ?? undefined,
    settings: Object.fromEntries(settings.rows.map(({ name, setting }) => [name, setting])) as ServerInfo['settings'],
    role: { ...role, ...(await readTables(db)) },
    databaseBytes: await getDatabaseBytes(db),
    roundTripMs: await timeRoundTrip(db),
  }
}

type TableRights = Pick<ServerInfo['role'], 'closedTables' | 'othersTables'>

/** The append-only tables revoke changes, so only select and insert are required. Of a closed period its owner may only select. */
async function readTables(db: Queryable): Promise<TableRights> {
  const { rows } = await db.query<{ name: string; is_open: boolean; is_own: boolean }>(
    `select c.relname as name, has_table_privilege(c.oid, 'select') and (is_own or has_table_privilege(c.oid, 'insert')) as is_open, is_own
     from pg_class c cross join lateral pg_has_role(c.relowner, 'usage') as is_own where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') order by 1`,
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

/** Including indexes. */
export async function getDatabaseBytes(db: Queryable): Promise<number> {
  const { rows } = await db.query<{ bytes: number }>('select pg_database_size(current_database())::float8 as bytes')
  return one(rows).bytes
}
