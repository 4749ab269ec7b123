import { createHash, randomBytes } from 'node:crypto'
import { hostname, tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { Client } from 'pg'
import { sqlState, type Connection } from '../src/store/database.ts'
import { isAlive, readPidFile } from '../src/store/embedded/server-process.ts'
import { startEmbedded, type Embedded } from '../src/store/embedded/embedded.ts'
import { migrate, readMigrations } from '../src/store/migrations/migrate.ts'
import { startService } from './embedded-process.ts'

export type TestDatabase = {
  name: string
  connection: Connection
  /** The same, for a process that is given DATABASE_URL. */
  url: string
  drop: () => Promise<void>
}

const templateLock = 0xb111f02d
const dayMs = 86_400_000
/** A process number means something only on the machine it belongs to. */
const machine = hash(hostname())

let embedded: Promise<Embedded> | null = null
let prepared: Promise<string> | null = null

/**
 * A fresh, migrated database: a clone of a template made once per set of migrations. All test processes of this machine share
 * one embedded server, which stays for the next run; TEST_DATABASE_URL names another server to use instead.
 */
export async function testDatabase(): Promise<TestDatabase> {
  const template = await (prepared ??= prepare())
  const name = ['billfold_test', Date.now().toString(36), machine, process.pid, randomBytes(4).toString('hex')].join(
    '_',
  )
  await withAdmin((admin) => cloneTemplate(admin, template, name))
  const connection = await connectionTo(name)
  return { name, connection, url: urlOf(connection), drop: () => withAdmin((admin) => dropDatabase(admin, name)) }
}

/** Stops the shared server unless another test process uses it; for the end of a whole run. */
export async function releaseTestServer(): Promise<void> {
  const held = embedded
  embedded = null
  prepared = null
  await (await held)?.release()
}

async function connectionTo(database?: string): Promise<Connection> {
  const other = process.env['TEST_DATABASE_URL']
  if (other) {
    const url = new URL(other)
    if (database !== undefined) url.pathname = `/${database}`
    return { connectionString: url.href }
  }
  const { connection } = await (embedded ??= joinShared(testDataDir()))
  return { ...connection, database: database ?? connection.database }
}

/** Bun ends the children of a test that takes too long: the server that others share must not be one of them. */
async function joinShared(dataDir: string): Promise<Embedded> {
  const starter = (await readPidFile(join(dataDir, 'postgres'))) === null ? await startService(dataDir) : null
  const held = await startEmbedded({ dataDir, log: () => undefined })
  await starter?.kill()
  return held
}

function urlOf({ connectionString, host, user, database }: Connection): string {
  return connectionString ?? `postgres://${user}@${encodeURIComponent(host ?? '')}/${database}`
}

/** The folder of one user's tests of one checkout: others on the machine have their own. */
export function testDataDir(): string {
  const project = fileURLToPath(new URL('..', import.meta.url))
  return join(tmpdir(), `billfold-test-${process.getuid?.() ?? 0}-${hash(project)}`)
}

async function prepare(): Promise<string> {
  const migrations = await readMigrations()
  const template = `billfold_template_${hash(migrations.map(({ name, checksum }) => `${name} ${checksum}`).join())}`
  await withAdmin(async (admin) => {
    await admin.query('select pg_advisory_lock($1)', [templateLock])
    await dropStale(admin, template)
    const { rows } = await admin.query('select 1 from pg_database where datname = $1', [template])
    if (rows.length === 0) await buildTemplate(admin, template)
    // When it was last used, for dropStale.
    await admin.query(`comment on database ${template} is '${Date.now()}'`)
  })
  return template
}

/** Built under another name, so that a run cut short leaves no half-migrated template behind. */
async function buildTemplate(admin: Client, template: string): Promise<void> {
  const draft = `${template}_draft`
  await dropDatabase(admin, draft)
  await admin.query(`create database ${draft}`)
  const client = new Client(await connectionTo(draft))
  await client.connect()
  try {
    await migrate(client)
  } finally {
    await client.end()
  }
  await admin.query(`alter database ${draft} with allow_connections false`)
  await admin.query(`alter database ${draft} rename to ${template}`)
}

async function cloneTemplate(admin: Client, template: string, name: string): Promise<void> {
  for (let triesLeft = 20; ; triesLeft--) {
    try {
      await admin.query(`create database ${name} template ${template}`)
      return
    } catch (error) {
      // Object in use: autovacuum happens to look at the template.
      if (triesLeft === 0 || sqlState(error) !== '55006') throw error
    }
  }
}

/** Clones whose process ended without dropping them, and templates of migrations that were since changed. */
async function dropStale(admin: Client, template: string): Promise<void> {
  const { rows } = await admin.query<{ name: string; note: string | null }>(
    `select datname as name, shobj_description(oid, 'pg_database') as note from pg_database
     where datname ~ '^billfold_(test|template)_'`,
  )
  for (const { name, note } of rows) {
    const isStale = name.startsWith('billfold_test_')
      ? isStaleClone(name)
      : name !== template && Number(note) < Date.now() - dayMs
    if (isStale) await dropDatabase(admin, name)
  }
}

function isStaleClone(name: string): boolean {
  const [, , madeAt = '', madeOn, pid] = name.split('_')
  if (Number.parseInt(madeAt, 36) < Date.now() - dayMs) return true
  return madeOn === machine && !isAlive(Number(pid))
}

/** The server's own vacuum may be at work in it, which our role may not end; it ends by itself in a moment. */
async function dropDatabase(admin: Client, name: string, tries = 300): Promise<void> {
  try {
    await admin.query(`drop database if exists ${name} with (force)`)
  } catch (error) {
    if (sqlState(error) !== insufficientPrivilege || tries === 1) throw error
    await sleep(100)
    await dropDatabase(admin, name, tries - 1)
  }
}

const insufficientPrivilege = '42501'

async function withAdmin<T>(work: (admin: Client) => Promise<T>): Promise<T> {
  const admin = new Client(await connectionTo())
  await admin.connect()
  try {
    return await work(admin)
  } finally {
    await admin.end()
  }
}

function hash(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 12)
}
