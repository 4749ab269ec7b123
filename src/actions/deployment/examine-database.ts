/** Checks the database of a deployment: could it lose money, refuse work, or block an upgrade? Pure. */
import type { Check } from '../apps/examine-embedding.ts'
import type { DatabaseGauges } from '../../store/database-gauges.ts'
import type { ServersProblem } from '../../store/connection/choose-server.ts'
import type { MigrationStatus } from '../../store/migrations/migrate.ts'
import type { ServerInfo } from '../../store/connection/server-info.ts'

export type DatabaseFacts = {
  readonly server: ServerInfo
  /** Undefined when the role may not read them. */
  readonly migrations: MigrationStatus | undefined
  /** For a database without our tables: what it has instead. */
  readonly foreign: string | undefined
  /** Free connections of the server; `refusal` when the service's connections can never fit. */
  readonly connections: { readonly wanted: number; readonly warning?: string | undefined; readonly refusal?: string }
  /** `ok`, or why the database refuses writes. */
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

/** No check with a single server: it cannot contradict another one. */
export function checkServers(problem: ServersProblem | undefined, reasons: readonly string[]): Check[] {
  const name = 'Servers'
  if (reasons.length < 2) return []
  const each = reasons.map((reason, i) => `server ${i + 1}: ${reason}`).join('; ')
  if (!problem) return [{ name, state: 'good', text: `One of ${reasons.length} takes writes. ${each}.` }]
  const what = problem === 'two primaries' ? 'More than one server takes writes' : 'Only an old primary takes writes'
  const fix = 'Stop the old primary at once: docs/operations/high-availability.md#two-primaries.'
  return [{ name, state: 'bad', text: `${what}. ${each}.`, fix }]
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
  return { name, state: 'bad', text: `${server.versionText}: Billfold is tested with 15 to 18.`, fix }
}

const writingFixes: Record<string, string> = {
  'read-only': 'Name the primary in DATABASE_URL, or all servers: the service uses the one that accepts writes.',
  full: 'Free space on its disk: docs/operations/runbooks.md#the-disk-is-full.',
  'no standby':
    'Bring the standby back, or take it out of synchronous_standby_names: docs/operations/runbooks.md#the-database-is-away-or-slow.',
}

function checkWriting({ writing }: DatabaseFacts): Check {
  const name = 'Writes'
  if (writing === 'ok') return { name, state: 'good', text: 'A test write reached the disk.' }
  const fix =
    writingFixes[writing] ?? 'Read the log of the server: docs/operations/runbooks.md#the-database-is-away-or-slow.'
  return { name, state: 'bad', text: `The database refuses writes: ${writing}.`, fix }
}

/** If one of these is off, a power cut can lose an acknowledged debit or damage the files beyond repair. */
function checkDurability({ server: { settings }, isEmbedded }: DatabaseFacts): Check[] {
  const where = isEmbedded ? 'Take it out of DATA_DIR/postgres/postgresql.conf' : 'alter system set'
  const must = (setting: 'fsync' | 'full_page_writes', loss: string): Check =>
    settings[setting] === 'on'
      ? { name: setting, state: 'good', text: 'on.' }
      : { name: setting, state: 'bad', text: `off: ${loss}`, fix: `${where} ${setting} = on; then restart the server.` }
  const commit = settings.synchronous_commit
  return [
    must('fsync', 'after a power cut the books can be damaged beyond repair.'),
    must('full_page_writes', 'a power cut during a write leaves a page half written.'),
    commit === 'off' || commit === 'local'
      ? {
          name: 'synchronous_commit',
          state: 'warn',
          text: `${commit}: debits and credits override this setting, but changes by operators and users can be lost.`,
          fix: 'alter system set synchronous_commit = on; select pg_reload_conf();',
        }
      : { name: 'synchronous_commit', state: 'good', text: `${commit}.` },
    ...(['zero_damaged_pages', 'ignore_checksum_failure'] as const)
      .filter((setting) => settings[setting] === 'on')
      .map((setting): Check => ({
        name: setting,
        state: 'bad',
        text: 'on: damage on the disk is hidden instead of reported.',
        fix: `alter system reset ${setting}; select pg_reload_conf();`,
      })),
    settings.data_checksums === 'on'
      ? { name: 'data_checksums', state: 'good', text: 'on.' }
      : {
          name: 'data_checksums',
          state: 'warn',
          text: 'off: only verify notices a flipped bit on the disk.',
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
      text: `Archiving the log fails, so far for ${Math.round(late / 60)} minutes: nothing written since then could be restored, and the log fills the disk.`,
      fix: 'The view pg_stat_archiver and the log of the server show the reason.',
    }
  if (settings.archive_mode !== 'off') return { name, state: 'good', text: 'The log is archived.' }
  return {
    name,
    state: 'warn',
    text: 'The log is not archived: if the disk fails, everything since the last copy is lost.',
    fix: isEmbedded
      ? 'Run `npx billfold export` often and keep the file elsewhere; for continuous archiving, use your own PostgreSQL.'
      : 'docs/operations/backup.md: archive_mode and a base back-up every night. (A managed database may do this already.)',
  }
}

function checkStandby({ server: { standbys, settings } }: DatabaseFacts): Check {
  const name = 'Standby'
  if (standbys === '')
    return {
      name,
      state: 'good',
      text: 'Commits wait for no standby: there is one server, or its standbys may lack the last commits.',
    }
  const isWaited = settings.synchronous_commit !== 'local'
  return { name, state: isWaited ? 'good' : 'warn', text: `Commits wait for ${standbys}.` }
}

function checkMigrations({ migrations, foreign }: DatabaseFacts): Check {
  const name = 'Migrations'
  if (foreign !== undefined)
    return { name, state: 'bad', text: foreign, fix: 'The first start creates the tables, or npx billfold migrate.' }
  if (!migrations) return { name, state: 'unknown', text: 'The role may not read which migrations were applied.' }
  const { current, latest, pending, problem } = migrations
  if (problem !== null)
    return {
      name,
      state: 'bad',
      text: problem,
      fix: 'Run the version of Billfold that last used this database, or a newer one.',
    }
  if (pending.length === 0) return { name, state: 'good', text: `At ${current}, the newest.` }
  const text = `At ${current} of ${latest}: ${pending.join(', ')} the next start will apply.`
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
      text: `${role.name} is a superuser: it can read and change every database of this server.`,
      fix: `create role billfold login password '…'; alter database … owner to billfold; and name it in DATABASE_URL.`,
    }
  if (!role.mayUseTemporary)
    return {
      name,
      state: 'warn',
      text: `${role.name} may not create temporary tables: /readyz cannot detect a full disk.`,
      fix: `grant temporary on database … to ${role.name};`,
    }
  return { name, state: 'good', text: `${role.name} has the rights it needs.` }
}

function checkTables({ server: { role } }: DatabaseFacts): Check {
  const name = 'Tables'
  const { closedTables, othersTables } = role
  if (closedTables.length > 0)
    return {
      name,
      state: 'bad',
      text: `${role.name} may not read and write ${closedTables.join(', ')}.`,
      fix: `reassign owned by <their owner> to ${role.name}; in this database. This happens after a restore by another role.`,
    }
  if (othersTables.length > 0)
    return {
      name,
      state: 'warn',
      text: `${othersTables.join(', ')} belong to another role: the next migration cannot change them.`,
      fix: `reassign owned by <their owner> to ${role.name};`,
    }
  return { name, state: 'good', text: 'The role can use every table, and migrations can change it.' }
}

function checkConnections({ connections }: DatabaseFacts): Check {
  const name = 'Connections'
  if (connections.refusal !== undefined) return { name, state: 'bad', text: connections.refusal }
  if (connections.warning !== undefined) return { name, state: 'warn', text: connections.warning }
  return {
    name,
    state: 'good',
    text: `The server has room for the ${connections.wanted} connections that this service may open.`,
  }
}

function checkEncryption({ server: { isEncrypted, isLocal } }: DatabaseFacts): Check {
  const name = 'Connection to the database'
  if (isEncrypted !== false || isLocal)
    return { name, state: 'good', text: isLocal ? 'It stays on this machine.' : 'It is encrypted.' }
  return {
    name,
    state: 'warn',
    text: 'It is not encrypted: names, balances and password hashes can be read on the network.',
    fix: 'ssl = on at the server, and ?sslmode=verify-full&sslrootcert=… in DATABASE_URL.',
  }
}

function checkDistance({ server: { roundTripMs } }: DatabaseFacts): Check {
  const name = 'Distance to the database'
  const text = `A round trip takes ${roundTripMs.toFixed(1)} ms.`
  if (roundTripMs < 10) return { name, state: 'good', text }
  return {
    name,
    state: 'warn',
    text: `${text} Every debit waits for at least that.`,
    fix: 'Run both in the same place.',
  }
}

const maxTransactionAge = 1_000_000_000

function checkVacuum({ server: { settings }, gauges }: DatabaseFacts): Check {
  const name = 'Vacuum'
  if (settings.autovacuum !== 'on')
    return {
      name,
      state: 'bad',
      text: 'autovacuum is off: tables grow, and PostgreSQL will refuse writes one day.',
      fix: 'alter system reset autovacuum; select pg_reload_conf();',
    }
  if (gauges && gauges.transactionAge > maxTransactionAge)
    return {
      name,
      state: 'bad',
      text: `The oldest row is ${gauges.transactionAge} transactions old: PostgreSQL stops at about two billion.`,
      fix: 'Find what blocks vacuum: old transactions, prepared transactions, replication slots. Then vacuum (freeze).',
    }
  return { name, state: 'good', text: 'autovacuum is on and keeps up.' }
}

function checkClock({ gauges }: DatabaseFacts): Check {
  const name = 'Clock'
  if (!gauges) return { name, state: 'unknown', text: 'The time of the database is not known.' }
  const skew = Math.abs(gauges.clockSkewSeconds)
  const text = `This machine and the database are ${skew.toFixed(1)} s apart.`
  if (skew < 2) return { name, state: 'good', text }
  return {
    name,
    state: skew < 60 ? 'warn' : 'bad',
    text,
    fix: 'Synchronize both with NTP (chrony, systemd-timesyncd).',
  }
}
