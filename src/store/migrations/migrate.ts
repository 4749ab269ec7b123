import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { splitStatements } from '../cluster/statements.ts'
import type { Queryable } from '../connection/database.ts'
import { locks } from '../locks.ts'
import { listTables, quoted } from './tables.ts'
import { maybe, one } from '../connection/rows.ts'

/** One file of `migrations/`: `0001_ledger.sql` is number 1, name `0001_ledger`. */
export type Migration = { number: number; name: string; sql: string; checksum: string }

/** The database's migrations compared with the program's; `problem` says in a sentence why they do not match. */
export type MigrationStatus = { current: number; latest: number; pending: string[]; problem: string | null }

type AppliedRow = { number: number; name: string; checksum: string }

/** A sentence for the operator: the database and the program do not match, and nothing was changed. */
export class MigrationRefused extends Error {
  override name = 'MigrationRefused'
}

export function parseMigration(fileName: string, text: string): Migration {
  const match = /^(\d{4})_[a-z0-9_]+\.sql$/.exec(fileName)
  if (!match) {
    throw new MigrationRefused(`The migration ${fileName} is not named NNNN_name.sql, in lower case.`)
  }
  // A checkout that converts line ends to CRLF has not edited the migration.
  const sql = text.replaceAll('\r\n', '\n')
  const checksum = createHash('sha256').update(sql).digest('hex')
  return { number: Number(match[1]), name: fileName.slice(0, -'.sql'.length), sql, checksum }
}

export async function readMigrations(folder: URL = new URL('./', import.meta.url)): Promise<Migration[]> {
  // Every other SQL file here is a migration, or is refused for its name: a misspelt one must not be skipped.
  const fileNames = (await readdir(folder))
    .filter((fileName) => fileName.endsWith('.sql') && fileName !== 'schema.sql')
    .sort()
  const migrations = await Promise.all(
    fileNames.map(async (fileName) => parseMigration(fileName, await readFile(new URL(fileName, folder), 'utf8'))),
  )
  checkNumbering(migrations)
  return migrations
}

/** Numbers run 1, 2, 3 …: a gap or a repeat means two branches were merged carelessly, and the order is undefined. */
function checkNumbering(migrations: Migration[]): void {
  migrations.forEach((migration, index) => {
    if (migration.number === index + 1) return
    const before = migrations[index - 1]
    throw new MigrationRefused(
      before?.number === migration.number
        ? `Two migrations have the number ${migration.number}: ${before.name} and ${migration.name}.`
        : `Migration ${migration.name} comes where number ${index + 1} should be: numbers run without gaps from 1.`,
    )
  })
}

/**
 * Applies the missing migrations, one transaction each. Any number of processes may call this at once: each step takes the lock,
 * reads again what is applied, and applies at most one, so the later ones find nothing left to do.
 */
export async function migrate(
  client: Queryable,
  options: { migrations?: Migration[] } = {},
): Promise<{ applied: string[] }> {
  const migrations = options.migrations ?? (await readMigrations())
  checkNumbering(migrations)
  const applied: string[] = []
  for (;;) {
    const name = await applyNext(client, migrations)
    if (name === null) break
    applied.push(name)
  }
  if (applied.length > 0) await analyze(client)
  return { applied }
}

/** The same in a transaction that is open: if it is rolled back, no table is left. */
export async function migrateInTransaction(client: Queryable): Promise<void> {
  const migrations = await readMigrations()
  for (const pending of migrations.slice((await lockApplied(client, migrations)).length)) await apply(client, pending)
}

/** A new index or column has no statistics, and a restored database has none at all. Do not wait for autovacuum. */
async function analyze(client: Queryable): Promise<void> {
  const tables = (await listTables(client)).map((table) => quoted(table.name))
  await client.query('begin')
  await client.query('set local statement_timeout = 0; set local lock_timeout = 0')
  await client.query(`analyze ${tables.join(', ')}`)
  await client.query('commit')
}

/** For `/readyz` and `doctor`: reads only, takes no lock. */
export async function migrationStatus(
  client: Queryable,
  options: { migrations?: Migration[] } = {},
): Promise<MigrationStatus> {
  const migrations = options.migrations ?? (await readMigrations())
  const applied = await listApplied(client)
  return {
    current: applied.at(-1)?.number ?? 0,
    latest: migrations.length,
    pending: migrations.slice(applied.length).map((migration) => migration.name),
    problem: findMisfit(applied, migrations),
  }
}

/** Why a command that only reads cannot use this database, in a sentence; null when it can. */
export async function findReadProblem(
  client: Queryable,
  options: { migrations?: Migration[] } = {},
): Promise<string | null> {
  const { current, latest, pending, problem } = await migrationStatus(client, options)
  if (problem !== null) return problem
  if (current === 0) return await describeForeign(client)
  if (pending.length === 0) return null
  return `The database is at migration ${current} of ${latest}, and this command changes nothing. Back up, then run "npx billfold migrate"; or use the version of Billfold that runs on it.`
}

const shownTables = 4

/** A database without our migrations: empty, or of another program. */
export async function describeForeign(client: Queryable): Promise<string> {
  const { rows } = await client.query<{ database: string; tables: string[] }>(
    `select current_database() as database, array(
       select name from (select case nspname when 'public' then relname else nspname || '.' || relname end::text as name
       from pg_class c join pg_namespace n on n.oid = c.relnamespace
       where relkind in ('r', 'p') and not relispartition and relpersistence <> 't' and nspname !~ '^pg_' and nspname <> 'information_schema'
         and not exists (select 1 from pg_depend d where d.objid = c.oid and d.deptype = 'e')) t
       order by name collate "C") as tables`,
  )
  const { database, tables } = one(rows)
  const check = 'Check DATABASE_URL, or DATA_DIR without it'
  if (tables.length === 0)
    return `The database ${database} is empty: it has no tables. ${check}; "npx billfold migrate" prepares a new database, and "npx billfold import" restores a copy.`
  const more = tables.length > shownTables ? ` and ${tables.length - shownTables} more` : ''
  return `The database ${database} belongs to another program: it has the tables ${tables.slice(0, shownTables).join(', ')}${more}, and none of Billfold. ${check}.`
}

async function applyNext(client: Queryable, migrations: Migration[]): Promise<string | null> {
  await client.query('begin')
  try {
    // A pool's time limits are for requests; waiting while another process builds an index is not a fault.
    await client.query('set local statement_timeout = 0; set local lock_timeout = 0')
    const next = migrations[(await lockApplied(client, migrations)).length]
    if (next) await apply(client, next)
    await client.query('commit')
    return next?.name ?? null
  } catch (error) {
    // The connection may be what failed; only the first error is useful.
    await client.query('rollback').catch(() => undefined)
    throw error
  }
}

/** The migrations of the database. No other process applies one until the transaction ends. */
async function lockApplied(client: Queryable, migrations: Migration[]): Promise<AppliedRow[]> {
  await client.query('select pg_advisory_xact_lock($1)', [locks.migration])
  const applied = await listApplied(client)
  const misfit = findMisfit(applied, migrations)
  if (misfit !== null) throw new MigrationRefused(misfit)
  return applied
}

async function apply(client: Queryable, migration: Migration): Promise<void> {
  await client.query(`create table if not exists billfold_migrations (
    number int primary key,
    name text not null,
    checksum text not null,
    applied_at timestamptz not null default now()
  )`)
  const before = await currentTransaction(client)
  try {
    for (const statement of splitStatements(migration.sql)) await client.query(statement)
  } catch (error) {
    throw new Error(`Migration ${migration.name} failed: ${error instanceof Error ? error.message : String(error)}`, {
      cause: error,
    })
  }
  // A COMMIT inside the file would leave half a migration behind after a crash, so such a file is never recorded.
  if ((await currentTransaction(client)) !== before) {
    throw new Error(`Migration ${migration.name} ends its own transaction: take BEGIN, COMMIT and ROLLBACK out of it.`)
  }
  await client.query('insert into billfold_migrations (number, name, checksum) values ($1, $2, $3)', [
    migration.number,
    migration.name,
    migration.checksum,
  ])
}

async function currentTransaction(client: Queryable): Promise<string | undefined> {
  const { rows } = await client.query<{ id: string }>('select pg_current_xact_id()::text as id')
  return maybe(rows)?.id
}

async function listApplied(client: Queryable): Promise<AppliedRow[]> {
  const { rows } = await client.query<{ known: boolean }>(
    `select to_regclass('billfold_migrations') is not null as known`,
  )
  if (!maybe(rows)?.known) return []
  const applied = await client.query<AppliedRow>(
    'select number, name, checksum from billfold_migrations order by number',
  )
  return applied.rows
}

/** Forward only: the applied migrations must be the first files, byte for byte. */
function findMisfit(applied: AppliedRow[], migrations: Migration[]): string | null {
  const newest = applied.at(-1)
  if (newest && newest.number > migrations.length) {
    return `The database is at migration ${newest.name}, which this program does not know: upgrade the program.`
  }
  for (const [index, row] of applied.entries()) {
    const migration = migrations[index]
    if (row.number !== index + 1 || !migration) {
      return `The database lacks the record of migration ${index + 1}, though it has later ones: restore it from a copy.`
    }
    if (row.name !== migration.name || row.checksum !== migration.checksum) {
      return `Migration ${migration.name} was edited after it was applied (as ${row.name}): restore the file and add a new migration instead.`
    }
  }
  return null
}
