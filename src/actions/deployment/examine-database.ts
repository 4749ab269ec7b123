/** The database of a deployment: would it lose money, refuse work, or stand in the way of an upgrade? Pure: what was read is given. */
import type { Check } from '../apps/examine-embedding.ts'
import type { DatabaseGauges } from '../../store/database-gauges.ts'
import type { MigrationStatus } from '../../store/migrations/migrate.ts'
import type { ServerInfo } from '../../store/connection/server-info.ts'

export type DatabaseFacts = {
  readonly server: ServerInfo
  /** Undefined when the role may not read them. */
  readonly migrations: MigrationStatus | undefined
  /** What a look at the room for connections found; `refusal` when all of ours can never fit. */
  readonly connections: { readonly wanted: number; readonly warning?: string | undefined; readonly refusal?: string }
  /** `ok`, or why it takes no writes. */
  readonly writing: string
  readonly gauges: DatabaseGauges | undefined
  readonly isEmbedded: boolean
}

export function examineDatabase(facts: DatabaseFacts): Check[] {
  return [
    checkVersion(facts),
    checkWriting(facts),
    ...checkDurability(facts),
    checkArchive(facts),
    checkStandby(facts),
    checkMigrations(facts),
    checkRole(facts),
    checkTables(facts),
    checkConnections(facts),
    checkEncryption(facts),
    checkDistance(facts),
    checkVacuum(facts),
    checkClock(facts),
  ]
}

function checkVersion({ server }: DatabaseFacts): Check {
  const name = 'PostgreSQL'
  const major = Math.floor(server.version / 10_000)
  if (server.encoding !== 'UTF8')
    return {
      name,
      state: 'bad',
      text: `The database's encoding is ${server.encoding}: names and descriptions would be refused or damaged.`,
      fix: "create database … encoding 'UTF8' template template0, and move there.",
    }
  if (major >= 15 && major <= 18) return { name, state: 'good', text: `${server.versionText}, UTF8.` }
  const fix = 'Move to PostgreSQL 18: docs/operations/install.md, "Upgrade and rollback".'
  return { name, state: 'bad', text: `${server.versionText}: Billfold is tried with 15 to 18.`, fix }
}

const writingFixes: Record<string, string> = {
  'read-only': 'Name the primary in DATABASE_URL, or all servers: the one that takes writes is used.',
  full: 'Make room on its disk: docs/operations/runbooks.md#the-disk-is-full.',
  'no standby':
    'Bring the standby back, or take it out of synchronous_standby_names: docs/operations/runbooks.md#the-database-is-away-or-slow.',
}

function checkWriting({ writing }: DatabaseFacts): Check {
  const name = 'Writes'
  if (writing === 'ok') return { name, state: 'good', text: 'A small write went through to the disk.' }
  const fix =
    writingFixes[writing] ?? 'Read the log of the server: docs/operations/runbooks.md#the-database-is-away-or-slow.'
  return { name, state: 'bad', text: `The database takes no writes: ${writing}.`, fix }
}

/** With one of these off, an acknowledged debit can be gone after a power cut, or the files can be beyond repair. */
function checkDurability({ server: { settings }, isEmbedded }: DatabaseFacts): Check[] {
  const where = isEmbedded ? 'Take it out of DATA_DIR/postgres/postgresql.conf' : 'alter system set'
  const must = (setting: 'fsync' | 'full_page_writes', loss: string): Check =>
    settings[setting] === 'on'
      ? { name: setting, state: 'good', text: 'on.' }
      : { name: setting, state: 'bad', text: `off: ${loss}`, fix: `${where} ${setting} = on; then restart the server.` }
  const commit = settings.synchronous_commit
  return [
    must('fsync', 'after a power cut the books can be damaged beyond repair.'),
    must('full_page_writes', 'a power cut in the middle of a page leaves half of it.'),
    commit === 'off' || commit === 'local'
      ? {
          name: 'synchronous_commit',
          state: 'warn',
          text: `${commit}: the writer of debits asks for more by itself, but what operators and users change can be lost.`,
          fix: 'alter system set synchronous_commit = on; select pg_reload_conf();',
        }
      : { name: 'synchronous_commit', state: 'good', text: `${commit}.` },
    ...(['zero_damaged_pages', 'ignore_checksum_failure'] as const)
      .filter((setting) => settings[setting] === 'on')
      .map((setting): Check => ({
        name: setting,
        state: 'bad',
        text: 'on: damage on the disk is hidden instead of told.',
        fix: `alter system reset ${setting}; select pg_reload_conf();`,
      })),
    settings.data_checksums === 'on'
      ? { name: 'data_checksums', state: 'good', text: 'on.' }
      : {
          name: 'data_checksums',
          state: 'warn',
          text: 'off: a bit that falls over on the disk is noticed by nobody but verify.',
          fix: 'Once, with the server stopped: pg_checksums --enable -D <its data folder>.',
        },
  ]
}

function checkArchive({ server: { settings }, gauges, isEmbedded }: DatabaseFacts): Check {
  const name = 'Back-up'
  const late = gauges?.archiveLateSeconds
  if (late !== undefined && late > 0)
    return {
      name,
      state: 'bad',
      text: `Archiving the log fails, for ${Math.round(late / 60)} minutes now: nothing since then could be brought back, and the log fills the disk.`,
      fix: 'The view pg_stat_archiver and the log of the server say why.',
    }
  if (settings.archive_mode !== 'off') return { name, state: 'good', text: 'The log is archived.' }
  return {
    name,
    state: 'warn',
    text: 'The log is not archived: what happened since the last copy is lost with the disk.',
    fix: isEmbedded
      ? 'Run `npx billfold export` often and keep the file elsewhere; for more, take a PostgreSQL of your own.'
      : 'docs/operations/backup.md: archive_mode and a base back-up every night. (A service that does it for you needs nothing here.)',
  }
}

function checkStandby({ server: { standbys, settings } }: DatabaseFacts): Check {
  const name = 'Standby'
  if (standbys === '')
    return {
      name,
      state: 'good',
      text: 'No standby must confirm: one server alone, or standbys that may miss the last moment.',
    }
  const isWaited = settings.synchronous_commit !== 'local'
  return { name, state: isWaited ? 'good' : 'warn', text: `Commits wait for ${standbys}.` }
}

function checkMigrations({ migrations }: DatabaseFacts): Check {
  const name = 'Migrations'
  if (!migrations) return { name, state: 'unknown', text: 'The role may not read which were applied.' }
  const { current, latest, pending, problem } = migrations
  if (problem !== null)
    return {
      name,
      state: 'bad',
      text: problem,
      fix: 'Run the version of Billfold that this database was left by, or a newer one.',
    }
  if (pending.length === 0) return { name, state: 'good', text: `At ${current}, the newest.` }
  const text = `At ${current} of ${latest}: ${pending.join(', ')} will be applied by the next start.`
  return { name, state: 'warn', text, fix: 'Back up, then npx billfold migrate.' }
}

function checkRole({ server: { role }, migrations, isEmbedded }: DatabaseFacts): Check {
  const name = 'Role'
  if (!role.mayCreate)
    return {
      name,
      state: migrations?.pending.length === 0 ? 'warn' : 'bad',
      text: `${role.name} may not create tables: migrations cannot be applied.`,
      fix: `As the database's owner: grant create on schema public to ${role.name}; or alter database … owner to ${role.name};`,
    }
  if (role.isSuperuser && !isEmbedded)
    return {
      name,
      state: 'warn',
      text: `${role.name} is a superuser: no right holds it back, from no database of this server.`,
      fix: `create role billfold login password '…'; alter database … owner to billfold; and name it in DATABASE_URL.`,
    }
  if (!role.mayUseTemporary)
    return {
      name,
      state: 'warn',
      text: `${role.name} may not make temporary tables: /readyz cannot notice that the disk is full.`,
      fix: `grant temporary on database … to ${role.name};`,
    }
  return { name, state: 'good', text: `${role.name} has what it needs.` }
}

function checkTables({ server: { role } }: DatabaseFacts): Check {
  const name = 'Tables'
  const { closedTables, othersTables } = role
  if (closedTables.length > 0)
    return {
      name,
      state: 'bad',
      text: `${role.name} may not read and write ${closedTables.join(', ')}.`,
      fix: `reassign owned by <their owner> to ${role.name}; in this database, after a restore by another role above all.`,
    }
  if (othersTables.length > 0)
    return {
      name,
      state: 'warn',
      text: `${othersTables.join(', ')} belong to another role: the next migration could not change them.`,
      fix: `reassign owned by <their owner> to ${role.name};`,
    }
  return { name, state: 'good', text: 'Every table can be used, and changed by a migration.' }
}

function checkConnections({ connections }: DatabaseFacts): Check {
  const name = 'Connections'
  if (connections.refusal !== undefined) return { name, state: 'bad', text: connections.refusal }
  if (connections.warning !== undefined) return { name, state: 'warn', text: connections.warning }
  return { name, state: 'good', text: `There is room for the ${connections.wanted} that this service may open.` }
}

function checkEncryption({ server: { isEncrypted, isLocal } }: DatabaseFacts): Check {
  const name = 'Connection to the database'
  if (isEncrypted !== false || isLocal)
    return { name, state: 'good', text: isLocal ? 'It stays on this machine.' : 'It is encrypted.' }
  return {
    name,
    state: 'warn',
    text: 'It goes over the network in plain text: names, balances and password hashes can be read on the way.',
    fix: 'ssl = on at the server, and ?sslmode=verify-full&sslrootcert=… in DATABASE_URL.',
  }
}

function checkDistance({ server: { roundTripMs } }: DatabaseFacts): Check {
  const name = 'Distance to the database'
  const text = `A question and its answer take ${roundTripMs.toFixed(1)} ms.`
  if (roundTripMs < 10) return { name, state: 'good', text }
  return { name, state: 'warn', text: `${text} Every debit waits for at least that.`, fix: 'Run both in one place.' }
}

const maxTransactionAge = 1_000_000_000

function checkVacuum({ server: { settings }, gauges }: DatabaseFacts): Check {
  const name = 'Vacuum'
  if (settings.autovacuum !== 'on')
    return {
      name,
      state: 'bad',
      text: 'autovacuum is off: tables grow, and one day PostgreSQL takes no more writes.',
      fix: 'alter system reset autovacuum; select pg_reload_conf();',
    }
  if (gauges && gauges.transactionAge > maxTransactionAge)
    return {
      name,
      state: 'bad',
      text: `The oldest row is ${gauges.transactionAge} transactions old: at some two thousand million PostgreSQL stops.`,
      fix: 'Look for what holds vacuum up: old transactions, prepared ones, replication slots; then vacuum (freeze).',
    }
  return { name, state: 'good', text: 'autovacuum is on and keeps up.' }
}

function checkClock({ gauges }: DatabaseFacts): Check {
  const name = 'Clock'
  if (!gauges) return { name, state: 'unknown', text: 'The database did not tell the time.' }
  const skew = Math.abs(gauges.clockSkewSeconds)
  const text = `This machine and the database are ${skew.toFixed(1)} s apart.`
  if (skew < 2) return { name, state: 'good', text }
  return { name, state: skew < 60 ? 'warn' : 'bad', text, fix: 'Set both by NTP (chrony, systemd-timesyncd).' }
}
